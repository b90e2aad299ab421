#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_H_

// binary16 to and from the host's float and double, in straight-line code that a loop over lanes
// turns into vector instructions.
//
// An operation on halves is computed in float (sums, products, quotients, roots) or double (fused
// multiply-add) and rounded to half. Rounding twice is harmless there: float has 24 bits, which is
// 2 * 11 + 2, and a fused multiply-add of halves whose result is a half is exact in double but for
// bits that are too far below to decide a tie.

#include <bit>
#include <cstdint>

namespace lanewise::emulator {

struct Half {
  uint16_t bits;
};

// Exact. A signaling NaN stays one.
inline float ToFloat(Half half) {
  const uint32_t magnitude = half.bits & 0x7fffu;
  // The fields as a float's are 2^112 times too small; a multiplication repairs also subnormals.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  const uint32_t special = magnitude << 13 | 0x7f800000u;
  const uint32_t bits = magnitude >= 0x7c00u ? special : std::bit_cast<uint32_t>(scaled);
  return std::bit_cast<float>(bits | (half.bits & 0x8000u) << 16);
}

// `value` is a half's value or beyond: the bits, without rounding.
inline Half EncodeHalf(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = word & 0x7fffffffu;
  const float absolute = std::bit_cast<float>(magnitude);
  const uint32_t normal = (magnitude >> 13) - (112u << 10);
  const auto subnormal = static_cast<uint32_t>(
      static_cast<int32_t>((absolute < 0x1p-14f ? absolute : 0.0f) * 0x1p24f));
  uint32_t bits = absolute < 0x1p-14f ? subnormal : normal;
  bits = magnitude >= 0x7f800000u ? ((magnitude >> 13) & 0x3ffu) | 0x7c00u : bits;
  return {static_cast<uint16_t>(bits | (word >> 16 & 0x8000u))};
}

// Rounded in the host's rounding mode; beyond 65504 what that mode says: Inf or 65504.
inline Half RoundToHalf(float value) {
  const auto word = std::bit_cast<uint32_t>(value);
  const uint32_t exponent = word & 0x7f800000u;
  constexpr uint32_t kSmallest = 113u << 23;  // 2^-14
  constexpr uint32_t kBeyond = 144u << 23;    // 2^17
  const uint32_t clamped =
      exponent < kSmallest ? kSmallest : (exponent > kBeyond ? kBeyond : exponent);
  // 1.5 * 2^(e + 13), of the value's sign so that "toward zero" is the same direction for the sum:
  // adding it leaves just the bits of a half.
  const float magic =
      std::bit_cast<float>((clamped + (13u << 23) + 0x400000u) | (word & 0x80000000u));
  const float rounded = (value + magic) - magic;
  const float absolute = rounded < 0 ? -rounded : rounded;
  // Overflows as the mode does: to Inf or to float's largest, which stands for half's.
  const float extreme = rounded * 0x1p127f;
  const float largest = rounded < 0 ? -65504.0f : 65504.0f;
  const float infinite = extreme - extreme == 0 ? largest : extreme;
  float result = absolute > 65504.0f ? infinite : rounded;
  // The sum loses the sign of zero, and NaN and Inf pass by.
  result = exponent == 0x7f800000u ? value : result;
  const uint32_t bits = (std::bit_cast<uint32_t>(result) & 0x7fffffffu) | (word & 0x80000000u);
  uint16_t half = EncodeHalf(std::bit_cast<float>(bits)).bits;
  const bool nan = (word & 0x7fffffffu) > 0x7f800000u;
  half = nan ? static_cast<uint16_t>(half | 0x200u) : half;
  return {half};
}

// Toward zero, whatever the host's mode: the bits below a half's are cut off, and what is beyond
// 65504 becomes that, but for Inf.
inline Half TruncateToHalf(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const float absolute = std::bit_cast<float>(magnitude);
  const auto units = static_cast<int32_t>((absolute < 0x1p-14f ? absolute : 0.0f) * 0x1p24f);
  const float cut = std::bit_cast<float>(magnitude & 0xffffe000u);
  const float normal = cut > 65504.0f ? 65504.0f : cut;
  const float finite = absolute < 0x1p-14f ? static_cast<float>(units) * 0x1p-24f : normal;
  const uint32_t special = magnitude > 0x7f800000u ? magnitude | 0x400000u : magnitude;
  const float result = magnitude >= 0x7f800000u ? std::bit_cast<float>(special) : finite;
  return {static_cast<uint16_t>(EncodeHalf(result).bits | (bits >> 16 & 0x8000u))};
}

// As RoundToHalf(float) from a double, rounded once.
inline Half RoundToHalf(double value) {
  const auto word = std::bit_cast<uint64_t>(value);
  const uint64_t exponent = word & 0x7ff0000000000000u;
  constexpr uint64_t kSmallest = uint64_t{1023 - 14} << 52;
  constexpr uint64_t kBeyond = uint64_t{1023 + 17} << 52;
  const uint64_t clamped =
      exponent < kSmallest ? kSmallest : (exponent > kBeyond ? kBeyond : exponent);
  const double magic = std::bit_cast<double>(
      (clamped + (uint64_t{42} << 52) + (uint64_t{1} << 51)) | (word & (uint64_t{1} << 63)));
  const double rounded = (value + magic) - magic;
  const bool special = exponent == 0x7ff0000000000000u;
  const bool beyond = exponent > kBeyond;
  // What is left is a half's value, or beyond half's range and so far that float rounding of it
  // cannot matter: RoundToHalf finds nothing more to round.
  const double sane = special || beyond ? value : rounded;
  const auto narrow = static_cast<float>(sane);
  const uint32_t sign = static_cast<uint32_t>(word >> 32) & 0x80000000u;
  return RoundToHalf(std::bit_cast<float>((std::bit_cast<uint32_t>(narrow) & 0x7fffffffu) | sign));
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_H_
