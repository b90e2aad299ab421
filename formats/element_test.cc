// Values worked out by hand, classification, and use at compile time.

#include "formats/element.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "formats/formats.h"
#include "formats/number_line.h"
#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Constant expressions: what kernels and tables rely on.
static_assert(E4m3Fn::FromFloat(0.3f).bits() == 0x2A);
static_assert(E4m3Fn::FromBits(0x2A).ToFloat() == 0.3125f);
static_assert(E4m3Fn::FromDouble(-448).bits() == 0xFE);
static_assert(E8m0::FromBits(127).ToFloat() == 1.0f);
static_assert(Bf16::FromFloat(1.0f).bits() == 0x3F80);
static_assert(F16::Largest().ToFloat() == 65504.0f);
static_assert(E5m2::Infinity().IsInf() && E4m3Fnuz::Nan().IsNan());
static_assert(PackE2m1(E2m1::FromFloat(6.0f), E2m1::FromFloat(-0.5f)) == 0x97);

template <class Format>
concept TakesDoubleAsFloat = requires(double value) { Format::FromFloat(value); };
template <class Format>
concept HasInfinity = requires { Format::Infinity(); };
template <class Format>
concept HasNan = requires { Format::Nan(); };
static_assert(!TakesDoubleAsFloat<Bf16>, "a double must not be rounded twice");
static_assert(HasInfinity<Bf16> && !HasInfinity<E4m3Fn> && !HasInfinity<E4m3Fnuz>);
static_assert(HasNan<E8m0> && !HasNan<E2m1> && !HasNan<E2m3> && !HasNan<E3m2>);

TEST(ElementTest, E4m3FnOverflowsAbove464) {
  EXPECT_EQ(E4m3Fn::FromFloat(464).bits(), 0x7E);
  EXPECT_EQ(E4m3Fn::FromFloat(std::nextafter(464.0f, kInf)).bits(), 0x7F);
  EXPECT_EQ(E4m3Fn::FromFloat(-500).bits(), 0xFF);
  EXPECT_EQ(E4m3Fn::FromFloat(kInf).bits(), 0x7F);
  EXPECT_EQ(E4m3Fn::FromFloat(500, Overflow::kSaturate).bits(), 0x7E);
  EXPECT_EQ(E4m3Fn::FromFloat(-kInf, Overflow::kSaturate).bits(), 0xFE);
  EXPECT_TRUE(E4m3Fn::FromFloat(kNan, Overflow::kSaturate).IsNan());
}

TEST(ElementTest, FnuzOverflowsToItsNan) {
  EXPECT_EQ(E4m3Fnuz::FromFloat(std::nextafter(248.0f, 0.0f)).bits(), 0x7F);
  EXPECT_EQ(E4m3Fnuz::FromFloat(248).bits(), 0x80);
  EXPECT_EQ(E4m3Fnuz::FromFloat(-248).bits(), 0x80);
  EXPECT_EQ(E4m3Fnuz::FromFloat(-248, Overflow::kSaturate).bits(), 0xFF);
  EXPECT_EQ(E4m3Fnuz::FromFloat(-kNan).bits(), 0x80);
}

TEST(ElementTest, E5m2OverflowsToInf) {
  EXPECT_EQ(E5m2::FromFloat(std::nextafter(61440.0f, 0.0f)).bits(), 0x7B);
  EXPECT_EQ(E5m2::FromFloat(61440).bits(), 0x7C);
  EXPECT_EQ(E5m2::FromFloat(-kInf).bits(), 0xFC);
  EXPECT_EQ(E5m2::FromFloat(-kInf, Overflow::kSaturate).bits(), 0xFB);
}

// Stored as 0x80 it would be NaN.
TEST(ElementTest, FnuzNegativeUnderflowIsPlusZero) {
  EXPECT_EQ(E4m3Fnuz::FromFloat(-1e-9f).bits(), 0x00);
  EXPECT_EQ(E5m2Fnuz::FromFloat(-1e-9f).bits(), 0x00);
  EXPECT_EQ(E4m3Fnuz::FromFloat(-0.0f).bits(), 0x00);
  EXPECT_EQ(E4m3Fnuz::FromDouble(-1e-300).bits(), 0x00);
}

TEST(ElementTest, NegativeUnderflowElsewhereIsMinusZero) {
  EXPECT_EQ(E4m3Fn::FromFloat(-1e-9f).bits(), 0x80);
  EXPECT_EQ(E5m2::FromFloat(-1e-9f).bits(), 0x80);
  EXPECT_EQ(E2m1::FromFloat(-1e-9f).bits(), 0x8);
  EXPECT_EQ(E2m3::FromFloat(-0.0f).bits(), 0x20);
  EXPECT_EQ(E3m2::FromFloat(-0.0f).bits(), 0x20);
  EXPECT_EQ(Bf16::FromDouble(-1e-300).bits(), 0x8000);
  EXPECT_EQ(F16::FromFloat(-1e-9f).bits(), 0x8000);
}

TEST(ElementTest, E2m1TiesAndSaturation) {
  EXPECT_EQ(E2m1::FromFloat(0.25f).ToFloat(), 0);
  EXPECT_EQ(E2m1::FromFloat(0.75f).ToFloat(), 1);
  EXPECT_EQ(E2m1::FromFloat(1.25f).ToFloat(), 1);
  EXPECT_EQ(E2m1::FromFloat(2.5f).ToFloat(), 2);
  EXPECT_EQ(E2m1::FromFloat(3.5f).ToFloat(), 4);
  EXPECT_EQ(E2m1::FromFloat(5).ToFloat(), 4);
  EXPECT_EQ(E2m1::FromFloat(-5).ToFloat(), -4);
  EXPECT_EQ(E2m1::FromFloat(7).ToFloat(), 6);
  EXPECT_EQ(E2m1::FromFloat(-kInf).ToFloat(), -6);
}

TEST(ElementTest, NanBecomesTheLargestWhereThereIsNone) {
  for (const float nan : {kNan, -kNan}) {
    EXPECT_EQ(E2m1::FromFloat(nan).ToFloat(), 6);
    EXPECT_EQ(E2m3::FromFloat(nan).ToFloat(), 7.5f);
    EXPECT_EQ(E3m2::FromFloat(nan).ToFloat(), 28);
  }
}

TEST(ElementTest, E8m0RoundsToTheNearestPowerOfTwo) {
  EXPECT_EQ(E8m0::FromFloat(1).bits(), 127);
  EXPECT_EQ(E8m0::FromFloat(1.49f).bits(), 127);
  EXPECT_EQ(E8m0::FromFloat(1.5f).bits(), 128);
  EXPECT_EQ(E8m0::FromFloat(3).bits(), 129);
  EXPECT_EQ(E8m0::FromFloat(0x1p-127f).bits(), 0);
  EXPECT_EQ(E8m0::FromFloat(0x1.4p-127f).bits(), 0);
  EXPECT_EQ(E8m0::FromFloat(0x1.8p-127f).bits(), 1);
  EXPECT_EQ(E8m0::FromFloat(0x1p-149f).bits(), 0);
  EXPECT_EQ(E8m0::FromFloat(0).bits(), 0);
  EXPECT_EQ(E8m0::FromFloat(-0.0f).bits(), 0);
  EXPECT_EQ(E8m0::FromFloat(0x1.7p127f).bits(), 254);
  EXPECT_EQ(E8m0::FromFloat(0x1.8p127f).bits(), 255);
  EXPECT_EQ(E8m0::FromFloat(0x1.8p127f, Overflow::kSaturate).bits(), 254);
  EXPECT_EQ(E8m0::FromFloat(kInf).bits(), 255);
  EXPECT_EQ(E8m0::FromFloat(kInf, Overflow::kSaturate).bits(), 254);
  for (const Overflow overflow : {Overflow::kNonFinite, Overflow::kSaturate}) {
    EXPECT_EQ(E8m0::FromFloat(-1, overflow).bits(), 255);
    EXPECT_EQ(E8m0::FromFloat(-0x1p-149f, overflow).bits(), 255);
    EXPECT_EQ(E8m0::FromFloat(-kInf, overflow).bits(), 255);
    EXPECT_EQ(E8m0::FromFloat(kNan, overflow).bits(), 255);
  }
}

// 1 + 2^-8 is a tie of bf16 that goes down to 1; 2^-40 more must send it up, but as a float the sum
// is the tie again.
TEST(ElementTest, DoublesAreRoundedOnce) {
  constexpr double kJustAboveTheTie = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(Bf16::FromDouble(kJustAboveTheTie).bits(), 0x3F81);
  EXPECT_EQ(Bf16::FromFloat(static_cast<float>(kJustAboveTheTie)).bits(), 0x3F80);
}

TEST(ElementTest, BitsAboveTheCodeAreIgnored) {
  EXPECT_EQ(E2m1::FromBits(0xF7).bits(), 0x7);
  EXPECT_EQ(E2m3::FromBits(0xC1).bits(), 0x01);
  EXPECT_EQ(E3m2::FromBits(0xFF).bits(), 0x3F);
}

TEST(ElementTest, PairsHoldTheEvenElementInTheLowNibble) {
  for (int low = 0; low < 16; ++low) {
    for (int high = 0; high < 16; ++high) {
      const std::uint8_t pair = PackE2m1(E2m1::FromBits(static_cast<std::uint8_t>(low)),
                                         E2m1::FromBits(static_cast<std::uint8_t>(high)));
      EXPECT_EQ(pair, low + 16 * high);
      EXPECT_EQ(LowNibble(pair).bits(), low);
      EXPECT_EQ(HighNibble(pair).bits(), high);
    }
  }
}

template <class Format>
class EveryElementTest : public testing::Test {};

struct NameOfFormat {
  template <class Format>
  static std::string GetName(int) {
    return Format::Spec().name;
  }
};

TYPED_TEST_SUITE(EveryElementTest, AllFormats<testing::Types>, NameOfFormat);

TYPED_TEST(EveryElementTest, IsJustItsBits) {
  EXPECT_TRUE(std::is_trivial_v<TypeParam>);
  EXPECT_TRUE(std::is_standard_layout_v<TypeParam>);
  EXPECT_EQ(sizeof(TypeParam), TypeParam::kBits > 8 ? 2u : 1u);
  EXPECT_EQ(sizeof(typename TypeParam::Bits), sizeof(TypeParam));
}

TYPED_TEST(EveryElementTest, ClassifiesEveryCode) {
  const NumberLine line = NumberLineOf(TypeParam::Spec().name);
  for (int code = 0; code < line.code_count(); ++code) {
    const double value = line.Decode(code);
    const auto element = TypeParam::FromBits(static_cast<typename TypeParam::Bits>(code));
    ASSERT_EQ(element.bits(), code);
    ASSERT_EQ(element.IsNan(), std::isnan(value)) << code;
    ASSERT_EQ(element.IsInf(), std::isinf(value)) << code;
    ASSERT_EQ(element.IsFinite(), std::isfinite(value)) << code;
    ASSERT_EQ(element.IsZero(), value == 0) << code;
    ASSERT_EQ(element.IsSubnormal(), value != 0 && std::fabs(value) < line.facts().smallest_normal)
        << code;
    const bool has_minus = line.facts().sign_bits == 1 && code >= line.code_count() / 2;
    ASSERT_EQ(element.IsNegative(), has_minus && !(line.facts().fnuz && std::isnan(value))) << code;
    ASSERT_EQ(std::signbit(element.ToFloat()), element.IsNegative()) << code;
  }
}

TYPED_TEST(EveryElementTest, LimitsAndNans) {
  const FormatFacts facts = NumberLineOf(TypeParam::Spec().name).facts();
  EXPECT_EQ(TypeParam::Largest().ToFloat(), facts.largest);
  EXPECT_EQ(TypeParam::Lowest().ToFloat(), facts.sign_bits == 1 ? -facts.largest : facts.smallest);
  EXPECT_EQ(TypeParam::kHasInf, facts.infinity >= 0);
  EXPECT_EQ(TypeParam::kHasNan, facts.nan >= 0);
  EXPECT_EQ(TypeParam::kHasZero, TypeParam::FromFloat(0).ToFloat() == 0);
  EXPECT_EQ(TypeParam::kHasNegativeZero, std::signbit(TypeParam::FromFloat(-0.0f).ToFloat()));
  if constexpr (TypeParam::kHasInf) {
    EXPECT_EQ(TypeParam::Infinity().bits(), facts.infinity);
  }
  if constexpr (TypeParam::kHasNan) {
    EXPECT_EQ(TypeParam::Nan().bits(), facts.nan);
  }
}

}  // namespace
}  // namespace lanewise
