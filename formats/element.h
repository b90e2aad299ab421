#ifndef LANEWISE_FORMATS_ELEMENT_H_
#define LANEWISE_FORMATS_ELEMENT_H_

// One element of a low-precision format: its bits, and the one decoder and encoder that serve every
// format. formats/formats.h names the formats.
//
//   E4m3Fn x = E4m3Fn::FromFloat(0.3f);   // nearest: 0.3125
//   x.bits() == 0x2A;  x.ToFloat() == 0.3125f;
//
// Everything is constexpr, works on integers only (no rounding mode or denormal mode of the machine
// matters) and may be called in device code: clang's HIP takes constexpr functions as they are,
// nvcc wants --expt-relaxed-constexpr.

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "formats/element_spec.h"

namespace lanewise {

// What encoding makes of a magnitude that rounds to more than the largest finite one, and of Inf.
enum class Overflow : std::uint8_t {
  // Inf if the format has it, else NaN if it has one, else the largest finite magnitude.
  kNonFinite,
  // The largest finite magnitude. A NaN stays NaN.
  kSaturate,
};

// Has no comparison operators: whether codes or numbers are meant, bits() or ToFloat() says.
// Default initialization leaves the bits unset, as with a float.
template <const ElementSpec& kSpec>
class Element {
 public:
  // The code, in the low bits.
  using Bits = std::conditional_t<(kSpec.bits() <= 8), std::uint8_t, std::uint16_t>;

  static constexpr int kBits = kSpec.bits();
  static constexpr int kExponentBits = kSpec.exponent_bits;
  static constexpr int kMantissaBits = kSpec.mantissa_bits;
  static constexpr int kBias = kSpec.bias;
  static constexpr Specials kSpecials = kSpec.specials;
  static constexpr bool kHasSign = kSpec.has_sign;
  static constexpr bool kHasZero = kSpec.has_zero;
  static constexpr bool kHasNegativeZero =
      kHasSign && kHasZero && kSpecials != Specials::kNegativeZero;
  static constexpr bool kHasInf = kSpecials == Specials::kTopExponent;
  static constexpr bool kHasNan = kSpecials != Specials::kNone;

  static constexpr const ElementSpec& Spec() { return kSpec; }

  Element() = default;

  // The element of a code; bits above the lowest kBits are ignored.
  static constexpr Element FromBits(Bits bits) {
    return Element(static_cast<Bits>(bits & kCodeMask));
  }

  // The nearest element, of two equally near the one with the even mantissa; `overflow` says what
  // becomes of magnitudes that round to more than the largest finite one, and of Inf.
  //  - NaN: ElementSpec's `nan` with the same sign, whatever the payload (FNUZ has just one NaN).
  //    Formats with no NaN: the largest finite number, with a plus sign.
  //  - FNUZ: what rounds to zero is 0x00, whatever its sign.
  //  - e8m0 has neither sign nor zero. Below its smallest number, 2^-127, and for either zero: code
  //    0. Negative numbers: NaN, also when saturating. Halfway between two powers of two: the
  //    larger (the even one of 1 and 2 units). A caller that accepts powers of two only compares
  //    FromFloat(x).ToFloat() with x.
  static constexpr Element FromFloat(float value, Overflow overflow = Overflow::kNonFinite) {
    return Encode<std::uint32_t, 23>(__builtin_bit_cast(std::uint32_t, value), overflow);
  }
  // A double would be rounded twice.
  template <std::same_as<double> Double>
  static Element FromFloat(Double value, Overflow overflow = Overflow::kNonFinite) = delete;

  // As FromFloat: the double is rounded once.
  static constexpr Element FromDouble(double value, Overflow overflow = Overflow::kNonFinite) {
    return Encode<std::uint64_t, 52>(__builtin_bit_cast(std::uint64_t, value), overflow);
  }

  // The largest and the lowest finite number; the lowest of e8m0 is its smallest.
  static constexpr Element Largest() { return Element(kLargest); }
  static constexpr Element Lowest() { return kHasSign ? WithSign(true, kLargest) : Element(0); }
  static constexpr Element Infinity()
    requires kHasInf
  {
    return Element(kInfinity);
  }
  static constexpr Element Nan()
    requires kHasNan
  {
    return Element(kNan);
  }

  constexpr Bits bits() const { return bits_; }

  // The number, exactly. A NaN becomes a quiet NaN with its sign and payload (FNUZ: plus, none).
  constexpr float ToFloat() const { return __builtin_bit_cast(float, FloatBits()); }

  constexpr bool IsNan() const {
    switch (kSpecials) {
      case Specials::kNone:
        return false;
      case Specials::kTopExponent:
        return magnitude() > kInfinity;
      case Specials::kAllOnes:
        return magnitude() == kMagnitudeMask;
      case Specials::kNegativeZero:
        return bits_ == kSignMask;
    }
    return false;
  }
  constexpr bool IsInf() const { return kHasInf && magnitude() == kInfinity; }
  constexpr bool IsFinite() const { return !IsNan() && !IsInf(); }
  // Either zero.
  constexpr bool IsZero() const { return kHasZero && magnitude() == 0 && !IsNan(); }
  // Nonzero and nearer to zero than the smallest normal number.
  constexpr bool IsSubnormal() const {
    return kHasZero && magnitude() != 0 && (magnitude() >> kMantissaBits) == 0;
  }
  // Whether there is a minus sign: so of -0 and of a NaN, but not of FNUZ's only NaN.
  constexpr bool IsNegative() const {
    return kHasSign && (bits_ & kSignMask) != 0 &&
           !(kSpecials == Specials::kNegativeZero && IsNan());
  }

 private:
  static constexpr int kMagnitudeBits = kExponentBits + kMantissaBits;
  static constexpr Bits kMagnitudeMask = static_cast<Bits>((1u << kMagnitudeBits) - 1);
  static constexpr Bits kSignMask = static_cast<Bits>(kHasSign ? 1u << kMagnitudeBits : 0u);
  static constexpr Bits kCodeMask = kMagnitudeMask | kSignMask;
  static constexpr Bits kInfinity = static_cast<Bits>(((1u << kExponentBits) - 1) << kMantissaBits);
  static constexpr Bits kLargest = kSpecials == Specials::kTopExponent ? kInfinity - 1
                                   : kSpecials == Specials::kAllOnes   ? kMagnitudeMask - 1
                                                                       : kMagnitudeMask;
  static constexpr Bits kNan = static_cast<Bits>(kSpec.nan);
  // The exponent of the smallest number with a full mantissa.
  static constexpr int kMinExponent = kHasZero ? 1 - kBias : -kBias;

  // Each finite number is to be a float, and each rounding is to drop at least one bit.
  static_assert(kExponentBits >= 1 && kMantissaBits >= 0 && kMantissaBits < 23);
  static_assert(kMinExponent - kMantissaBits >= -149);
  static_assert(kMinExponent >= (kMantissaBits == 0 ? -127 : -126));
  static_assert((1 << kExponentBits) - 2 - kBias <= 127);
  // Without a sign, a negative number becomes NaN.
  static_assert(kHasSign || kHasNan);

  explicit constexpr Element(Bits bits) : bits_(bits) {}

  constexpr Bits magnitude() const { return bits_ & kMagnitudeMask; }

  static constexpr Element WithSign(bool negative, Bits magnitude) {
    return Element(static_cast<Bits>(negative ? magnitude | kSignMask : magnitude));
  }

  static constexpr Element EncodeNan(bool negative) {
    return kHasNan ? WithSign(negative, kNan) : Element(kLargest);
  }

  static constexpr Element EncodeOverflow(bool negative, Overflow overflow) {
    if (!kHasSign && negative) return Element(kNan);
    if (kHasNan && overflow == Overflow::kNonFinite) {
      return WithSign(negative, kHasInf ? kInfinity : kNan);
    }
    return WithSign(negative, kLargest);
  }

  // The position of the highest bit that is set, of a nonzero number.
  static constexpr int HighestBit(std::uint32_t value) { return 31 - __builtin_clz(value); }
  static constexpr int HighestBit(std::uint64_t value) { return 63 - __builtin_clzll(value); }

  // Rounds an IEEE 754 binary number given by its bits.
  template <class UInt, int kFractionBits>
  static constexpr Element Encode(UInt bits, Overflow overflow) {
    constexpr int kTopBit = static_cast<int>(8 * sizeof(UInt)) - 1;
    constexpr int kTopField = (1 << (kTopBit - kFractionBits)) - 1;
    constexpr UInt kOne = 1;
    const bool negative = (bits >> kTopBit) != 0;
    const UInt fraction = bits & ((kOne << kFractionBits) - 1);
    const int field = static_cast<int>(bits >> kFractionBits) & kTopField;
    if (field == kTopField) {
      return fraction != 0 ? EncodeNan(negative) : EncodeOverflow(negative, overflow);
    }

    // |value| = significand * 2^exponent.
    const UInt significand = field == 0 ? fraction : fraction | (kOne << kFractionBits);
    const int exponent = (field == 0 ? 1 : field) - (kTopField >> 1) - kFractionBits;
    if (significand == 0) return WithSign(negative && kHasNegativeZero, 0);
    if (!kHasSign && negative) return Element(kNan);

    // Round to a number of units of the binade's spacing 2^(binade - kMantissaBits). From
    // kFractionBits + 2 dropped bits on, less than half a unit is left.
    const int leading = HighestBit(significand) + exponent;
    const int binade = leading > kMinExponent ? leading : kMinExponent;
    int dropped = binade - kMantissaBits - exponent;
    if (dropped > kFractionBits + 2) dropped = kFractionBits + 2;
    UInt units = significand >> dropped;
    const UInt rest = significand & ((kOne << dropped) - 1);
    const UInt half = kOne << (dropped - 1);
    if (rest > half || (rest == half && (units & 1) != 0)) ++units;

    // Codes ascend with the numbers, so a carry out of the mantissa needs no care. Without zero the
    // lowest exponent field has an implicit leading bit too.
    int code = ((binade - kMinExponent) << kMantissaBits) + static_cast<int>(units);
    if (!kHasZero) code -= 1 << kMantissaBits;
    if (code < 0) code = 0;
    if (code > kLargest) return EncodeOverflow(negative, overflow);
    return WithSign(negative && (code != 0 || kHasNegativeZero), static_cast<Bits>(code));
  }

  // The bits of the float of the same value.
  constexpr std::uint32_t FloatBits() const {
    const std::uint32_t sign = IsNegative() ? 0x8000'0000u : 0u;
    const std::uint32_t mantissa = magnitude() & ((1u << kMantissaBits) - 1);
    if (IsInf()) return sign | 0x7F80'0000u;
    if (IsNan()) return sign | 0x7FC0'0000u | mantissa << (23 - kMantissaBits);

    // |value| = significand * 2^exponent.
    const int field = magnitude() >> kMantissaBits;
    const bool is_normal = field != 0 || !kHasZero;
    const std::uint32_t significand = is_normal ? mantissa | 1u << kMantissaBits : mantissa;
    const int exponent = (is_normal ? field : 1) - kBias - kMantissaBits;
    if (significand == 0) return sign;
    const int top = HighestBit(significand);
    const int leading = top + exponent;
    if (leading < -126) return sign | significand << (exponent + 149);
    return sign | static_cast<std::uint32_t>(leading + 127) << 23 |
           (significand << (23 - top) & 0x007F'FFFFu);
  }

  Bits bits_;
};

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_ELEMENT_H_
