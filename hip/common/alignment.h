#ifndef LANEWISE_HIP_COMMON_ALIGNMENT_H_
#define LANEWISE_HIP_COMMON_ALIGNMENT_H_

// What launchers ask of the pointers they are given.

#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace lanewise::hip {

constexpr int64_t RoundUp(int64_t a, int64_t multiple) {
  return (a + multiple - 1) / multiple * multiple;
}

// What gfx942's launchers ask of weights and workspaces, and what they round parts of a workspace
// up to: a line of the cache, in bytes.
inline constexpr int64_t kLineBytes = 128;

// OK, or InvalidArgument naming the operand if the pointer is null or no multiple of `bytes`.
absl::Status CheckAligned(std::string_view operand, const void* pointer, int64_t bytes);

// The same of several, in their order. One that a launch does not use may be anything.
struct OperandPointer {
  std::string_view operand;
  const void* pointer;
  int64_t bytes;
  bool used = true;
};
absl::Status CheckAligned(std::span<const OperandPointer> pointers);

// OK, or InvalidArgument naming both operands if they, each of so many bytes, share one.
struct Extent {
  std::string_view operand;
  const void* begin;
  int64_t bytes;
};
absl::Status CheckApart(const Extent& a, const Extent& b);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_ALIGNMENT_H_
