#ifndef LANEWISE_SEMANTICS_FLOAT_TYPE_H_
#define LANEWISE_SEMANTICS_FLOAT_TYPE_H_

// The type of numbers that are not block-scaled: what is quantized, what dequantizing gives, what a
// GEMM reads or writes. A function that cannot take one of them says so and refuses it. For host and
// device; includes nothing of this project.

#include <cstdint>
#include <string_view>

namespace lanewise {

enum class FloatType : std::uint32_t { kF32, kBf16, kF16 };

constexpr std::int64_t FloatBytes(FloatType type) { return type == FloatType::kF32 ? 4 : 2; }

constexpr std::string_view FloatTypeName(FloatType type) {
  switch (type) {
    case FloatType::kF32:
      return "f32";
    case FloatType::kBf16:
      return "bf16";
    case FloatType::kF16:
      return "f16";
  }
  return "unknown";
}

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_FLOAT_TYPE_H_
