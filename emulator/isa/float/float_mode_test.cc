// MODE's rounding and denormal fields, and output modifiers, on floats and doubles.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

class FloatModeTest : public InstructionTest {};

// Each directed rounding of 1 + 2^-30 and of its negative, and the nearest.
TEST_P(FloatModeTest, RoundingModes) {
  struct {
    uint32_t mode;
    float positive, negative;
  } const kCases[] = {
      {0, 1.0f, -1.0f}, {1, 0x1.000002p0f, -1.0f}, {2, 1.0f, -0x1.000002p0f}, {3, 1.0f, -1.0f}};
  for (const auto& test : kCases) {
    wave_->mode.bits = 0x3f0 | test.mode;
    for (int lane = 0; lane < kLanes; ++lane) {
      SetF32(1, lane, lane % 2 == 0 ? 1.0f : -1.0f);
      SetF32(4, lane, lane % 2 == 0 ? 0x1p-30f : -0x1p-30f);
    }
    Run("v_add_f32 v0, v1, v4\nv_fma_f32 v8, v1, 1.0, v4");
    for (int lane = 0; lane < kLanes; ++lane) {
      const float expected = lane % 2 == 0 ? test.positive : test.negative;
      ASSERT_EQ(F32(0, lane), expected) << "mode " << test.mode;
      ASSERT_EQ(F32(8, lane), expected) << "mode " << test.mode;
    }
    // The field above is that of f16 and f64.
    wave_->mode.bits = 0x3f0 | test.mode << 2;
    for (int lane = 0; lane < kLanes; ++lane) {
      Set64(2, lane, std::bit_cast<uint64_t>(lane % 2 == 0 ? 1.0 : -1.0));
      Set64(12, lane, std::bit_cast<uint64_t>(lane % 2 == 0 ? 0x1p-60 : -0x1p-60));
    }
    Run("v_add_f64 v[8:9], v[2:3], v[12:13]\nv_add_f32 v0, v1, v4");
    for (int lane = 0; lane < kLanes; ++lane) {
      const double step = 0x1p-52;
      const double wanted =
          lane % 2 == 0 ? (test.mode == 1 ? 1 + step : 1) : (test.mode == 2 ? -1 - step : -1);
      ASSERT_EQ(std::bit_cast<double>(Get64(8, lane)), wanted) << "mode " << test.mode;
      ASSERT_EQ(F32(0, lane), lane % 2 == 0 ? 1.0f : -1.0f) << "mode " << test.mode;
    }
  }
}

TEST_P(FloatModeTest, DenormalModes) {
  Set(1, 0, 0x00400000);  // 2^-127
  SetF32(4, 0, 1.0f);
  Set(1, 1, 0x00800000);  // 2^-126
  SetF32(4, 1, 0.5f);
  struct {
    uint32_t mode, first, second;
  } const kCases[] = {{0x3f0, 0x00400000, 0x00400000},  // all kept
                      {0x3d0, 0, 0},                    // outputs flushed
                      {0x3e0, 0, 0x00400000},           // inputs flushed
                      {0x3c0, 0, 0}};
  for (const auto& test : kCases) {
    wave_->mode.bits = test.mode;
    Run("v_mul_f32 v0, v1, v4");
    EXPECT_EQ(Get(0, 0), test.first) << std::hex << test.mode;
    EXPECT_EQ(Get(0, 1), test.second) << std::hex << test.mode;
  }
  wave_->mode.bits = 0x300;  // f64 and f16 too
  Set64(2, 0, 1);
  Set64(12, 0, std::bit_cast<uint64_t>(1.0));
  Run("v_add_f64 v[8:9], v[2:3], v[12:13]\nv_mul_f64 v[16:17], -v[2:3], v[12:13]");
  EXPECT_EQ(Get64(8, 0), std::bit_cast<uint64_t>(1.0));
  EXPECT_EQ(Get64(16, 0), uint64_t{1} << 63);
}

TEST_P(FloatModeTest, OutputModifiers) {
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(1, lane, static_cast<float>(lane) / 16.0f - 1.0f);
    Set64(2, lane, std::bit_cast<uint64_t>(static_cast<double>(lane) / 16.0 - 1.0));
  }
  SetF32(1, 7, std::nanf(""));
  const std::string kText =
      "v_add_f32_e64 v0, v1, 0 clamp\n"
      "v_add_f32_e64 v8, v1, 0 clamp mul:4\n"
      "v_add_f64 v[10:11], v[2:3], 0 div:2\n"
      "v_add_f64 v[16:17], v[2:3], 0 clamp";
  // Multiplication works outside of IEEE mode and where denormal results are flushed, only.
  for (const uint32_t mode : {0x3f0u, 0x300u, 0x1f0u, 0x100u}) {
    wave_->mode.bits = mode;
    const bool multiplies = mode == 0x100;
    Run(kText);
    for (int lane = 0; lane < kLanes; ++lane) {
      const double value = lane / 16.0 - 1.0;
      const auto clamp = [](double x) { return std::min(1.0, std::max(0.0, x)); };
      const double four = multiplies ? 4 : 1;
      ASSERT_EQ(F32(0, lane), lane == 7 ? 0.0 : clamp(value)) << lane;
      ASSERT_EQ(F32(8, lane), lane == 7 ? 0.0 : clamp(four * value)) << lane << " mode " << mode;
      ASSERT_EQ(std::bit_cast<double>(Get64(10, lane)), multiplies ? value / 2 : value) << lane;
      ASSERT_EQ(std::bit_cast<double>(Get64(16, lane)), clamp(value)) << lane;
    }
  }
  // -0 becomes +0 where there is a multiplication.
  SetF32(1, 0, -0.0f);
  Run("v_add_f32_e64 v0, v1, v1 mul:2\nv_add_f32_e64 v8, v1, v1");
  EXPECT_EQ(Get(0, 0), 0u);
  EXPECT_EQ(Get(8, 0), 0x80000000u);
  wave_->mode.bits = 0x2f0;  // without DX10_CLAMP a NaN stays
  Run("v_add_f32_e64 v0, v1, 0 clamp");
  EXPECT_TRUE(std::isnan(F32(0, 7)));
}

INSTANTIATE_TEST_SUITE_P(Chips, FloatModeTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
