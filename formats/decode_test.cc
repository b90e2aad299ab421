// Every code of every format decodes to the number of the specification's tables, and encodes back.

#include <Eigen/Core>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "formats/every_format.h"
#include "formats/formats.h"
#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using FormatsDecodeTest = EveryFormat;

// The derivation of the expected numbers agrees with the limits that the specifications print.
TEST_P(FormatsDecodeTest, NumberLineHasTheLimitsOfTheSpecification) {
  const FormatFacts& facts = line_.facts();
  EXPECT_EQ(line_.value(line_.size() - 1), facts.largest);
  EXPECT_EQ(line_.value(facts.sign_bits == 0 ? 0 : 1), facts.smallest);
  EXPECT_EQ(line_.value(facts.sign_bits == 0 ? 0 : 1 << facts.mantissa_bits),
            facts.smallest_normal);
}

TEST_P(FormatsDecodeTest, EveryCodeIsTheNumberOfItsFields) {
  for (int code = 0; code < line_.code_count(); ++code) {
    const double expected = line_.Decode(code);
    const float got = format_.decode(static_cast<std::uint16_t>(code));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << Text("code %#x is %a, expected NaN", code, got);
    } else {
      ASSERT_EQ(got, expected) << Text("code %#x is %a, expected %a", code, got, expected);
      ASSERT_EQ(std::signbit(got), std::signbit(expected)) << Text("code %#x is %a", code, got);
    }
  }
}

TEST_P(FormatsDecodeTest, EveryCodeButNansEncodesBackToItself) {
  for (int code = 0; code < line_.code_count(); ++code) {
    const float value = format_.decode(static_cast<std::uint16_t>(code));
    for (const Overflow overflow : kOverflows) {
      int expected = code;
      if (std::isnan(value)) expected = line_.EncodeNan(std::signbit(value));
      // The code before an infinity is the largest finite number, on either side.
      if (std::isinf(value) && overflow == Overflow::kSaturate) expected = code - 1;
      const int from_float = format_.encode(value, overflow);
      const int from_double = format_.encode_double(value, overflow);
      ASSERT_EQ(from_float, expected) << Text("%a of code %#x, %s: got %#x, expected %#x", value,
                                              code, OverflowText(overflow), from_float, expected);
      ASSERT_EQ(from_double, expected)
          << Text("%a of code %#x as a double, %s: got %#x, expected %#x", value, code,
                  OverflowText(overflow), from_double, expected);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, FormatsDecodeTest, testing::ValuesIn(kFormats), FormatName);

template <class Format>
std::vector<float> FirstValues(int count) {
  std::vector<float> values;
  for (int code = 0; code < count; ++code) {
    values.push_back(Format::FromBits(static_cast<typename Format::Bits>(code)).ToFloat());
  }
  return values;
}

TEST(DecodeTest, E2m1AsPrintedInTheMicroscalingSpecification) {
  const std::vector<float> expected = {0,   0.5,  1,  1.5,  2,  3,  4,  6,
                                       -0., -0.5, -1, -1.5, -2, -3, -4, -6};
  EXPECT_EQ(FirstValues<E2m1>(16), expected);
  EXPECT_TRUE(std::signbit(E2m1::FromBits(8).ToFloat()));
}

TEST(DecodeTest, E2m3InEighths) {
  std::vector<float> expected;
  for (const int eighths : {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                            16, 18, 20, 22, 24, 26, 28, 30, 32, 36, 40, 44, 48, 52, 56, 60}) {
    expected.push_back(static_cast<float>(eighths) / 8);
  }
  EXPECT_EQ(FirstValues<E2m3>(32), expected);
}

TEST(DecodeTest, E3m2InSixteenths) {
  std::vector<float> expected;
  for (const int sixteenths :
       {0,  1,  2,  3,  4,  5,  6,  7,   8,   10,  12,  14,  16,  20,  24,  28,
        32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448}) {
    expected.push_back(static_cast<float>(sixteenths) / 16);
  }
  EXPECT_EQ(FirstValues<E3m2>(32), expected);
}

// On gfx942 this byte read as -0 is the classic mistake.
TEST(DecodeTest, FnuzByte0x80IsNan) {
  EXPECT_TRUE(std::isnan(E4m3Fnuz::FromBits(0x80).ToFloat()));
  EXPECT_TRUE(std::isnan(E5m2Fnuz::FromBits(0x80).ToFloat()));
}

TEST(DecodeTest, FnuzIsHalfOfOcpButForTheNans) {
  for (int code = 0; code < 256; ++code) {
    if (code == 0x80 || (code & 0x7F) == 0x7F) continue;
    const auto bits = static_cast<std::uint8_t>(code);
    EXPECT_EQ(2 * E4m3Fnuz::FromBits(bits).ToFloat(), E4m3Fn::FromBits(bits).ToFloat()) << code;
  }
  EXPECT_EQ(E4m3Fnuz::FromBits(0x7F).ToFloat(), 240);
}

// The smallest scale is a subnormal float: shifted into place, not computed with.
TEST(DecodeTest, E8m0CodeIsThePowerOfTwo) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(E8m0::FromBits(0).ToFloat()), 0x0040'0000u);
  for (int code = 1; code < 255; ++code) {
    EXPECT_EQ(E8m0::FromBits(static_cast<std::uint8_t>(code)).ToFloat(), std::exp2(code - 127));
  }
  EXPECT_TRUE(std::isnan(E8m0::FromBits(255).ToFloat()));
}

TEST(DecodeTest, Bf16IsTheUpperHalfOfTheFloat) {
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    const Bf16 element = Bf16::FromBits(static_cast<std::uint16_t>(code));
    // A signaling NaN becomes quiet, the rest of its payload stays.
    const std::uint32_t quiet = element.IsNan() ? 0x0040'0000 : 0;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(element.ToFloat()), code << 16 | quiet) << code;
  }
}

TEST(DecodeTest, F16AsEigensHalf) {
  for (int code = 0; code < 0x10000; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float expected =
        Eigen::half_impl::half_to_float(Eigen::half_impl::raw_uint16_to_half(bits));
    const float got = F16::FromBits(bits).ToFloat();
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(got)) << code;
    } else {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected)) << code;
    }
  }
}

}  // namespace
}  // namespace lanewise
