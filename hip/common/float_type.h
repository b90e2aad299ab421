#ifndef LANEWISE_HIP_COMMON_FLOAT_TYPE_H_
#define LANEWISE_HIP_COMMON_FLOAT_TYPE_H_

// The unquantized side of a kernel.

#include <cstdint>

namespace lanewise::hip {

enum class FloatType { kBf16, kF32 };

constexpr int64_t BytesOf(FloatType type) { return type == FloatType::kBf16 ? 2 : 4; }

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_FLOAT_TYPE_H_
