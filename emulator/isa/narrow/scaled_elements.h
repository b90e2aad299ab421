#ifndef LANEWISE_EMULATOR_ISA_NARROW_SCALED_ELEMENTS_H_
#define LANEWISE_EMULATOR_ISA_NARROW_SCALED_ELEMENTS_H_

// One element of gfx950's conversions with a scale.
//
// The scale is 2^(E - 127), E being the exponent field of a float operand; E = 255 makes every
// result NaN (formats without NaN: their largest number). Up: element * scale, rounded once to
// nearest-even, overflow Inf. Down: value / scale, rounded once to nearest-even or, "sr",
// stochastically (narrow_formats.h).

#include <bit>
#include <cstdint>
#include <limits>

#include "emulator/isa/arithmetic/float_parts.h"
#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/narrow/narrow_formats.h"
#include "emulator/machine/wave.h"
#include "formats/formats.h"

namespace lanewise::emulator {

// ---- the wide formats: values from and to bits ----

struct WideF32 {
  static constexpr int kBits = 32;
  static constexpr int kMantissa = 23;
  static double Value(uint32_t bits) { return double{std::bit_cast<float>(bits)}; }
  static uint32_t Encode(double value) {
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }
};
struct WideF16 {
  static constexpr int kBits = 16;
  static constexpr int kMantissa = 10;
  static double Value(uint32_t bits) { return double{ToFloat(Half{static_cast<uint16_t>(bits)})}; }
  static uint32_t Encode(double value) { return RoundToHalf(value).bits; }
};
struct WideBf16 {
  static constexpr int kBits = 16;
  static constexpr int kMantissa = 7;
  static double Value(uint32_t bits) { return double{std::bit_cast<float>(bits << 16)}; }
  // The products that are encoded here, a narrow element times a power of two, are exact in float.
  static uint32_t Encode(double value) {
    const auto narrow = static_cast<float>(value);
    const auto bits = std::bit_cast<uint32_t>(narrow);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return narrow != narrow ? bits >> 16 | 0x40 : rounded;
  }
};

// ---- one element ----

inline constexpr double kScaleNan = std::numeric_limits<double>::quiet_NaN();

inline int ScaleField(uint32_t scale) { return static_cast<int>((scale >> 23) & 0xff); }
inline double Multiplier(uint32_t scale) {
  const int field = ScaleField(scale);
  return field == 255 ? kScaleNan : PowerOf2(field - 127);
}
inline double Divisor(uint32_t scale) {
  const int field = ScaleField(scale);
  return field == 255 ? kScaleNan : PowerOf2(127 - field);
}

template <class Narrow, class Wide>
uint32_t Up(uint32_t code, uint32_t scale) {
  return Wide::Encode(double{Decoded<Narrow>()[code & 0xff]} * Multiplier(scale));
}
template <class Wide, class Narrow>
uint32_t Down(uint32_t bits, uint32_t scale, Mode mode) {
  return EncodeNearest<Narrow>(Wide::Value(bits) * Divisor(scale), mode);
}
template <class Wide, class Narrow>
uint32_t DownStochastic(uint32_t bits, uint32_t seed, uint32_t scale, Mode mode) {
  return EncodeStochastic<Narrow, Wide::kMantissa>(Wide::Value(bits) * Divisor(scale), seed, mode);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_NARROW_SCALED_ELEMENTS_H_
