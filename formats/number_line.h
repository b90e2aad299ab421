#ifndef LANEWISE_FORMATS_NUMBER_LINE_H_
#define LANEWISE_FORMATS_NUMBER_LINE_H_

// For tests: what every format holds and how it rounds, computed apart from formats/element.h, with
// binary64 arithmetic on the number line instead of bit fields.

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "formats/element.h"

namespace lanewise {

// One format as its specification's table has it.
struct FormatFacts {
  std::string_view name;
  int sign_bits;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  double largest;
  double smallest_normal;
  double smallest;
  // The code of plus infinity, and of the NaN that a NaN with plus sign becomes; -1: there is none.
  int infinity;
  int nan;
  // Every NaN without its sign: from here on.
  int first_nan;
  bool fnuz;
};

// e4m3fn .. e5m2fnuz: OCP 8-bit Floating Point Specification 1.0, and the CDNA3 instruction set
// manual; e2m3 .. e8m0: OCP Microscaling Formats Specification 1.0; bf16, f16: binary32, IEEE 754.
inline constexpr FormatFacts kFormatFacts[] = {
    {"e4m3fn", 1, 4, 3, 7, 448, 0x1p-6, 0x1p-9, -1, 0x7F, 0x7F, false},
    {"e4m3fnuz", 1, 4, 3, 8, 240, 0x1p-7, 0x1p-10, -1, 0x80, 0x80, true},
    {"e5m2", 1, 5, 2, 15, 57344, 0x1p-14, 0x1p-16, 0x7C, 0x7F, 0x7D, false},
    {"e5m2fnuz", 1, 5, 2, 16, 57344, 0x1p-15, 0x1p-17, -1, 0x80, 0x80, true},
    {"e2m3", 1, 2, 3, 1, 7.5, 1, 0.125, -1, -1, 0x20, false},
    {"e3m2", 1, 3, 2, 3, 28, 0.25, 0.0625, -1, -1, 0x20, false},
    {"e2m1", 1, 2, 1, 1, 6, 1, 0.5, -1, -1, 0x8, false},
    {"e8m0", 0, 8, 0, 127, 0x1p127, 0x1p-127, 0x1p-127, -1, 0xFF, 0xFF, false},
    {"bf16", 1, 8, 7, 127, 0x1.FEp127, 0x1p-126, 0x1p-133, 0x7F80, 0x7FC0, 0x7F81, false},
    {"f16", 1, 5, 10, 15, 65504, 0x1p-14, 0x1p-24, 0x7C00, 0x7E00, 0x7C01, false},
};

// The nonnegative numbers of a format in ascending order, and what lies nearest to what.
class NumberLine {
 public:
  explicit NumberLine(const FormatFacts& facts) : facts_(facts) {
    const int end = facts.infinity >= 0 ? facts.infinity : facts.first_nan;
    for (int code = 0; code <= end; ++code) values_.push_back(FieldsValue(code));
    for (int code = 0; code < end; ++code) {
      limits_.push_back((values_[code] + values_[code + 1]) / 2);
    }
    values_.pop_back();
  }

  const FormatFacts& facts() const { return facts_; }

  // Codes from 0 to below this one, in the order of their values, are finite and not negative.
  int size() const { return static_cast<int>(values_.size()); }
  // The value of a code from 0 to size() - 1.
  double value(int code) const { return values_[code]; }
  // Halfway between value(code) and the number after it; after the last comes what would be the
  // next, did the exponent go on.
  double limit(int code) const { return limits_[code]; }
  // Whether limit(code) rounds to code + 1: ties go to the even mantissa. e8m0, with none, has a
  // leading bit only, and of 1 and 2 units 2 is even.
  bool TieGoesUp(int code) const { return facts_.mantissa_bits == 0 || code % 2 == 1; }

  int sign_code() const {
    return facts_.sign_bits << (facts_.exponent_bits + facts_.mantissa_bits);
  }
  int code_count() const { return 1 << bits(); }
  int bits() const { return facts_.sign_bits + facts_.exponent_bits + facts_.mantissa_bits; }

  // Any code, decoded.
  double Decode(int code) const {
    if (facts_.fnuz && code == facts_.nan) return std::numeric_limits<double>::quiet_NaN();
    const bool negative = (code & sign_code()) != 0;
    const int magnitude = negative ? code - sign_code() : code;
    double value = 0;
    if (magnitude < size()) {
      value = values_[magnitude];
    } else if (magnitude == facts_.infinity) {
      value = std::numeric_limits<double>::infinity();
    } else {
      value = std::numeric_limits<double>::quiet_NaN();
    }
    return negative ? -value : value;
  }

  // The code of a number that lies between the limits of index - 1 and index; index = size():
  // beyond the last.
  int EncodeIndex(bool negative, int index, bool is_zero, Overflow overflow) const {
    if (negative && facts_.sign_bits == 0 && !is_zero) return facts_.nan;
    int code = index;
    if (index == size()) {
      if (overflow == Overflow::kSaturate || facts_.nan < 0) {
        code = size() - 1;
      } else {
        code = facts_.infinity >= 0 ? facts_.infinity : facts_.nan;
      }
    }
    if (facts_.fnuz && (code == 0 || code == facts_.nan)) return code;
    return negative ? code | sign_code() : code;
  }
  int EncodeNan(bool negative) const {
    if (facts_.nan < 0) return size() - 1;
    return negative ? facts_.nan | sign_code() : facts_.nan;
  }

  // Any number, encoded: binary search for the first limit that it does not exceed.
  int Encode(double value, Overflow overflow) const {
    if (std::isnan(value)) return EncodeNan(std::signbit(value));
    const double magnitude = std::fabs(value);
    int low = 0;
    int high = size();
    while (low < high) {
      const int middle = (low + high) / 2;
      if (Exceeds(magnitude, middle)) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return EncodeIndex(std::signbit(value), low, value == 0, overflow);
  }

  // Whether a magnitude rounds to more than value(code).
  bool Exceeds(double magnitude, int code) const {
    return magnitude > limits_[code] || (magnitude == limits_[code] && TieGoesUp(code));
  }

 private:
  // The value of a magnitude's fields, as if no code were special and the exponent had no end.
  double FieldsValue(int magnitude) const {
    const int per_binade = 1 << facts_.mantissa_bits;
    const int exponent = magnitude / per_binade;
    const double fraction = static_cast<double>(magnitude % per_binade) / per_binade;
    if (exponent == 0 && facts_.sign_bits == 1) return std::ldexp(fraction, 1 - facts_.bias);
    return std::ldexp(1 + fraction, exponent - facts_.bias);
  }

  FormatFacts facts_;
  std::vector<double> values_;
  std::vector<double> limits_;
};

// The number line of the format of that name. Unknown names give e4m3fn's, whose name then differs.
inline NumberLine NumberLineOf(std::string_view name) {
  for (const FormatFacts& facts : kFormatFacts) {
    if (facts.name == name) return NumberLine(facts);
  }
  return NumberLine(kFormatFacts[0]);
}

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_NUMBER_LINE_H_
