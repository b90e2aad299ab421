#include "reference/gemm/activation.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>

#include "gtest/gtest.h"
#include "reference/gemm/hardware_math.h"
#include "reference/gemm/output.h"

namespace lanewise::reference {
namespace {

// `value` rounded to float32, and whether it is far enough from where rounding turns for an error
// of a few extended units in the last place not to matter.
struct Expected {
  float nearest;
  bool certain;
};
Expected Round(long double value) {
  const float nearest = static_cast<float>(value);
  if (std::isinf(value) || value == 0) return {nearest, true};
  const long double error = std::fabs(value) * 0x1p-60L;
  return {nearest, static_cast<float>(value - error) == nearest &&
                       static_cast<float>(value + error) == nearest};
}

template <class Function, class Wide>
void CheckNearest(Function function, Wide wide, float x, int* uncertain) {
  const Expected expected = Round(wide(static_cast<long double>(x)));
  if (!expected.certain) {
    ++*uncertain;
    return;
  }
  ASSERT_EQ(std::bit_cast<std::uint32_t>(function(x)),
            std::bit_cast<std::uint32_t>(expected.nearest))
      << "of " << x << ": " << function(x) << ", expected " << expected.nearest;
}

// Random floats, by default a few of each exponent; in the nightly configuration very many.
template <class Function, class Wide>
void CheckNearestAtRandom(Function function, Wide wide, bool negative_too) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "needs extended precision";
  const std::int64_t draws = std::getenv("LANEWISE_NIGHTLY") != nullptr ? 40'000'000 : 400'000;
  std::mt19937 random(61);
  int uncertain = 0;
  for (std::int64_t i = 0; i < draws; ++i) {
    std::uint32_t bits = random() & (negative_too ? 0xFFFFFFFF : 0x7FFFFFFF);
    // Mostly magnitudes from 2^-30 to 2^8, where the functions are not trivial.
    if (i % 8 != 0) bits = (bits & 0x807FFFFF) | ((97 + bits / 7919 % 38) << 23);
    const float x = std::bit_cast<float>(bits);
    if (!std::isfinite(x) || x == 0.0f) continue;
    CheckNearest(function, wide, x, &uncertain);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_LT(uncertain, 1 + draws / 1'000'000);
}

TEST(HardwareMath, Exp2IsTheNearest) {
  CheckNearestAtRandom(Exp2, [](long double x) { return std::exp2(x); }, true);
}
TEST(HardwareMath, ExpIsTheNearest) {
  CheckNearestAtRandom(Exp, [](long double x) { return std::exp(x); }, true);
}
TEST(HardwareMath, Log2IsTheNearest) {
  CheckNearestAtRandom(Log2, [](long double x) { return std::log2(x); }, false);
}

TEST(HardwareMath, Log2NearOne) {
  if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "needs extended precision";
  int uncertain = 0;
  for (std::uint32_t bits = 0x3F7F0000; bits < 0x3F810000; ++bits) {
    CheckNearest(
        Log2, [](long double x) { return std::log2(x); }, std::bit_cast<float>(bits), &uncertain);
  }
  EXPECT_LT(uncertain, 3);
}

TEST(HardwareMath, PowersOfTwoAreExact) {
  for (int e = -149; e <= 127; ++e) {
    EXPECT_EQ(Exp2(static_cast<float>(e)), std::ldexp(1.0f, e)) << e;
    EXPECT_EQ(Log2(std::ldexp(1.0f, e)), static_cast<float>(e)) << e;
  }
}

TEST(HardwareMath, Ends) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp2(128.0f), infinity);
  EXPECT_EQ(Exp2(-150.0f), 0.0f);
  EXPECT_EQ(Exp2(std::nextafter(-150.0f, 0.0f)), 0x1p-149f);
  EXPECT_EQ(Exp2(-infinity), 0.0f);
  EXPECT_EQ(Exp2(infinity), infinity);
  EXPECT_EQ(Exp(infinity), infinity);
  EXPECT_EQ(Exp(-infinity), 0.0f);
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Log2(0.0f), -infinity);
  EXPECT_EQ(Log2(infinity), infinity);
  EXPECT_TRUE(std::isnan(Log2(-1.0f)));
  EXPECT_TRUE(std::isnan(Exp2(NAN)) && std::isnan(Exp(NAN)) && std::isnan(Log2(NAN)));
  EXPECT_EQ(Reciprocal(infinity), 0.0f);
}

// The true value of the formula, in extended precision.
long double TrueSwiglu(const Swiglu& swiglu, float gate, float up) {
  const long double g = std::min(gate, swiglu.limit);
  const long double u = std::min(std::max(up, -swiglu.limit), swiglu.limit);
  return g / (1 + std::exp(-static_cast<long double>(swiglu.alpha) * g)) *
         (u + static_cast<long double>(swiglu.up_offset));
}

// Within a bf16 rounding (2^-8) and a handful of float32 ones of the formula; the exponent's own
// rounding counts |t| times.
TEST(Activation, IsTheFormula) {
  std::mt19937 random(62);
  std::normal_distribution<float> normal(0.0f, 6.0f);
  for (int i = 0; i < 100000; ++i) {
    const float gate = normal(random);
    const float up = normal(random);
    for (const Swiglu& swiglu : {kDeepSeekSwiglu, kGptOssSwiglu}) {
      const long double expected = TrueSwiglu(swiglu, gate, up);
      const float y = Activate(swiglu, gate, up).ToFloat();
      const long double steps = 0x1p-8L + 0x1p-22L * (8 + 2 * std::fabs(gate));
      ASSERT_LE(std::fabs(y - expected), std::fabs(expected) * steps) << gate << " " << up;
    }
  }
}

TEST(Activation, Limits) {
  EXPECT_EQ(Activate(kDeepSeekSwiglu, 50.0f, 50.0f).ToFloat(),
            Activate(kDeepSeekSwiglu, 10.0f, 10.0f).ToFloat());
  EXPECT_EQ(Activate(kDeepSeekSwiglu, 10.0f, -50.0f).ToFloat(),
            -Activate(kDeepSeekSwiglu, 10.0f, 10.0f).ToFloat());
  EXPECT_EQ(Activate(kGptOssSwiglu, 7.0f, -50.0f).ToFloat(),
            RoundToBf16(-6.0f * 7.0f / (1.0f + std::exp(-1.702f * 7.0f))).ToFloat());
  EXPECT_EQ(Activate(kDeepSeekSwiglu, -1000.0f, 3.0f).ToFloat(), 0.0f);
  EXPECT_EQ(Activate(kDeepSeekSwiglu, 0.0f, 3.0f).ToFloat(), 0.0f);
}

TEST(Activation, NanIsNotClampedAway) {
  EXPECT_TRUE(Activate(kDeepSeekSwiglu, NAN, 1.0f).IsNan());
  EXPECT_TRUE(Activate(kDeepSeekSwiglu, 1.0f, NAN).IsNan());
  EXPECT_TRUE(ActivateSharedExpert(kDeepSeekSwiglu, Bf16::Nan(), Bf16::FromFloat(1.0f)).IsNan());
  EXPECT_TRUE(ActivationRange(kGptOssSwiglu, NAN, 1.0f).Contains(Bf16::Nan()));
}

// Any mix of approximations in their bound lands in the range, and the range is at most two steps
// of bf16.
TEST(Activation, RangeHoldsEveryApproximation) {
  std::mt19937 random(63);
  std::normal_distribution<float> normal(0.0f, 8.0f);
  const float log2e = std::bit_cast<float>(std::uint32_t{0x3FB8AA3B});
  int wide = 0;
  for (int i = 0; i < 20000; ++i) {
    const float gate = normal(random);
    const float up = normal(random);
    const Bf16Range range = ActivationRange(kDeepSeekSwiglu, gate, up);
    ASSERT_TRUE(range.Contains(Activate(kDeepSeekSwiglu, gate, up)));
    const float g = std::min(gate, 10.0f);
    const auto nudge = [&](float value) {
      const float to = random() % 2 == 0 ? 0.0f : std::numeric_limits<float>::infinity();
      return random() % 3 == 0 ? value : std::nextafter(value, to);
    };
    const float reciprocal = nudge(1.0f / (1.0f + nudge(Exp2(-g * log2e))));
    const Bf16 y = RoundToBf16(g * reciprocal * std::min(std::max(up, -10.0f), 10.0f));
    ASSERT_TRUE(range.Contains(y)) << gate << " " << up;
    wide += range.low.bits() != range.high.bits();
    ASSERT_LE(std::abs(range.low.bits() - range.high.bits()), 2) << gate << " " << up;
  }
  EXPECT_LT(wide, 200);  // Rare: only where y is at a rounding edge.
}

TEST(Activation, SharedExpertRoundsOnTheWay) {
  std::mt19937 random(64);
  std::normal_distribution<float> normal(0.0f, 6.0f);
  for (int i = 0; i < 100000; ++i) {
    const Bf16 gate = RoundToBf16(normal(random));
    const Bf16 up = RoundToBf16(normal(random));
    for (const Swiglu& swiglu : {kDeepSeekSwiglu, kGptOssSwiglu}) {
      const float g = std::min(gate.ToFloat(), swiglu.limit);
      const long double t = static_cast<long double>(swiglu.alpha) * g;
      const long double silu = g / (1 + std::exp(-t));
      const Bf16 y = ActivateSharedExpert(swiglu, gate, up);
      // Up to the float32 roundings inside, of which t's counts |t| times, a is silu's bf16.
      const long double step = 0x1p-22L * (2 + std::fabs(t));
      const float u = std::min(std::max(up.ToFloat(), -swiglu.limit), swiglu.limit);
      const auto end = [&](long double value) {
        const Bf16 activated = RoundToBf16(static_cast<float>(value));
        return RoundToBf16(activated.ToFloat() * (u + swiglu.up_offset)).ToFloat();
      };
      const float low = end(silu * (1 - step)), high = end(silu * (1 + step));
      ASSERT_LE(std::min(low, high), y.ToFloat()) << gate.ToFloat() << " " << up.ToFloat();
      ASSERT_GE(std::max(low, high), y.ToFloat()) << gate.ToFloat() << " " << up.ToFloat();
    }
  }
}

}  // namespace
}  // namespace lanewise::reference
