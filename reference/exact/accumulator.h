#ifndef LANEWISE_REFERENCE_EXACT_ACCUMULATOR_H_
#define LANEWISE_REFERENCE_EXACT_ACCUMULATOR_H_

// A sum without rounding: for the `Exact` semantics of GEMMs, where binary64 does not hold the sum
// of blocks of different scales, or of bf16 products.
//
//   ExactAccumulator sum;
//   for (block ...) sum.AddDouble(dot[block], x_code[block] + w_code[block] - 254);
//   const float result = sum.ToFloat();

#include <bit>
#include <cstdint>

#include "reference/exact/rounding.h"

namespace lanewise {

// A fixed-point number in units of 2^-640 with bits up to 2^639 and a sign above them.
//
// What that holds: the widest terms met here are bf16 x bf16 products with two e8m0 scales. The
// smallest bit of one is 2^(-133 - 133 - 127 - 127) = 2^-520; as a double, whose last bit may be a
// zero 52 places down, 2^-572. The largest is below 2^(128 + 128 + 127 + 127) = 2^510, and 2^31 of
// them are below 2^541. float32 x float32 products with two scales fit too: 2^-552 (2^-604 as a
// double), and the same top. All products of e4m3, e5m2, e2m1 and f16 lie inside.
//
// The number is kept as 40 digits of 32 bits, each in a signed 64-bit word: adding a term touches
// three words and carries nothing, but once in 2^24 terms.
class ExactAccumulator {
 public:
  // Adds value * 2^exponent. NaN and Inf count as such.
  void AddDouble(double value, int exponent = 0) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
    const int field = static_cast<int>(bits >> 52 & 0x7FF);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
    if (field == 0x7FF) {
      if (fraction != 0) {
        AddNan();
      } else {
        AddInfinity(bits >> 63);
      }
      return;
    }
    const std::uint64_t magnitude = field == 0 ? fraction : fraction | std::uint64_t{1} << 52;
    AddMagnitude(bits >> 63, magnitude, (field == 0 ? 1 : field) - 1075 + exponent);
  }

  // Adds significand * 2^exponent.
  void Add(std::int64_t significand, int exponent) {
    const bool negative = significand < 0;
    const std::uint64_t bits = static_cast<std::uint64_t>(significand);
    AddMagnitude(negative, negative ? 0 - bits : bits, exponent);
  }

  void AddNan() { nan_ = true; }
  void AddInfinity(bool negative) { infinity_[negative] = true; }

  // The sum rounded once, to nearest-even: subnormals are made, overflow is Inf, exactly zero is
  // +0. NaN (0x7FC00000, 0x7FC0) if a NaN or Infs of both signs were added, Inf if one was, NaN too
  // if a term lay outside of what the number holds.
  float ToFloat() const { return std::bit_cast<float>(Round<RoundTo::kFloat32>()); }
  std::uint16_t ToBf16Bits() const { return static_cast<std::uint16_t>(Round<RoundTo::kBf16>()); }

  // Back to zero, for the next sum.
  void Clear();

 private:
  static constexpr int kLowestBit = -640;
  static constexpr int kWords = 40;
  static constexpr int kDigitBits = 32;
  static constexpr std::uint64_t kDigitMask = 0xFFFFFFFF;
  // A digit is below 2^32, so a word has room for 2^31 - 1 of them.
  static constexpr int kTermsBeforeCarry = 1 << 24;

  void AddMagnitude(bool negative, std::uint64_t magnitude, int exponent) {
    if (magnitude == 0) return;
    const int position = exponent - kLowestBit;
    // Three words take the 64 bits wherever they start in the first.
    if (position < 0 || position >= (kWords - 2) * kDigitBits) {
      nan_ = true;
      return;
    }
    const int word = position / kDigitBits;
    const int shift = position % kDigitBits;
    const std::uint64_t low = magnitude << shift;
    const std::uint64_t high = magnitude >> 1 >> (63 - shift);
    const std::int64_t sign = negative ? -1 : 1;
    words_[word] += sign * static_cast<std::int64_t>(low & kDigitMask);
    words_[word + 1] += sign * static_cast<std::int64_t>(low >> kDigitBits);
    words_[word + 2] += sign * static_cast<std::int64_t>(high);
    first_ = word < first_ ? word : first_;
    last_ = word + 2 > last_ ? word + 2 : last_;
    if (--terms_before_carry_ == 0) Carry();
  }

  // Brings every word but the last into [0, 2^32).
  void Carry();

  // digits[first_..last_] = sign times the number, each digit in [0, 2^32), and what carries out
  // above.
  std::int64_t Digits(int sign, std::uint32_t* digits) const;

  template <RoundTo kFormat>
  std::uint32_t Round() const;

  std::int64_t words_[kWords] = {};
  int first_ = kWords;  // the words that are not zero lie from first_ to last_
  int last_ = -1;
  int terms_before_carry_ = kTermsBeforeCarry;
  bool nan_ = false;
  bool infinity_[2] = {false, false};  // by sign
};

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_EXACT_ACCUMULATOR_H_
