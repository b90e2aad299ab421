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

absl::Status CheckAligned(std::span<const OperandPointer> pointers) {
  for (const OperandPointer& each : pointers) {
    if (!each.used) continue;
    absl::Status status = CheckAligned(each.operand, each.pointer, each.bytes);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckApart(const Extent& a, const Extent& b) {
  const auto a_begin = reinterpret_cast<uintptr_t>(a.begin);
  const auto b_begin = reinterpret_cast<uintptr_t>(b.begin);
  const bool apart = a_begin <= b_begin ? b_begin - a_begin >= static_cast<uintptr_t>(a.bytes)
                                        : a_begin - b_begin >= static_cast<uintptr_t>(b.bytes);
  if (apart) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      AbslView(a.operand), ", ", a.bytes, " bytes at 0x", absl::Hex(a_begin), ", overlaps ",
      AbslView(b.operand), ", ", b.bytes, " bytes at 0x", absl::Hex(b_begin)));
}

}  // namespace lanewise::hip
