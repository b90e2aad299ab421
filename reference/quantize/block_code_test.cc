#include "reference/quantize/block_code.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference {
namespace {

constexpr float kMaxima[] = {448.0f, 240.0f, 224.0f, 6.0f};

QuantizeOptions WithRule(BlockRule rule, float maximum, float amax_floor = 0.0f) {
  QuantizeOptions options;
  options.rule = rule;
  options.maximum = maximum;
  options.amax_floor = amax_floor;
  return options;
}

float FromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// Every positive finite bfloat16.
std::vector<float> PositiveBf16() {
  std::vector<float> values;
  for (std::uint32_t bits = 1; bits < 0x7F80; ++bits) values.push_back(FromBits(bits << 16));
  return values;
}

// All floats within 64 ulp of maximum * 2^k, for every k where that is a float.
std::vector<float> NearPowers(float maximum) {
  std::vector<float> values;
  for (int k = -140; k <= 127; ++k) {
    const float center = std::ldexp(maximum, k);
    if (!std::isfinite(center) || center == 0.0f) continue;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(center);
    for (std::uint32_t b = bits > 64 ? bits - 64 : 1; b <= bits + 64; ++b) {
      if (std::isfinite(FromBits(b))) values.push_back(FromBits(b));
    }
  }
  return values;
}

// Doubles hold maximum * 2^e exactly for every e that matters, so this is the definition itself.
int ExactCodeByDefinition(float amax, float maximum) {
  for (int code = 0; code <= 254; ++code) {
    if (amax <= std::ldexp(static_cast<double>(maximum), code - 127)) return code;
  }
  return 254;
}

TEST(BlockCode, ExactIsTheSmallestPowerOfTwoThatFits) {
  for (const float maximum : kMaxima) {
    const QuantizeOptions options = WithRule(BlockRule::kExact, maximum);
    std::vector<float> values = NearPowers(maximum);
    std::mt19937 random(1);
    for (int i = 0; i < 20000; ++i) values.push_back(FromBits(random() % 0x7F800000u));
    for (const float amax : values) {
      ASSERT_EQ(BlockCode(amax, options), ExactCodeByDefinition(amax, maximum))
          << "amax " << amax << " maximum " << maximum;
    }
    ASSERT_EQ(BlockCode(0.0f, options), 0);
  }
}

// ceil of log2 in 64-bit extended precision, rounded to float32. The extended logarithm is within
// 2^-60 relative; the checks that no value is that close to where float32 rounding turns make
// the second rounding right.
int CeilRoundedLog2ByLongDouble(float x) {
  const long double log = std::log2(static_cast<long double>(x));
  const float rounded = static_cast<float>(log);
  const float up = std::nextafter(rounded, std::numeric_limits<float>::infinity());
  const float down = std::nextafter(rounded, -std::numeric_limits<float>::infinity());
  for (const float neighbour : {up, down}) {
    const long double middle = (static_cast<long double>(rounded) + neighbour) / 2;
    EXPECT_GT(std::fabs(log - middle), std::fabs(log) * 0x1p-55L) << x;
  }
  return static_cast<int>(std::ceil(rounded));
}

TEST(BlockCode, CeilRoundedLog2RoundsCorrectly) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "needs extended precision";
  for (int e = -149; e <= 127; ++e) {
    const float power = std::ldexp(1.0f, e);
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(power);
    for (int t = -64; t <= 64; ++t) {
      const std::int64_t b = static_cast<std::int64_t>(bits) + t;
      if (b < 1 || b >= 0x7F800000) continue;
      const float x = FromBits(static_cast<std::uint32_t>(b));
      ASSERT_EQ(CeilRoundedLog2(x), CeilRoundedLog2ByLongDouble(x)) << "e " << e << " t " << t;
    }
  }
  std::mt19937 random(2);
  for (int i = 0; i < 200000; ++i) {
    const float x = FromBits(1 + random() % 0x7F7FFFFFu);
    ASSERT_EQ(CeilRoundedLog2(x), CeilRoundedLog2ByLongDouble(x)) << x;
  }
}

TEST(BlockCode, RoundedLog2IsTheFloat32Formula) {
  for (const float maximum : kMaxima) {
    const QuantizeOptions options = WithRule(BlockRule::kRoundedLog2, maximum, 0x1p-126f);
    for (const float amax : NearPowers(maximum)) {
      const float quotient = std::max(amax, 0x1p-126f) / maximum;
      const float sum = static_cast<float>(CeilRoundedLog2ByLongDouble(quotient)) + 127.0f;
      ASSERT_EQ(BlockCode(amax, options), std::fmin(std::fmax(sum, 0.0f), 254.0f))
          << "amax " << amax << " maximum " << maximum;
    }
  }
}

// Where and how kRoundedLog2 departs from kExact: below it by one, only for amax above maximum *
// 2^k by no more than SwallowedUlps(k) ulps of the quotient, which is 39 of amax at the very most.
TEST(BlockCode, ExactAndRoundedLog2PartOnlyJustAboveThePowers) {
  for (const float maximum : kMaxima) {
    const float significand = std::ldexp(maximum, -std::ilogb(maximum));
    std::int64_t farthest = 0;
    std::int64_t farthest_near_one = 0;
    for (int k = -126; k <= 127; ++k) {
      const float center = std::ldexp(maximum, k);
      if (!std::isfinite(center) || center < 0x1p-126f) continue;
      for (std::int64_t ulps = -200; ulps <= 200; ++ulps) {
        const float amax = FromBits(std::bit_cast<std::uint32_t>(center) + ulps);
        if (!std::isfinite(amax)) continue;
        const int exact = BlockCode(amax, WithRule(BlockRule::kExact, maximum));
        const int rounded = BlockCode(amax, WithRule(BlockRule::kRoundedLog2, maximum));
        // The quotient is 2^k (1 + t 2^-23); t = ulps / significand, rounded, is never a tie.
        const std::int64_t t = std::llround(static_cast<double>(ulps) / significand);
        const bool parts = ulps > 0 && t <= SwallowedUlps(k) && exact > 0;
        ASSERT_EQ(rounded, exact - (parts ? 1 : 0)) << maximum << " * 2^" << k << " + " << ulps;
        if (parts) farthest = std::max(farthest, ulps);
        if (parts && k >= -16 && k < 16) farthest_near_one = std::max(farthest_near_one, ulps);
      }
    }
    if (maximum == 448.0f) {
      EXPECT_EQ(farthest, 39);
      EXPECT_EQ(farthest_near_one, 4);
    }
  }
}

// A whole binade of float32 around each of some powers, not just the neighbourhood of the edge.
TEST(BlockCode, ExactAndRoundedLog2AgreeInsideABinade) {
  const QuantizeOptions exact = WithRule(BlockRule::kExact, 448.0f);
  const QuantizeOptions rounded = WithRule(BlockRule::kRoundedLog2, 448.0f);
  for (const int exponent : {-120, 0, 8}) {
    const std::uint32_t begin = std::bit_cast<std::uint32_t>(std::ldexp(1.0f, exponent));
    const std::uint32_t edge = begin + 0x600000;  // 1.75 * 2^exponent = 448 * 2^(exponent - 8)
    for (std::uint32_t bits = begin; bits < begin + 0x800000; ++bits) {
      if (bits >= edge && bits <= edge + 39) continue;
      ASSERT_EQ(BlockCode(FromBits(bits), exact), BlockCode(FromBits(bits), rounded)) << bits;
    }
  }
}

int CeilField(float v) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<int>(bits >> 23) + ((bits & 0x7FFFFF) != 0 ? 1 : 0);
}

// On bfloat16 amax with a normal quotient all ceiling rules are one: dividing or multiplying by the
// reciprocal, the exponent field or the logarithm.
TEST(BlockCode, CeilingRulesAgreeOnBf16) {
  for (const float maximum : kMaxima) {
    for (const float amax : PositiveBf16()) {
      if (amax / maximum < 0x1p-126f) continue;
      const int exact = BlockCode(amax, WithRule(BlockRule::kExact, maximum));
      ASSERT_EQ(CeilField(amax / maximum), exact) << amax << " / " << maximum;
      ASSERT_EQ(BlockCode(amax, WithRule(BlockRule::kRoundUp, maximum)), exact) << amax;
      ASSERT_EQ(BlockCode(amax, WithRule(BlockRule::kRoundedLog2, maximum)), exact) << amax;
      ASSERT_EQ(std::ceil(std::log2(amax / maximum)) + 127.0f, exact) << amax;
    }
  }
}

// On float32 the exponent field of the divided amax is kExact still: one ulp of amax above maximum
// * 2^k is more than half an ulp of the quotient. Subnormal quotients aside, gfx942's dense GEMV
// rule is that.
TEST(BlockCode, DividedCeilingIsExactOnFloat32) {
  for (const float maximum : kMaxima) {
    for (const float amax : NearPowers(maximum)) {
      if (amax / maximum < 0x1p-126f) continue;
      ASSERT_EQ(CeilField(amax / maximum), BlockCode(amax, WithRule(BlockRule::kExact, maximum)))
          << amax << " / " << maximum;
    }
  }
}

// A maximum of 224 is 448 / 2, so the codes of gfx942's FNUZ activations are OCP's plus one.
TEST(BlockCode, Fnuz224IsOcpPlusOne) {
  for (const float amax : PositiveBf16()) {
    if (amax / 448.0f < 0x1p-126f) continue;
    ASSERT_EQ(BlockCode(amax, WithRule(BlockRule::kExact, 224.0f)),
              BlockCode(amax, WithRule(BlockRule::kExact, 448.0f)) + 1)
        << amax;
  }
}

// The rounded product by the rounded reciprocal is 1 exactly where amax is maximum * 2^k, and it
// grows with amax: so on every float32 with a normal product kRoundUp is kExact.
TEST(BlockCode, RoundUpIsExactOnFloat32) {
  // 1 / 6 as the FP4 quantizers spell it.
  ASSERT_EQ(std::bit_cast<std::uint32_t>(1.0f / 6.0f), 0x3E2AAAABu);
  for (const float maximum : kMaxima) {
    const QuantizeOptions options = WithRule(BlockRule::kRoundUp, maximum);
    for (const float amax : NearPowers(maximum)) {
      if (amax * (1.0f / maximum) < 0x1p-126f) {
        ASSERT_LE(BlockCode(amax, options), 1) << amax;
        continue;
      }
      ASSERT_EQ(BlockCode(amax, options), BlockCode(amax, WithRule(BlockRule::kExact, maximum)))
          << amax << " / " << maximum;
    }
    // Subnormal products: 1, zero: 0.
    EXPECT_EQ(BlockCode(1e-40f, options), 1);
    EXPECT_EQ(BlockCode(0.0f, options), 0);
  }
}

TEST(BlockCode, FloorIsOcp) {
  for (const auto& [maximum, emax] : {std::pair(448.0f, 8), {240.0f, 7}, {6.0f, 2}}) {
    const QuantizeOptions options = WithRule(BlockRule::kFloor, maximum);
    for (const float amax : NearPowers(1.0f)) {
      const int expected = std::clamp(std::ilogb(amax) - emax + 127, 0, 254);
      ASSERT_EQ(BlockCode(amax, options), expected) << amax << " maximum " << maximum;
    }
    EXPECT_EQ(BlockCode(0.0f, options), 0);
  }
}

TEST(BlockCode, EvenRoundsTheSignificandToOneBitHalfUp) {
  for (const auto& [maximum, emax] : {std::pair(448.0f, 8), {6.0f, 2}}) {
    const QuantizeOptions options = WithRule(BlockRule::kEven, maximum);
    for (const float amax : PositiveBf16()) {
      if (amax < 0x1p-126f) continue;
      const int e = std::ilogb(amax);
      const double rounded = std::floor(std::ldexp(static_cast<double>(amax), 1 - e) + 0.5);
      const int expected = std::clamp(e + (rounded >= 4.0 ? 1 : 0) - emax + 127, 0, 254);
      ASSERT_EQ(BlockCode(amax, options), expected) << amax << " maximum " << maximum;
    }
  }
}

// With FP8 that rule is the ceiling of amax / 448 but at amax = 1.75 * 2^e, where it is one more.
TEST(BlockCode, EvenWith448DiffersFromExactAtOneSignificand) {
  for (const float amax : PositiveBf16()) {
    if (amax < 0x1p-118f) continue;  // Codes that the clamp moves.
    const bool edge = (std::bit_cast<std::uint32_t>(amax) & 0x7FFFFF) == 0x600000;
    ASSERT_EQ(BlockCode(amax, WithRule(BlockRule::kEven, 448.0f)),
              BlockCode(amax, WithRule(BlockRule::kExact, 448.0f)) + (edge ? 1 : 0))
        << amax;
  }
}

TEST(BlockCode, FloorAndSmallestCodeApply) {
  QuantizeOptions options = WithRule(BlockRule::kRoundUp, 224.0f, 1e-10f);
  options.smallest_code = 1;
  EXPECT_EQ(BlockCode(0.0f, options), 86);  // What gfx942's routed experts give a zero block,
  options.maximum = 448.0f;
  EXPECT_EQ(BlockCode(0.0f, options), 85);  // and gfx950's.
  options.amax_floor = 0x1p-126f;
  EXPECT_EQ(BlockCode(0.0f, options), 1);
  options.smallest_code = 0;
  options.rule = BlockRule::kExact;
  EXPECT_EQ(BlockCode(0.0f, options), 0);
}

TEST(BlockCode, NonFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const BlockRule rule : {BlockRule::kExact, BlockRule::kRoundedLog2, BlockRule::kFloor,
                               BlockRule::kEven, BlockRule::kRoundUp}) {
    QuantizeOptions options = WithRule(rule, 448.0f);
    EXPECT_EQ(BlockCode(nan, options), 255);
    EXPECT_EQ(BlockCode(infinity, options), 255);
    options.non_finite = NonFinite::kSaturate;
    EXPECT_EQ(BlockCode(nan, options), 255);
    EXPECT_EQ(BlockCode(infinity, options), 254);
    EXPECT_LE(BlockCode(std::numeric_limits<float>::max(), options), 254);
  }
}

}  // namespace
}  // namespace lanewise::reference
