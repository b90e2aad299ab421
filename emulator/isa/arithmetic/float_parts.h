#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_FLOAT_PARTS_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_FLOAT_PARTS_H_

// Exponents and mantissas of floating-point values as frexp and ldexp have them, and rounding to
// integers: what the float families share.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace lanewise::emulator {

// The nearest integer, ties to even, whatever the host's rounding mode. Keeps the sign of zero.
inline float NearestEven(float a) {
  const float whole = std::trunc(a);
  const float rest = std::fabs(a - whole);  // exact
  const bool odd = std::trunc(whole * 0.5f) * 2.0f != whole;
  const bool away = rest > 0.5f || (rest == 0.5f && odd);
  const float result = away ? whole + std::copysign(1.0f, a) : whole;
  return std::copysign(result, a);
}
inline double NearestEven(double a) {
  const double whole = std::trunc(a);
  const double rest = std::fabs(a - whole);
  const bool odd = std::trunc(whole * 0.5) * 2.0 != whole;
  const bool away = rest > 0.5 || (rest == 0.5 && odd);
  const double result = away ? whole + std::copysign(1.0, a) : whole;
  return std::copysign(result, a);
}

// 2^exponent for -1022 <= exponent <= 1023.
inline double PowerOf2(int32_t exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
}

// a * 2^exponent, rounded once.
inline float TimesPowerOf2(float a, int32_t exponent) {
  return static_cast<float>(double{a} * PowerOf2(std::clamp(exponent, -400, 400)));
}
inline double TimesPowerOf2(double a, int32_t exponent) {
  return std::scalbn(a, std::clamp(exponent, -5000, 5000));
}

// The mantissa in [0.5, 1) with its sign; zero, Inf and NaN as they are.
inline double MantissaOf(double a) {
  const auto bits = std::bit_cast<uint64_t>(a);
  const uint64_t exponent = bits & 0x7ff0000000000000u;
  const double normal =
      std::bit_cast<double>((bits & 0x800fffffffffffffu) | (uint64_t{1022} << 52));
  const auto scaled = std::bit_cast<uint64_t>(a * 0x1p54);
  const double subnormal =
      std::bit_cast<double>((scaled & 0x800fffffffffffffu) | (uint64_t{1022} << 52));
  if (exponent == 0x7ff0000000000000u || a == 0) return a;
  return exponent == 0 ? subnormal : normal;
}
// e such that a = mantissa * 2^e; 0 for zero, Inf and NaN.
inline int32_t ExponentOf(double a) {
  const auto field = static_cast<int32_t>((std::bit_cast<uint64_t>(a) >> 52) & 0x7ff);
  const auto scaled = static_cast<int32_t>((std::bit_cast<uint64_t>(a * 0x1p54) >> 52) & 0x7ff);
  const int32_t exponent = field == 0 ? scaled - 1022 - 54 : field - 1022;
  return field == 0x7ff || a == 0 ? 0 : exponent;
}
// Every float is a normal double.
inline float MantissaOf(float a) { return static_cast<float>(MantissaOf(double{a})); }
inline int32_t ExponentOf(float a) { return ExponentOf(double{a}); }

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_FLOAT_PARTS_H_
