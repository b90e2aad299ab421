#ifndef LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMATS_H_
#define LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMATS_H_

// Conversions between doubles, which hold every operand of these instructions exactly, and the
// element formats of formats/, as the hardware's conversion instructions round and saturate.
//
// Formats with NaN (fp8, bf8, f16, bf16): beyond the largest number a value becomes Inf, or NaN
// where the format has no Inf; with MODE.FP16_OVFL the largest number (fp8 and bf8). Formats
// without (fp4, fp6, bf6): the largest number of the value's sign, also for NaN.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "emulator/machine/wave.h"
#include "formats/formats.h"

namespace lanewise::emulator {

// The value of each code of a format of at most 8 bits.
template <class Format>
const std::array<float, 256>& Decoded() {
  static constexpr auto kValues = [] {
    std::array<float, 256> values{};
    for (int code = 0; code < 256; ++code) {
      values[code] = Format::FromBits(static_cast<typename Format::Bits>(code)).ToFloat();
    }
    return values;
  }();
  return kValues;
}

template <class Format>
Overflow OverflowOf(const Mode& mode) {
  return Format::kHasNan && !mode.fp16_ovfl() ? Overflow::kNonFinite : Overflow::kSaturate;
}

template <class Format>
uint32_t LargestOfSign(bool negative) {
  return Format::Largest().bits() |
         (negative ? 1u << (Format::kExponentBits + Format::kMantissaBits) : 0u);
}

// Nearest, ties to even.
template <class Format>
uint32_t EncodeNearest(double value, const Mode& mode) {
  if (!Format::kHasNan && value != value) return LargestOfSign<Format>(std::signbit(value));
  return Format::FromDouble(value, OverflowOf<Format>(mode)).bits();
}

// Stochastic rounding of a value with kSourceMantissa bits behind its leading one. The bits that
// the format drops (subnormals: after aligning them, cut to the source's width) and the upper bits
// of the seed, as many as the mantissas' difference, are added: a carry rounds away from zero.
template <class Format, int kSourceMantissa>
uint32_t EncodeStochastic(double value, uint32_t seed, const Mode& mode) {
  constexpr int kDropped = kSourceMantissa - Format::kMantissaBits;
  static_assert(kDropped > 0);
  constexpr int kMinExponent = 1 - Format::kBias;
  const auto bits = std::bit_cast<uint64_t>(value);
  const bool negative = (bits >> 63) != 0;
  const int field = static_cast<int>(bits >> 52) & 0x7ff;
  if (field == 0x7ff || value == 0) return EncodeNearest<Format>(value, mode);
  const int exponent = field - 1023;
  const int below = exponent < kMinExponent ? kMinExponent - exponent : 0;
  uint64_t significand =
      ((bits & 0xfffffffffffffu) >> (52 - kSourceMantissa)) | uint64_t{1} << kSourceMantissa;
  significand = below < 64 ? significand >> below : 0;
  const uint64_t units = (significand + (seed >> (32 - kDropped))) >> kDropped;
  // Codes ascend with the numbers, so a carry needs no care.
  const uint64_t binade = below > 0 ? 0 : static_cast<uint64_t>(exponent - kMinExponent);
  const uint64_t code = (binade << Format::kMantissaBits) + units;
  if (code > Format::Largest().bits()) {
    return EncodeNearest<Format>(negative ? -std::numeric_limits<double>::infinity()
                                          : std::numeric_limits<double>::infinity(),
                                 mode);
  }
  const bool signed_zero = Format::kHasNegativeZero || code != 0;
  const uint64_t sign = uint64_t{1} << (Format::kExponentBits + Format::kMantissaBits);
  return static_cast<uint32_t>(code | (negative && signed_zero ? sign : 0));
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_NARROW_NARROW_FORMATS_H_
