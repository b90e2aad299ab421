#ifndef LANEWISE_FORMATS_ELEMENT_SPEC_H_
#define LANEWISE_FORMATS_ELEMENT_SPEC_H_

// What distinguishes one element format from another, as data.
//
// A code is, from its highest bit down: a sign (if the format has one), an exponent field and a
// mantissa field. An exponent field e above 0 means (1 + mantissa / 2^mantissa_bits) *
// 2^(e - bias); an exponent field of 0 means mantissa / 2^mantissa_bits * 2^(1 - bias), the
// subnormals and zero, or, in a format without zero, the same as the other fields.

#include <cstdint>

namespace lanewise {

// Which codes are no finite number.
enum class Specials : std::uint8_t {
  // All codes are finite: e2m1, e2m3, e3m2.
  kNone,
  // The highest exponent field: Inf where the mantissa is 0, else NaN. IEEE 754, bf16, e5m2.
  kTopExponent,
  // Exponent and mantissa all ones: NaN, with either sign. No Inf. e4m3fn, e8m0.
  kAllOnes,
  // The code that would be -0 is the only NaN. No Inf, no -0. The FNUZ formats.
  kNegativeZero,
};

struct ElementSpec {
  const char* name;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Specials specials;
  // The code that encoding gives to a NaN with a plus sign; unused where there is no NaN.
  std::uint16_t nan;
  bool has_sign = true;
  // Whether an exponent field of 0 holds zero and the subnormals.
  bool has_zero = true;

  // Bits of a code: 4, 6, 8 or 16.
  constexpr int bits() const { return (has_sign ? 1 : 0) + exponent_bits + mantissa_bits; }
};

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_ELEMENT_SPEC_H_
