#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_DTYPE_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_DTYPE_H_

// The element types of the safetensors format, their names in a file's header and their sizes.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"

namespace lanewise {

// Names and meanings are safetensors': F8_E4M3 is the OCP format e4m3fn, F8_E4M3FNUZ the one with a
// single zero, F8_E8M0 a power-of-two scale, F4 is e2m1.
enum class DType : uint8_t {
  kBool,
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64,
  kF16,
  kBf16,
  kF32,
  kF64,
  kC64,
  kF8E4m3,
  kF8E5m2,
  kF8E8m0,
  kF8E4m3Fnuz,
  kF8E5m2Fnuz,
  kF6E2m3,
  kF6E3m2,
  kF4,
};

// Every type, in the order of the enumeration.
std::span<const DType> AllDTypes();

// The type's name in a file, such as "F8_E4M3".
std::string_view DTypeName(DType dtype);

// The type of that exact name, or nothing.
std::optional<DType> DTypeFromName(std::string_view name);

// Bits of one element: 64 down to 6 (F6_E2M3, F6_E3M2) and 4 (F4). Elements below a byte are packed
// without gaps, the first one in the lowest bits.
int64_t BitsPerElement(DType dtype);

// Elements of a tensor of that shape: the product of its dimensions, 1 for a scalar (no
// dimensions). Refuses a negative dimension, and a shape whose non-zero dimensions multiply past
// 2^63 - 1 (so that no later product of some of them can overflow, even where another dimension is
// zero).
absl::StatusOr<int64_t> ElementCount(std::span<const int64_t> shape);

// Bytes of a tensor. A shape counts elements, also those below a byte: F4 [2, 32] is 32 bytes.
// Refuses what ElementCount refuses, a size past 2^63 - 1, and a size that is not whole bytes.
absl::StatusOr<int64_t> ByteCount(DType dtype, std::span<const int64_t> shape);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_DTYPE_H_
