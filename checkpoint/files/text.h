#ifndef LANEWISE_CHECKPOINT_FILES_TEXT_H_
#define LANEWISE_CHECKPOINT_FILES_TEXT_H_

// How names and shapes that a file brought stand in messages.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace lanewise {

// 'name', control characters and broken UTF-8 escaped, and what is longer than 200 bytes cut with
// its length stated: a message stays readable whatever a hostile file calls its tensors.
std::string Quoted(std::string_view name);

// "[2, 3]"; a scalar is "[]".
std::string DimensionsText(std::span<const int64_t> shape);

// The same error, its message beginning with the tensor it is about.
absl::Status OfTensor(std::string_view tensor, const absl::Status& status);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_TEXT_H_
