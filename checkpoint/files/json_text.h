#ifndef LANEWISE_CHECKPOINT_FILES_JSON_TEXT_H_
#define LANEWISE_CHECKPOINT_FILES_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lanewise {

// The text as a JSON string, quotes included: only '"', '\' and control characters are escaped, so
// equal texts give equal bytes. Refuses what is not UTF-8.
absl::StatusOr<std::string> JsonString(std::string_view text);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_JSON_TEXT_H_
