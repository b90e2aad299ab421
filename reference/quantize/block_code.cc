#include "reference/quantize/block_code.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace lanewise::reference {
namespace {

constexpr std::uint32_t kFractionMask = 0x7FFFFF;

// A positive finite float as significand * 2^(exponent - 23), the significand in [2^23, 2^24).
struct Normalized {
  std::uint32_t significand;
  int exponent;
};

Normalized Normalize(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFF;
  const int field = static_cast<int>(bits >> 23);
  const std::uint32_t fraction = bits & kFractionMask;
  if (field != 0) return {fraction | 0x800000, field - 127};
  const int shift = std::countl_zero(fraction) - 8;  // Subnormal: to the place of the hidden bit.
  return {fraction << shift, -126 - shift};
}

int FloorLog2(float x) { return Normalize(x).exponent; }

// The smallest e with a <= max * 2^e.
int CeilLog2Quotient(float a, float max) {
  const Normalized numerator = Normalize(a);
  const Normalized denominator = Normalize(max);
  return numerator.exponent - denominator.exponent +
         (numerator.significand > denominator.significand ? 1 : 0);
}

// The exponent field of a non-negative float, plus one where the fraction is not zero.
int CeilExponentField(float v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<int>(bits >> 23) + ((bits & kFractionMask) != 0 ? 1 : 0);
}

// The code before its clamp. Zero, which has no logarithm, is below every code.
int UnclampedCode(float a, const QuantizeOptions& options) {
  if (a == 0.0f) return 0;
  const int emax = FloorLog2(options.maximum);
  switch (options.rule) {
    case BlockRule::kExact:
      return CeilLog2Quotient(a, options.maximum) + 127;
    case BlockRule::kRoundedLog2: {
      const float quotient = a / options.maximum;
      return quotient == 0.0f ? 0 : CeilRoundedLog2(quotient) + 127;
    }
    case BlockRule::kFloor:
      return FloorLog2(a) - emax + 127;
    case BlockRule::kEven:
      return static_cast<int>((std::bit_cast<std::uint32_t>(a) + 0x200000) >> 23) - emax;
    case BlockRule::kRoundUp: {
      const float reciprocal = 1.0f / options.maximum;
      return CeilExponentField(a * reciprocal);
    }
  }
  return 0;
}

}  // namespace

int SwallowedUlps(int e) {
  if (e == 0) return 0;
  const int magnitude = std::abs(e) - (e < 0 ? 1 : 0);
  const int j = static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 1;
  constexpr int kFloors[] = {0, 0, 1, 2, 5, 11, 22, 44};
  return j < 0 ? 0 : kFloors[j];
}

int CeilRoundedLog2(float x) {
  const Normalized n = Normalize(x);
  const int ulps = static_cast<int>(n.significand - 0x800000);
  return n.exponent + (ulps > SwallowedUlps(n.exponent) ? 1 : 0);
}

std::uint8_t BlockCode(float amax, const QuantizeOptions& options) {
  if (std::isnan(amax)) {
    return options.non_finite == NonFinite::kNanTopCode ? kLargestCode : kNanCode;
  }
  amax = std::fabs(amax);
  if (std::isinf(amax)) {
    return options.non_finite == NonFinite::kNanBlock ? kNanCode : kLargestCode;
  }
  const int code = UnclampedCode(std::max(amax, options.amax_floor), options);
  return static_cast<std::uint8_t>(
      std::clamp(code, options.smallest_code, static_cast<int>(kLargestCode)));
}

float ElementScale(std::uint8_t code, const QuantizeOptions& options) {
  const bool zero = options.non_finite == NonFinite::kNanElements ||
                    options.non_finite == NonFinite::kNanTopCode;
  // The sources build the multiplier as exponent bits, 254 - code; with their maxima no finite block
  // reaches that code.
  return code == kLargestCode && zero ? 0.0f : std::ldexp(1.0f, 127 - code);
}

}  // namespace lanewise::reference
