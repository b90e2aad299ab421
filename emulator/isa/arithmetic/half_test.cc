// The portable conversions of halves, which the host's own instructions stand in for where it has
// them: every half, and floats at, between and beside all of them, in every rounding mode.

#include "emulator/isa/arithmetic/half.h"

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "emulator/isa/arithmetic/half_rows.h"
#include "formats/formats.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

float ValueOf(uint32_t half) { return F16::FromBits(static_cast<uint16_t>(half)).ToFloat(); }

std::vector<float> Floats() {
  std::vector<float> all = {0x1p-149f, 0x1p-126f, 0x1p-26f, 65519.996f, 65520.0f,
                            65536.0f,  1e6f,      3e38f,    INFINITY};
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const float here = ValueOf(half);
    const float next = half == 0x7bff ? 65536.0f : ValueOf(half + 1);
    for (float at : {here, (here + next) / 2}) {
      all.push_back(at);
      all.push_back(std::nextafter(at, 0.0f));
      all.push_back(std::nextafter(at, INFINITY));
    }
  }
  const size_t positive = all.size();
  for (size_t i = 0; i < positive; ++i) all.push_back(-all[i]);
  return all;
}

// The largest half that is no larger than a positive x, and the next one if x is not a half.
uint16_t Below(float x) {
  uint16_t bits = F16::FromFloat(x).bits();
  return ValueOf(bits) > x ? static_cast<uint16_t>(bits - 1) : bits;
}
uint16_t Expected(float x, int mode) {
  const bool negative = std::signbit(x);
  const float magnitude = std::fabs(x);
  const uint16_t sign = negative ? 0x8000 : 0;
  if (mode == FE_TONEAREST || std::isinf(x)) return F16::FromFloat(x).bits();
  const uint16_t below = Below(magnitude);
  const bool exact = ValueOf(below) == magnitude;
  const bool away = mode == (negative ? FE_DOWNWARD : FE_UPWARD);
  return static_cast<uint16_t>((away && !exact ? below + 1 : below) | sign);
}

TEST(HalfTest, EveryHalfToFloat) {
  for (uint32_t half = 0; half < 65536; ++half) {
    const float got = ToFloat(Half{static_cast<uint16_t>(half)});
    const float want = ValueOf(half);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << half;
    } else {
      ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(want)) << half;
      ASSERT_EQ(EncodeHalf(want).bits, half);
    }
  }
}

TEST(HalfTest, RoundsInEveryMode) {
  const std::vector<float> floats = Floats();
  std::vector<uint16_t> wanted(floats.size());
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    for (size_t i = 0; i < floats.size(); ++i) wanted[i] = Expected(floats[i], mode);
    std::vector<uint16_t> single(floats.size()), wide(floats.size());
    std::fesetround(mode);
    for (size_t i = 0; i < floats.size(); ++i) {
      single[i] = RoundToHalf(floats[i]).bits;
      wide[i] = RoundToHalf(double{floats[i]}).bits;
    }
    std::fesetround(FE_TONEAREST);
    for (size_t i = 0; i < floats.size(); ++i) {
      ASSERT_EQ(single[i], wanted[i]) << std::hexfloat << floats[i] << " mode " << mode;
      ASSERT_EQ(wide[i], wanted[i]) << std::hexfloat << floats[i] << " mode " << mode;
    }
  }
}

TEST(HalfTest, Truncates) {
  for (float x : Floats()) {
    ASSERT_EQ(TruncateToHalf(x).bits, Expected(x, FE_TOWARDZERO)) << std::hexfloat << x;
  }
  EXPECT_TRUE(F16::FromBits(TruncateToHalf(std::nanf("")).bits).IsNan());
  EXPECT_TRUE(F16::FromBits(RoundToHalf(std::nanf("")).bits).IsNan());
}

// Rows agree with the portable functions, whichever way the host converts them.
TEST(HalfTest, Rows) {
  const std::vector<float> floats = Floats();
  for (size_t first = 0; first + kLanes <= floats.size(); first += kLanes) {
    uint32_t rounded[kLanes], cut[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      rounded[lane] = cut[lane] = std::bit_cast<uint32_t>(floats[first + lane]);
    }
    FloatsToHalves(rounded);
    FloatsToHalvesTowardZero(cut);
    for (int lane = 0; lane < kLanes; ++lane) {
      ASSERT_EQ(rounded[lane], RoundToHalf(floats[first + lane]).bits) << floats[first + lane];
      ASSERT_EQ(cut[lane], TruncateToHalf(floats[first + lane]).bits) << floats[first + lane];
    }
    HalvesToFloats(rounded);
    for (int lane = 0; lane < kLanes; ++lane) {
      const Half half = RoundToHalf(floats[first + lane]);
      ASSERT_EQ(std::bit_cast<float>(rounded[lane]), ToFloat(half));
    }
  }
}

}  // namespace
}  // namespace lanewise::emulator
