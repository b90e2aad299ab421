#ifndef LANEWISE_REFERENCE_EXACT_ROUNDING_H_
#define LANEWISE_REFERENCE_EXACT_ROUNDING_H_

// Sums and integers rounded once, to nearest-even.

#include <bit>
#include <cmath>
#include <cstdint>

namespace lanewise {

// accumulator + addend as real numbers, rounded once to float32: subnormals are made, overflow is
// Inf, an exact zero is +0, NaN and Inf behave as in any addition. A plain addition in double,
// rounded to float afterwards, would round twice. |addend| is 0 or in [2^-900, 2^1000], or not
// finite.
inline float AddRounded(float accumulator, double addend) {
  const double a = accumulator;
  const double sum = a + addend;
  if (sum == 0) return 0;
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  // What the addition in double lost, exactly (Knuth's two-sum).
  const double addend_part = sum - a;
  const double lost = (a - (sum - addend_part)) + (addend - addend_part);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  // Round to odd instead: of the two doubles around the true sum, the one with the odd significand.
  // From that the second rounding, to far fewer bits, comes out as from the true sum.
  const std::int64_t toward_true_sum = (lost > 0) == (sum > 0) ? 1 : -1;
  const bool move = (lost != 0) & (bits % 2 == 0);
  bits += static_cast<std::uint64_t>(move ? toward_true_sum : 0);
  return static_cast<float>(std::bit_cast<double>(bits));
}

// accumulator + value * 2^exponent, likewise rounded once. This is how a block's dot product joins
// the sum over blocks: `value` the exact dot product, `exponent` the two scale codes' sum - 254.
// |exponent| <= 600; |value| is 0 or in [2^-300, 2^300], or not finite.
inline float AddScaled(float accumulator, double value, int exponent) {
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  return AddRounded(accumulator, value * scale);
}

// A binary floating-point format with float32's exponent range and implicit leading bit: what
// RoundBits rounds to.
enum class RoundTo {
  kFloat32,  // 24 significant bits
  kBf16      // 8
};

// The bits of (-1)^negative * magnitude * 2^exponent rounded once to nearest-even; `more` says that
// the true magnitude lies above this one, by less than 1, and needs bit 63 of magnitude to be set
// (zero alone may come without). Subnormals are made, overflow is Inf.
template <RoundTo kFormat>
constexpr std::uint32_t RoundBits(bool negative, std::uint64_t magnitude, int exponent, bool more) {
  constexpr int kFractionBits = kFormat == RoundTo::kFloat32 ? 23 : 7;
  const std::uint32_t sign = negative ? std::uint32_t{1} << (kFractionBits + 8) : 0;
  constexpr std::uint32_t kInfinity = std::uint32_t{255} << kFractionBits;
  if (magnitude == 0) return 0;

  const int leading_zeros = std::countl_zero(magnitude);
  magnitude <<= leading_zeros;
  const int top = exponent - leading_zeros + 63;  // floor(log2 of the value)
  if (top > 127) return sign | kInfinity;

  // The last kept bit's weight is 2^(max(top, -126) - kFractionBits).
  const int dropped = 63 - kFractionBits + (top < -126 ? -126 - top : 0);
  if (dropped > 64) return sign;
  const std::uint64_t kept = dropped == 64 ? 0 : magnitude >> dropped;
  const std::uint64_t half = std::uint64_t{1} << (dropped - 1);
  const bool beyond_half = (magnitude & (half - 1)) != 0 || more;
  const bool up = (magnitude & half) != 0 && (beyond_half || kept % 2 != 0);
  // Adding the exponent to the significand with its leading bit, one exponent lower, lets a carry
  // of the rounding run on into the exponent, up to Inf.
  const std::uint64_t exponent_field = top < -126 ? 0 : static_cast<std::uint64_t>(top + 126);
  return sign | static_cast<std::uint32_t>((exponent_field << kFractionBits) + kept + up);
}

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_EXACT_ROUNDING_H_
