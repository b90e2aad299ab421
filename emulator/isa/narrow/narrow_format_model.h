#ifndef LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMAT_MODEL_H_
#define LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMAT_MODEL_H_

// For tests: formats of at most 16 bits by the values of their codes alone, rounding by search, and
// stochastic rounding by its definition in exact arithmetic.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {

// A format by its description alone: all values of its codes.
struct Format {
  std::string name;
  int exponent_bits, mantissa_bits, bias;
  bool fnuz = false, has_inf = false, has_nan = false;

  int bits() const { return 1 + exponent_bits + mantissa_bits; }
  uint32_t sign() const { return 1u << (bits() - 1); }
  double Value(uint32_t code) const {
    const uint32_t magnitude = code & (sign() - 1);
    const bool negative = (code & sign()) != 0;
    if (fnuz && code == sign()) return std::nan("");
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
    const int top = (1 << exponent_bits) - 1;
    if (has_inf && exponent == top) {
      return mantissa == 0 ? (negative ? -1.0 : 1.0) * std::numeric_limits<double>::infinity()
                           : std::nan("");
    }
    if (!has_inf && has_nan && !fnuz && magnitude == sign() - 1) return std::nan("");
    const double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                                       : std::ldexp(mantissa + (1u << mantissa_bits),
                                                    exponent - bias - mantissa_bits);
    return negative ? -value : value;
  }
  uint32_t Largest() const {
    uint32_t code = sign() - 1;
    while (!std::isfinite(Value(code))) --code;
    return code;
  }
  uint32_t Nan(bool negative) const {
    if (fnuz) return sign();
    const uint32_t magnitude = has_nan ? sign() - 1 : Largest();
    return magnitude | (negative ? sign() : 0);
  }
  uint32_t Beyond(bool negative, bool saturate) const {
    if (saturate || !has_nan) return Largest() | (negative ? sign() : 0);
    if (has_inf) return (Largest() + 1) | (negative ? sign() : 0);
    return Nan(negative);
  }
  uint32_t WithSign(uint32_t magnitude, bool negative) const {
    if (magnitude == 0 && fnuz) return 0;
    return magnitude | (negative ? sign() : 0);
  }
  bool IsNan(uint32_t code) const { return std::isnan(Value(code)); }

  // The nearest code by search, ties to the even one.
  uint32_t Nearest(double x, bool saturate) const {
    const bool negative = std::signbit(x);
    if (std::isnan(x)) return Nan(negative);
    const double magnitude = std::fabs(x);
    const double step =
        std::ldexp(1.0, (static_cast<int>(Largest() >> mantissa_bits)) - bias - mantissa_bits);
    if (magnitude >= Value(Largest()) + step / 2) {
      // A tie at the end of the range goes to the even neighbour, which may be the largest.
      if (magnitude > Value(Largest()) + step / 2 || (Largest() & 1) != 0) {
        return Beyond(negative, saturate);
      }
    }
    uint32_t low = 0, high = Largest();
    while (low < high) {
      const uint32_t middle = (low + high + 1) / 2;
      if (Value(middle) <= magnitude) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    if (low < Largest()) {
      const double below = magnitude - Value(low), above = Value(low + 1) - magnitude;
      if (above < below || (above == below && (low & 1) != 0)) ++low;
    }
    return WithSign(low, negative);
  }

  // The definition: significand with `source` bits behind the point, aligned to this format's
  // subnormals by cutting bits, plus the seed's upper bits, cut.
  uint32_t Stochastic(double x, uint32_t seed, int source, bool saturate) const {
    const bool negative = std::signbit(x);
    if (std::isnan(x)) return Nan(negative);
    if (std::isinf(x)) return Beyond(negative, saturate);
    if (x == 0) return WithSign(0, negative);
    int exponent;
    const double fraction = std::frexp(std::fabs(x), &exponent);  // [0.5, 1)
    const int unit = std::max(exponent - 1, 1 - bias);            // of 1.0 in the sum below
    const double aligned =
        std::floor(std::ldexp(fraction, exponent - unit + source));  // in 2^-source
    const int dropped = source - mantissa_bits;
    const double sum = aligned + static_cast<double>(seed >> (32 - dropped));
    const double kept = std::floor(std::ldexp(sum, -dropped));  // in 2^-mantissa
    const double value = std::ldexp(kept, unit - mantissa_bits);
    if (value > Value(Largest())) return Beyond(negative, saturate);
    return WithSign(Nearest(value, saturate), negative);
  }
};

inline const Format kE4m3Fnuz = {"e4m3fnuz", 4, 3, 8, true, false, true};
inline const Format kE5m2Fnuz = {"e5m2fnuz", 5, 2, 16, true, false, true};
inline const Format kE4m3 = {"e4m3", 4, 3, 7, false, false, true};
inline const Format kE5m2 = {"e5m2", 5, 2, 15, false, true, true};
inline const Format kE2m1 = {"e2m1", 2, 1, 1};
inline const Format kE2m3 = {"e2m3", 2, 3, 1};
inline const Format kE3m2 = {"e3m2", 3, 2, 3};

inline float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline uint32_t Bits(double x) { return std::bit_cast<uint32_t>(static_cast<float>(x)); }

// Every code, halfway to the next, a float to either side, both signs, and special values.
inline std::vector<uint64_t> FloatsFor(const Format& format, int scale = 0) {
  std::vector<uint64_t> all = EdgeWords();
  for (uint32_t code = 0; code < format.Largest() + 1; ++code) {
    const double here = format.Value(code);
    const double next = code < format.Largest() ? format.Value(code + 1) : here * 1.125;
    for (double x : {here, (here + next) / 2}) {
      const float at = static_cast<float>(std::ldexp(x, scale));
      for (float y : {at, std::nextafter(at, 0.0f), std::nextafter(at, 1e30f)}) {
        all.push_back(Bits(y));
        all.push_back(Bits(-y));
      }
    }
  }
  return all;
}

inline bool SameCode(const Format& format, uint32_t got, uint32_t want) {
  return got == want || (format.IsNan(got) && format.IsNan(want));
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMAT_MODEL_H_
