// The three helpers of exact division, and v_trig_preop.
//
// A division num / den runs
//   d = v_div_scale(den, den, num)
//   n = v_div_scale(num, den, num), with its flag
//   q = n / d by v_rcp and refinement, of which v_div_fmas(..., flag) is the last step
//   v_div_fixup(q, den, num)
// div_scale moves operands to where no step overflows or loses bits; the flag says that the
// quotient is to be moved back by div_fmas, which rounds once.
//
// Where the manuals are silent or cannot be meant, this follows from the quotient having to come
// out correctly rounded: div_fmas multiplies by 2^64 (f64: 2^128) where the unscaled quotient, its
// third source, is 1 or more, else by the inverse; a denominator whose reciprocal is denormal is
// scaled down also where the quotient is denormal; and div_fixup takes a NaN that came of finite
// operands for the overflow that it is.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "emulator/isa/arithmetic/half_math.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

template <typename Float>
struct Format;
template <>
struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kTopExponent = 255;
  static constexpr int kLargeQuotient = 96;  // exponent difference
  static constexpr int kScale = 64;
  static constexpr float kUp = 0x1p64f;
  static constexpr int kTinyNumerator = 23;  // exponent field
  static constexpr int kUnderflow = -150;
};
template <>
struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kTopExponent = 2047;
  static constexpr int kLargeQuotient = 768;
  static constexpr int kScale = 128;
  static constexpr double kUp = 0x1p128;
  static constexpr int kTinyNumerator = 53;
  static constexpr int kUnderflow = -1075;
};

template <typename Float>
int ExponentField(Float a) {
  using F = Format<Float>;
  return static_cast<int>(std::bit_cast<typename F::Bits>(a) >> F::kMantissaBits) & F::kTopExponent;
}
template <typename Float>
bool IsDenormal(Float a) {
  return ExponentField(a) == 0 && a != 0;
}

template <typename Float>
WithCarry<Float> DivScale(Float value, Float denominator, Float numerator) {
  using F = Format<Float>;
  const bool is_denominator =
      std::bit_cast<typename F::Bits>(value) == std::bit_cast<typename F::Bits>(denominator);
  const bool is_numerator =
      std::bit_cast<typename F::Bits>(value) == std::bit_cast<typename F::Bits>(numerator);
  const Float up = value * F::kUp;
  const Float down = value / F::kUp;
  if (denominator == 0 || numerator == 0) {
    return {std::numeric_limits<Float>::quiet_NaN(), false};
  }
  if (ExponentField(numerator) - ExponentField(denominator) >= F::kLargeQuotient) {
    return {is_denominator ? up : value, true};
  }
  if (IsDenormal(denominator)) return {up, false};
  const bool tiny_reciprocal = IsDenormal(Float{1} / denominator);
  const bool tiny_quotient = IsDenormal(numerator / denominator);
  if (tiny_reciprocal && tiny_quotient) return {is_denominator ? down : value, true};
  if (tiny_reciprocal) return {down, false};
  if (tiny_quotient) return {is_numerator ? up : value, true};
  if (ExponentField(numerator) <= F::kTinyNumerator) return {up, false};
  return {value, false};
}

// value * 2^exponent, exponent being kScale or -kScale, rounded once to nearest-even, where the
// true value lies beside `value` on the side of the sign of `rest` (0: is `value`).
template <typename Float>
Float ScaleRounded(Float value, int rest, int exponent) {
  using F = Format<Float>;
  using Bits = typename F::Bits;
  const Float scaled = exponent > 0 ? value * F::kUp : value / F::kUp;
  const Bits bits = std::bit_cast<Bits>(value);
  const int field = ExponentField(value);
  // Scaling is exact but for a result below the smallest normal number.
  if (field + exponent > 0 || field == 0 || value - value != 0) return scaled;
  constexpr Bits kOne = Bits{1} << F::kMantissaBits;
  const Bits significand = (bits & (kOne - 1)) | kOne;
  // In units of a quarter of the last place, so that `rest` can be told.
  const bool negative = std::signbit(value);
  const int outward = negative ? -rest : rest;
  const auto quarters = static_cast<int64_t>(significand) * 4 + outward;
  const int shift = 1 - (field + exponent) + 2;
  if (shift >= 62) return std::copysign(Float{0}, value);
  const int64_t half = int64_t{1} << (shift - 1);
  int64_t result = quarters >> shift;
  const int64_t left = quarters & ((half << 1) - 1);
  if (left > half || (left == half && (result & 1) != 0)) ++result;
  return std::copysign(std::bit_cast<Float>(static_cast<Bits>(result)), value);
}

template <typename Float>
Float DivFmas(Float a, Float b, Float c, bool scaled) {
  const Float sum = std::fma(a, b, c);
  // What the sum's rounding left out: exact product, then exact sum of its parts and c.
  const Float product = a * b;
  const Float product_rest = std::fma(a, b, -product);
  const Float plain = product + c;
  const Float high = plain - product;
  const Float sum_rest = (product - (plain - high)) + (c - high);
  const Float offset = (plain - sum) + (sum_rest + product_rest);
  const int rest = offset > 0 ? 1 : (offset < 0 ? -1 : 0);
  const int exponent = std::fabs(c) >= 1 ? Format<Float>::kScale : -Format<Float>::kScale;
  return scaled ? ScaleRounded(sum, rest, exponent) : sum;
}

template <typename Float>
Float Quiet(Float a) {
  using Bits = typename Format<Float>::Bits;
  return std::bit_cast<Float>(std::bit_cast<Bits>(a) | Bits{1}
                                                           << (Format<Float>::kMantissaBits - 1));
}

template <typename Float>
Float DivFixup(Float quotient, Float denominator, Float numerator) {
  using F = Format<Float>;
  constexpr Float kInf = std::numeric_limits<Float>::infinity();
  const Float sign = std::signbit(numerator) != std::signbit(denominator) ? Float{-1} : Float{1};
  if (numerator != numerator) return Quiet(numerator);
  if (denominator != denominator) return Quiet(denominator);
  const bool infinite_numerator = std::fabs(numerator) == kInf;
  const bool infinite_denominator = std::fabs(denominator) == kInf;
  if ((numerator == 0 && denominator == 0) || (infinite_numerator && infinite_denominator)) {
    return -std::numeric_limits<Float>::quiet_NaN();
  }
  if (denominator == 0 || infinite_numerator) return sign * kInf;
  if (infinite_denominator || numerator == 0) return std::copysign(Float{0}, sign);
  if (ExponentField(numerator) - ExponentField(denominator) < F::kUnderflow) {
    return std::copysign(Float{0}, sign);
  }
  return quotient != quotient ? sign * kInf : std::copysign(quotient, sign);
}

Half DivFixupHalf(Half quotient, Half denominator, Half numerator) {
  return EncodeHalf(DivFixup(ToFloat(quotient), ToFloat(denominator), ToFloat(numerator)));
}

// The first 1201 bits of 2 / pi after the binary point, most significant first.
constexpr uint64_t kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000};
constexpr int kTwoOverPiBits = 1201;

// 53 bits of 2 / pi from bit `start` (0 is worth 1/2); zeros behind the last.
uint64_t TwoOverPiBits(int start) {
  uint64_t result = 0;
  for (int i = 0; i < 53; ++i) {
    const int bit = start + i;
    const bool one = bit < kTwoOverPiBits && ((kTwoOverPi[bit / 64] >> (63 - bit % 64)) & 1) != 0;
    result = result << 1 | (one ? 1u : 0u);
  }
  return result;
}

// Piece `segment` of 2 / pi, for the reduction of an argument as large as `a`.
double TrigPreop(double a, uint32_t segment) {
  const int field = ExponentField(a);
  int shift = static_cast<int>(segment & 31) * 53;
  if (field > 1077) shift += field - 1077;
  int scale = -53 - shift;
  if (field >= 1968) scale += 128;
  return std::ldexp(static_cast<double>(TwoOverPiBits(shift)), scale);
}

}  // namespace

void RegisterDivision(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_div_scale_f32", CarryOp<DivScale<float>>);
  table.Add("v_div_scale_f64", CarryOp<DivScale<double>>);
  table.Add("v_div_fmas_f32", VectorOp<DivFmas<float>>, {.scalars = ScalarRule::kLastIsLaneMask});
  table.Add("v_div_fmas_f64", VectorOp<DivFmas<double>>, {.scalars = ScalarRule::kLastIsLaneMask});
  table.Add("v_div_fixup_f32", VectorOp<DivFixup<float>>);
  table.Add("v_div_fixup_f64", VectorOp<DivFixup<double>>);
  table.Add("v_div_fixup_f16", VectorOp<DivFixupHalf, kKeepHigh>);
  table.Add("v_div_fixup_legacy_f16", VectorOp<DivFixupHalf>);
  table.Add("v_trig_preop_f64", VectorOp<TrigPreop>);
}

}  // namespace lanewise::emulator
