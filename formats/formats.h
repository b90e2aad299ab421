#ifndef LANEWISE_FORMATS_FORMATS_H_
#define LANEWISE_FORMATS_FORMATS_H_

// The element formats, by name. formats/registry.h lists them for loops at run time.

#include <cstdint>

#include "formats/element.h"
#include "formats/element_spec.h"

namespace lanewise {

// Name, exponent bits, mantissa bits, bias, specials, NaN.
// OCP 8-bit Floating Point Specification 1.0:
inline constexpr ElementSpec kE4m3Fn = {"e4m3fn", 4, 3, 7, Specials::kAllOnes, 0x7F};
inline constexpr ElementSpec kE5m2 = {"e5m2", 5, 2, 15, Specials::kTopExponent, 0x7F};
// gfx942's own: a bias of one more, so that a code is half of what it is in the OCP format.
inline constexpr ElementSpec kE4m3Fnuz = {"e4m3fnuz", 4, 3, 8, Specials::kNegativeZero, 0x80};
inline constexpr ElementSpec kE5m2Fnuz = {"e5m2fnuz", 5, 2, 16, Specials::kNegativeZero, 0x80};
// OCP Microscaling Formats Specification 1.0; e8m0 is its block scale, 2^(code - 127):
inline constexpr ElementSpec kE2m3 = {"e2m3", 2, 3, 1, Specials::kNone, 0};
inline constexpr ElementSpec kE3m2 = {"e3m2", 3, 2, 3, Specials::kNone, 0};
inline constexpr ElementSpec kE2m1 = {"e2m1", 2, 1, 1, Specials::kNone, 0};
inline constexpr ElementSpec kE8m0 = {.name = "e8m0",
                                      .exponent_bits = 8,
                                      .mantissa_bits = 0,
                                      .bias = 127,
                                      .specials = Specials::kAllOnes,
                                      .nan = 0xFF,
                                      .has_sign = false,
                                      .has_zero = false};
// The upper half of a float, and IEEE 754 binary16:
inline constexpr ElementSpec kBf16 = {"bf16", 8, 7, 127, Specials::kTopExponent, 0x7FC0};
inline constexpr ElementSpec kF16 = {"f16", 5, 10, 15, Specials::kTopExponent, 0x7E00};

using E4m3Fn = Element<kE4m3Fn>;
using E4m3Fnuz = Element<kE4m3Fnuz>;
using E5m2 = Element<kE5m2>;
using E5m2Fnuz = Element<kE5m2Fnuz>;
using E2m3 = Element<kE2m3>;
using E3m2 = Element<kE3m2>;
using E2m1 = Element<kE2m1>;
using E8m0 = Element<kE8m0>;
using Bf16 = Element<kBf16>;
using F16 = Element<kF16>;

// Two e2m1 share a byte: the one of even index is in the low nibble.
constexpr E2m1 LowNibble(std::uint8_t pair) { return E2m1::FromBits(pair & 0xF); }
constexpr E2m1 HighNibble(std::uint8_t pair) { return E2m1::FromBits(pair >> 4); }
constexpr std::uint8_t PackE2m1(E2m1 low, E2m1 high) {
  return static_cast<std::uint8_t>(high.bits() << 4 | low.bits());
}

}  // namespace lanewise

#endif  // LANEWISE_FORMATS_FORMATS_H_
