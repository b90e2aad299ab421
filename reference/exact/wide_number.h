#ifndef LANEWISE_REFERENCE_EXACT_WIDE_NUMBER_H_
#define LANEWISE_REFERENCE_EXACT_WIDE_NUMBER_H_

// Exact binary fractions for tests: slow, and so plain that they are right by reading.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lanewise {

// A multiple of 2^-704 of magnitude below 2^703: an integer of 1408 bits in two's complement. No
// operation here rounds but the ones that say so; results out of range are the test's mistake.
class WideNumber {
 public:
  // Zero.
  WideNumber() = default;

  // The number itself; finite, and a multiple of 2^-704.
  explicit WideNumber(double value) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);
    const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
    for (int bit = 0; bit < 53; ++bit) {
      if (significand >> bit & 1) SetBit(exponent - 53 + bit);
    }
    if (value < 0) *this = -*this;
  }

  // 2^exponent.
  static WideNumber PowerOfTwo(int exponent) {
    WideNumber power;
    power.SetBit(exponent);
    return power;
  }

  bool IsNegative() const { return words_[kWords - 1] >> 63; }
  bool IsZero() const {
    for (const std::uint64_t word : words_) {
      if (word != 0) return false;
    }
    return true;
  }

  friend WideNumber operator+(const WideNumber& x, const WideNumber& y) {
    WideNumber sum;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < kWords; ++i) {
      const std::uint64_t partial = x.words_[i] + carry;
      const std::uint64_t carried = partial < carry ? 1 : 0;
      sum.words_[i] = partial + y.words_[i];
      carry = carried + (sum.words_[i] < partial ? 1 : 0);
    }
    return sum;
  }
  friend WideNumber operator-(const WideNumber& x) {
    WideNumber complement;
    for (std::size_t i = 0; i < kWords; ++i) complement.words_[i] = ~x.words_[i];
    return complement + PowerOfTwo(kLowestBit);
  }
  friend WideNumber operator-(const WideNumber& x, const WideNumber& y) { return x + -y; }
  friend bool operator<(const WideNumber& x, const WideNumber& y) { return (x - y).IsNegative(); }
  friend bool operator==(const WideNumber&, const WideNumber&) = default;

  WideNumber Magnitude() const { return IsNegative() ? -*this : *this; }

  // floor(log2|x|), of a number that is not zero.
  int FloorLog2() const {
    const WideNumber magnitude = Magnitude();
    std::size_t top = kWords - 1;
    while (magnitude.words_[top] == 0) --top;
    return kLowestBit + static_cast<int>(top) * 64 + 63 - std::countl_zero(magnitude.words_[top]);
  }

  // To a multiple of 2^exponent. In two's complement, clearing low bits goes toward minus infinity.
  WideNumber TowardMinusInfinity(int exponent) const {
    WideNumber result = *this;
    for (int bit = kLowestBit; bit < exponent; bit += 64) {
      const std::size_t word = static_cast<std::size_t>(bit - kLowestBit) / 64;
      const auto cleared = static_cast<unsigned>(exponent - bit);
      result.words_[word] = cleared >= 64 ? 0 : result.words_[word] >> cleared << cleared;
    }
    return result;
  }
  WideNumber TowardZero(int exponent) const {
    return IsNegative() ? -(-*this).TowardMinusInfinity(exponent) : TowardMinusInfinity(exponent);
  }

  // The nearest number of a format with this many significant bits and float32's exponents, of two
  // equally near the one with the even significand. From 2^128 on Inf; zero is +0, and so is what
  // rounds to it from above, -0 from below.
  float RoundTo(int significant_bits) const {
    if (IsZero()) return 0;
    const WideNumber magnitude = Magnitude();
    const int top = FloorLog2();
    const int last = (top < -126 ? -126 : top) - (significant_bits - 1);
    WideNumber rounded = magnitude.TowardZero(last);
    const WideNumber rest = magnitude - rounded;
    const WideNumber half = PowerOfTwo(last - 1);
    const bool odd = !(rounded == rounded.TowardZero(last + 1));
    if (half < rest || (half == rest && odd)) rounded = rounded + PowerOfTwo(last);
    const double value =
        rounded < PowerOfTwo(128) ? rounded.ToDouble() : std::numeric_limits<double>::infinity();
    return static_cast<float>(IsNegative() ? -value : value);
  }

 private:
  static constexpr std::size_t kWords = 22;
  static constexpr int kLowestBit = -704;

  void SetBit(int exponent) {
    const auto bit = static_cast<std::size_t>(exponent - kLowestBit);
    words_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }

  // Of a magnitude that a double holds.
  double ToDouble() const {
    double value = 0;
    for (std::size_t i = 0; i < kWords; ++i) {
      value += std::ldexp(static_cast<double>(words_[i]), kLowestBit + static_cast<int>(i) * 64);
    }
    return value;
  }

  std::array<std::uint64_t, kWords> words_ = {};  // least significant first
};

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_EXACT_WIDE_NUMBER_H_
