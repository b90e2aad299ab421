#ifndef LANEWISE_CHECKPOINT_FILES_STRICT_JSON_H_
#define LANEWISE_CHECKPOINT_FILES_STRICT_JSON_H_

// JSON that nobody can read two ways.

#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace lanewise {

// Parses UTF-8 JSON into a document. Refuses, with `origin` at the head of the message, whatever
// the grammar refuses and also: a key twice in one object (nlohmann keeps the last one), a NUL byte
// (nlohmann takes it for the end), and nesting deeper than 32.
absl::StatusOr<nlohmann::json> ParseStrictJson(std::string_view text, std::string_view origin);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_STRICT_JSON_H_
