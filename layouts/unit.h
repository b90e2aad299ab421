#ifndef LANEWISE_LAYOUTS_UNIT_H_
#define LANEWISE_LAYOUTS_UNIT_H_

// What one coordinate of a layout addresses, and which bytes may stand where a layout is stored.

#include <cstdint>
#include <string_view>

namespace lanewise {

enum class Unit {
  kByte,
  kFnuzByte,  // an e4m3fnuz element
  kE4m3Byte,  // an e4m3fn element
  kFp8Byte,   // any 8-bit element
  kE2m1Pair,  // a byte of two e2m1 elements, the even one in its low nibble
  kE2m1Nibble,
  kE8m0Code,
  kByteOrCode,  // weights and their scale codes alike
  kHalf,        // bf16 or f16
  kFloat,
  kElement,  // of any size
};

constexpr std::string_view UnitName(Unit unit) {
  switch (unit) {
    case Unit::kByte:
      return "byte";
    case Unit::kFnuzByte:
      return "FNUZ e4m3 byte";
    case Unit::kE4m3Byte:
      return "e4m3 byte";
    case Unit::kFp8Byte:
      return "fp8 byte";
    case Unit::kE2m1Pair:
      return "packed e2m1 pair";
    case Unit::kE2m1Nibble:
      return "e2m1 nibble";
    case Unit::kE8m0Code:
      return "E8M0 code";
    case Unit::kByteOrCode:
      return "row byte or code";
    case Unit::kHalf:
      return "half";
    case Unit::kFloat:
      return "f32";
    case Unit::kElement:
      return "element";
  }
  return "";
}

// Bits of one unit; 0: it may have any size.
constexpr int UnitBits(Unit unit) {
  switch (unit) {
    case Unit::kByte:
    case Unit::kFnuzByte:
    case Unit::kE4m3Byte:
    case Unit::kFp8Byte:
    case Unit::kE2m1Pair:
    case Unit::kE8m0Code:
    case Unit::kByteOrCode:
      return 8;
    case Unit::kE2m1Nibble:
      return 4;
    case Unit::kHalf:
      return 16;
    case Unit::kFloat:
      return 32;
    case Unit::kElement:
      return 0;
  }
  return 0;
}

// Which bytes a layout never holds, so that one that is there was not prepared.
enum class Forbidden {
  kNothing,
  kFnuzNan,           // 0x80, which no OCP byte becomes
  kNegativeZeroPair,  // an e2m1 -0 in either nibble
  kUnraisedCode,      // 0 and above 250: codes were raised by one
  kLargeCode,         // 250 and more
};

constexpr bool IsForbidden(Forbidden forbidden, std::uint8_t byte) {
  switch (forbidden) {
    case Forbidden::kNothing:
      return false;
    case Forbidden::kFnuzNan:
      return byte == 0x80;
    case Forbidden::kNegativeZeroPair:
      return (byte & 15) == 8 || byte >> 4 == 8;
    case Forbidden::kUnraisedCode:
      return byte == 0 || byte > 250;
    case Forbidden::kLargeCode:
      return byte >= 250;
  }
  return false;
}

// What is wrong with a forbidden byte: "byte 17 is 0x80: " and then this.
constexpr std::string_view WhyForbidden(Forbidden forbidden) {
  switch (forbidden) {
    case Forbidden::kNothing:
      return "";
    case Forbidden::kFnuzNan:
      return "the FNUZ NaN, which no OCP byte becomes";
    case Forbidden::kNegativeZeroPair:
      return "a -0 nibble, which the kernels misread";
    case Forbidden::kUnraisedCode:
      return "expected a raised code, 1 to 250";
    case Forbidden::kLargeCode:
      return "expected a code below 250";
  }
  return "";
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_UNIT_H_
