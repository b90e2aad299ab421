#include "reference/exact/accumulator.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "reference/exact/rounding.h"
#include "reference/exact/wide_number.h"

namespace lanewise {
namespace {

using Random = std::mt19937_64;

constexpr double kInf = std::numeric_limits<double>::infinity();

bool Nightly() { return std::getenv("LANEWISE_NIGHTLY") != nullptr; }

int Below(Random& random, int n) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(n));
}

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }

// The bf16 bits of a number that bf16 holds.
std::uint16_t Bf16Bits(float x) { return static_cast<std::uint16_t>(Bits(x) >> 16); }

// +-significand * 2^exponent, the significand of up to 53 bits: random, a power of two, or one
// less.
double DrawNumber(Random& random, int lowest, int highest) {
  const int exponent = lowest + Below(random, highest - lowest + 1);
  const int bits = 1 + Below(random, 53);
  std::uint64_t significand = (random() >> (64 - bits)) | std::uint64_t{1} << (bits - 1);
  if (Below(random, 4) == 0) significand = std::uint64_t{1} << (bits - 1);
  if (Below(random, 4) == 0) significand = (std::uint64_t{1} << bits) - 1;
  const double sign = random() % 2 == 0 ? 1 : -1;
  return sign * std::ldexp(static_cast<double>(significand), exponent - bits + 1);
}

TEST(ExactAccumulator, RoundsTheTrueSumOnce) {
  const int draws = Nightly() ? 3'000'000 : 60'000;
  ExactAccumulator accumulator;
  for (int seed = 0; seed < draws; ++seed) {
    Random random(seed);
    // All of float32's range and beyond, or a range where the terms meet.
    const bool wide = Below(random, 3) == 0;
    const int lowest = wide ? -500 : -160 + Below(random, 290);
    const int highest = wide ? 500 : lowest + Below(random, 90);
    accumulator.Clear();
    WideNumber sum;
    const int terms = 1 + Below(random, 12);
    std::vector<double> added;
    for (int i = 0; i < terms; ++i) {
      // Some terms take back an earlier one.
      const double value = !added.empty() && Below(random, 3) == 0
                               ? -added[Below(random, static_cast<int>(added.size()))]
                               : DrawNumber(random, lowest, highest);
      added.push_back(value);
      sum = sum + WideNumber(value);
      const int shift = Below(random, 400) - 200;
      if (Below(random, 2) == 0) {
        accumulator.AddDouble(std::ldexp(value, -shift), shift);
      } else {
        int exponent = 0;
        const double fraction = std::frexp(value, &exponent);
        accumulator.Add(static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53);
      }
    }
    ASSERT_EQ(Bits(accumulator.ToFloat()), Bits(sum.RoundTo(24))) << "seed " << seed;
    ASSERT_EQ(accumulator.ToBf16Bits(), Bf16Bits(sum.RoundTo(8))) << "seed " << seed;
  }
}

// Rounding to bf16 is not rounding to float32 first: 1 + 2^-8 + 2^-40 lies above the tie, but
// float32 drops the last term.
TEST(ExactAccumulator, RoundsToBf16Directly) {
  ExactAccumulator accumulator;
  for (const double term : {1.0, 0x1p-8, 0x1p-40}) accumulator.AddDouble(term);
  EXPECT_EQ(accumulator.ToFloat(), 1 + 0x1p-8f);
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x3F81);
  accumulator.AddDouble(-0x1p-40);
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x3F80);
  accumulator.AddDouble(-0x1p-40);
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x3F80);
}

TEST(ExactAccumulator, HoldsTheSmallestAndTheLargestTerms) {
  ExactAccumulator accumulator;
  // bf16 x bf16 with two scales, both ends at once, each term with its negative but for the small
  // one.
  const double smallest = std::ldexp(1, -520);
  const double largest = std::ldexp(0x1.FEp0 * 0x1.FEp0, 254 + 254);
  accumulator.AddDouble(largest);
  accumulator.AddDouble(smallest);
  accumulator.AddDouble(-largest);
  EXPECT_EQ(accumulator.ToFloat(), 0.0f);
  EXPECT_FALSE(std::signbit(accumulator.ToFloat()));
  // What is left is 2^-520 exactly: 2^400 times it is a float.
  for (int i = 0; i < 400; ++i) {
    ExactAccumulator twice;
    twice.AddDouble(smallest, i);
    EXPECT_EQ(twice.ToFloat(), std::ldexp(1.0f, -520 + i)) << i;
  }
  // float32 x float32 with two scales.
  accumulator.Clear();
  accumulator.AddDouble(0x1p-298, -254);
  accumulator.AddDouble(0x1p-298, -254);
  accumulator.AddDouble(-0x1p-297, -254);
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0u);
  accumulator.AddDouble(0x1p-149);
  EXPECT_EQ(accumulator.ToFloat(), 0x1p-149f);
}

TEST(ExactAccumulator, RefusesTermsOutOfRange) {
  ExactAccumulator accumulator;
  accumulator.Add(1, -641);
  EXPECT_TRUE(std::isnan(accumulator.ToFloat()));
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x7FC0);
  accumulator.Clear();
  accumulator.Add(1, 1000);
  EXPECT_TRUE(std::isnan(accumulator.ToFloat()));
  accumulator.Clear();
  accumulator.Add(1, -640);
  accumulator.Add(0, 1000);
  EXPECT_EQ(accumulator.ToFloat(), 0.0f);
}

TEST(ExactAccumulator, KeepsNanAndInfApart) {
  ExactAccumulator accumulator;
  accumulator.AddDouble(kInf);
  accumulator.AddDouble(-0x1p400);
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0x7F800000u);
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x7F80);
  accumulator.AddInfinity(/*negative=*/true);
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0x7FC00000u);
  accumulator.Clear();
  accumulator.AddDouble(-kInf);
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0xFF800000u);
  EXPECT_EQ(accumulator.ToBf16Bits(), 0xFF80);
  accumulator.AddDouble(std::nan(""));
  EXPECT_EQ(accumulator.ToBf16Bits(), 0x7FC0);
  accumulator.Clear();
  accumulator.AddNan();
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0x7FC00000u);
  accumulator.Clear();
  EXPECT_EQ(Bits(accumulator.ToFloat()), 0u);
}

// Sums that need more digits than any of their terms.
TEST(ExactAccumulator, CarriesAboveItsTerms) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  for (int exponent = -40; exponent < 40; ++exponent) {
    ExactAccumulator accumulator;
    for (int i = 0; i < 64; ++i) accumulator.Add(kLowest, exponent);
    EXPECT_EQ(accumulator.ToFloat(), -std::ldexp(1.0f, 69 + exponent)) << exponent;
    for (int i = 0; i < 192; ++i) accumulator.Add(-(kLowest + 1), exponent);
    // 128 2^63 - 192
    EXPECT_EQ(accumulator.ToFloat(), std::ldexp(1.0f, 70 + exponent)) << exponent;
  }
}

// Terms with all ones in their digits, past several carries, and at night more than a word holds.
TEST(ExactAccumulator, CarriesBeforeAWordIsFull) {
  const std::int64_t terms = (std::int64_t{1} << (Nightly() ? 31 : 25)) + (1 << 20);
  constexpr std::int64_t kOnes = (std::int64_t{1} << 62) - 1;
  ExactAccumulator accumulator;
  for (std::int64_t i = 0; i < terms; ++i) accumulator.Add(-kOnes, -62);
  // -terms (1 - 2^-62)
  EXPECT_EQ(accumulator.ToFloat(), -static_cast<float>(terms));
  accumulator.AddDouble(static_cast<double>(terms));
  EXPECT_EQ(accumulator.ToFloat(), std::ldexp(static_cast<float>(terms), -62));
}

TEST(AddRounded, RoundsOnce) {
  const int draws = Nightly() ? 10'000'000 : 300'000;
  for (int seed = 0; seed < draws; ++seed) {
    Random random(seed);
    const int centre = -170 + Below(random, 310);
    const auto accumulator = static_cast<float>(DrawNumber(random, centre - 40, centre + 40));
    double addend = DrawNumber(random, centre - 70, centre + 70);
    // Exactly at ties, and a last place of the double beside them.
    if (Below(random, 4) == 0) addend = std::ldexp(accumulator, -24 - Below(random, 3));
    if (addend != 0 && Below(random, 4) == 0) {
      addend = std::nextafter(addend, Below(random, 2) == 0 ? kInf : -kInf);
    }
    if (Below(random, 16) == 0) addend = -accumulator;
    if (!std::isfinite(accumulator)) continue;
    const float expected = (WideNumber(accumulator) + WideNumber(addend)).RoundTo(24);
    ASSERT_EQ(Bits(AddRounded(accumulator, addend)), Bits(expected))
        << absl::StrFormat("seed %d: %a + %a", seed, accumulator, addend);
    const int exponent = Below(random, 1000) - 500;
    ASSERT_EQ(Bits(AddScaled(accumulator, std::ldexp(addend, -exponent), exponent)), Bits(expected))
        << absl::StrFormat("seed %d: %a + %a", seed, accumulator, addend);
  }
}

TEST(AddRounded, ZerosAndNonFinite) {
  EXPECT_EQ(Bits(AddRounded(-0.0f, -0.0)), 0u);
  EXPECT_EQ(Bits(AddRounded(1, -1)), 0u);
  EXPECT_EQ(AddRounded(1, kInf), kInf);
  EXPECT_EQ(AddRounded(-std::numeric_limits<float>::infinity(), 1e300), -kInf);
  EXPECT_TRUE(std::isnan(AddRounded(std::numeric_limits<float>::infinity(), -kInf)));
  EXPECT_TRUE(std::isnan(AddRounded(0, std::nan(""))));
  // Half of the last place above the largest float is Inf, anything less is not.
  EXPECT_EQ(AddRounded(0x1.FFFFFEp127f, 0x1p103), kInf);
  EXPECT_EQ(AddRounded(0x1.FFFFFEp127f, 0x1.FFFFFFFFFFFFFp102), 0x1.FFFFFEp127f);
}

}  // namespace
}  // namespace lanewise
