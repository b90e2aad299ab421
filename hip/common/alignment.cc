#include "hip/common/alignment.h"

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise::hip {

absl::Status CheckAligned(std::string_view operand, const void* pointer, int64_t bytes) {
  if (pointer == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(AbslView(operand), " is a null pointer"));
  }
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % static_cast<uintptr_t>(bytes) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        AbslView(operand), " is at 0x", absl::Hex(address), ", expected a multiple of ", bytes));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::hip
