#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_ELEMENTARY_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_ELEMENTARY_H_

// Elementary functions in double, in straight-line code that a loop over lanes turns into vector
// instructions: plain sums and products in a fixed order, so that every host gives the same bits.
// Relative error below 2^-46.

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/float_parts.h"

namespace lanewise::emulator {

// 2^x for |x| <= 1000; NaN for NaN.
inline double Exp2(double x) {
  const double whole = std::floor(x + 0.5);
  const double y = (x - whole) * 0x1.62e42fefa39efp-1;  // ln 2; |y| < 0.347
  double sum = 1.0 / 6227020800.0;                      // 1 / 13!
  sum = sum * y + 1.0 / 479001600.0;
  sum = sum * y + 1.0 / 39916800.0;
  sum = sum * y + 1.0 / 3628800.0;
  sum = sum * y + 1.0 / 362880.0;
  sum = sum * y + 1.0 / 40320.0;
  sum = sum * y + 1.0 / 5040.0;
  sum = sum * y + 1.0 / 720.0;
  sum = sum * y + 1.0 / 120.0;
  sum = sum * y + 1.0 / 24.0;
  sum = sum * y + 1.0 / 6.0;
  sum = sum * y + 0.5;
  sum = sum * y + 1.0;
  sum = sum * y + 1.0;
  const bool sane = whole >= -1000.0 && whole <= 1000.0;
  return sum * PowerOf2(static_cast<int32_t>(sane ? whole : 0.0));
}

// log2(x) for positive normal x.
inline double Log2(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  // The mantissa in [sqrt(1/2), sqrt(2)): its bits and those of sqrt(1/2) differ by the exponent.
  const uint64_t shifted = bits - 0x3fe6a09e667f3bcdu;
  const auto exponent = static_cast<int32_t>(static_cast<uint32_t>(shifted >> 32)) >> 20;
  const double mantissa = std::bit_cast<double>(bits - (shifted & 0xfff0000000000000u));
  const double s = (mantissa - 1.0) / (mantissa + 1.0);  // |s| < 0.172
  const double z = s * s;
  double sum = 1.0 / 21.0;
  sum = sum * z + 1.0 / 19.0;
  sum = sum * z + 1.0 / 17.0;
  sum = sum * z + 1.0 / 15.0;
  sum = sum * z + 1.0 / 13.0;
  sum = sum * z + 1.0 / 11.0;
  sum = sum * z + 1.0 / 9.0;
  sum = sum * z + 1.0 / 7.0;
  sum = sum * z + 1.0 / 5.0;
  sum = sum * z + 1.0 / 3.0;
  sum = sum * z + 1.0;
  return static_cast<double>(exponent) + sum * s * 0x1.71547652b82fep+1;  // 2 / ln 2
}

// sin(2 pi x) for |x| <= 2^31, exact reduction where x is a float.
inline double SinOfTurns(double x) {
  const double turn = x - std::floor(x + 0.5);  // [-1/2, 1/2]
  const double folded = turn > 0.25 ? 0.5 - turn : (turn < -0.25 ? -0.5 - turn : turn);
  const double y = folded * 0x1.921fb54442d18p+2;
  const double z = y * y;
  double sum = 1.0 / 51090942171709440000.0;  // 1 / 21!
  sum = sum * z - 1.0 / 121645100408832000.0;
  sum = sum * z + 1.0 / 355687428096000.0;
  sum = sum * z - 1.0 / 1307674368000.0;
  sum = sum * z + 1.0 / 6227020800.0;
  sum = sum * z - 1.0 / 39916800.0;
  sum = sum * z + 1.0 / 362880.0;
  sum = sum * z - 1.0 / 5040.0;
  sum = sum * z + 1.0 / 120.0;
  sum = sum * z - 1.0 / 6.0;
  sum = sum * z + 1.0;
  return sum * y;
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_ELEMENTARY_H_
