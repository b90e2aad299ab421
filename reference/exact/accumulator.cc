#include "reference/exact/accumulator.h"

#include <algorithm>

namespace lanewise {

void ExactAccumulator::Clear() {
  if (first_ <= last_) std::fill(words_ + first_, words_ + last_ + 1, 0);
  first_ = kWords;
  last_ = -1;
  terms_before_carry_ = kTermsBeforeCarry;
  nan_ = false;
  infinity_[0] = false;
  infinity_[1] = false;
}

void ExactAccumulator::Carry() {
  terms_before_carry_ = kTermsBeforeCarry;
  for (int i = first_; i + 1 < kWords; ++i) {
    const std::int64_t carry = words_[i] >> kDigitBits;  // to minus infinity
    words_[i] -= carry * (std::int64_t{1} << kDigitBits);
    words_[i + 1] += carry;
  }
  last_ = kWords - 1;
}

std::int64_t ExactAccumulator::Digits(int sign, std::uint32_t* digits) const {
  std::int64_t carry = 0;
  for (int i = first_; i <= last_; ++i) {
    const std::int64_t word = sign * words_[i] + carry;
    digits[i] = static_cast<std::uint32_t>(word & kDigitMask);
    carry = word >> kDigitBits;  // to minus infinity
  }
  return carry;
}

template <RoundTo kFormat>
std::uint32_t ExactAccumulator::Round() const {
  constexpr std::uint32_t kInfinity = kFormat == RoundTo::kFloat32 ? 0x7F800000 : 0x7F80;
  constexpr std::uint32_t kSign = kFormat == RoundTo::kFloat32 ? 0x80000000 : 0x8000;
  if (nan_ || (infinity_[0] && infinity_[1]))
    return kFormat == RoundTo::kFloat32 ? 0x7FC00000 : 0x7FC0;
  if (infinity_[0]) return kInfinity;
  if (infinity_[1]) return kSign | kInfinity;
  if (first_ > last_) return 0;

  // The magnitude's digits, with two zeros below the first and the last carry above.
  std::uint32_t storage[2 + kWords + 1] = {};
  std::uint32_t* const digits = storage + 2;
  std::int64_t carry = Digits(1, digits);
  const bool negative = carry < 0;
  if (negative) carry = Digits(-1, digits);
  digits[last_ + 1] = static_cast<std::uint32_t>(carry);

  int top = last_ + 1;
  while (top >= first_ && digits[top] == 0) --top;
  if (top < first_) return 0;

  // 64 bits from the top one down, and whether anything lies below them.
  const int leading_zeros = std::countl_zero(digits[top]);
  const std::uint64_t third = static_cast<std::uint64_t>(digits[top - 2]) << leading_zeros;
  const std::uint64_t magnitude =
      ((static_cast<std::uint64_t>(digits[top]) << kDigitBits) + digits[top - 1]) << leading_zeros |
      third >> kDigitBits;
  bool more = (third & kDigitMask) != 0;
  for (int i = first_; i < top - 2 && !more; ++i) more = digits[i] != 0;
  return RoundBits<kFormat>(negative, magnitude,
                            kLowestBit + (top - 1) * kDigitBits - leading_zeros, more);
}

template std::uint32_t ExactAccumulator::Round<RoundTo::kFloat32>() const;
template std::uint32_t ExactAccumulator::Round<RoundTo::kBf16>() const;

}  // namespace lanewise
