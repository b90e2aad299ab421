// Movement between lanes: scalars from and to lanes, counts, exchanges, permutations, swizzles.

#include <bit>
#include <cstdint>

#include "emulator/isa/vector/lane_movement.h"
#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

class CrossLaneTest : public InstructionTest {
 protected:
  void SetUp() override {
    InstructionTest::SetUp();
    for (int lane = 0; lane < kLanes; ++lane) {
      Set(1, lane, 1000 + static_cast<uint32_t>(lane));
      Set(2, lane, 2000 + static_cast<uint32_t>(lane));
    }
  }
};

TEST_P(CrossLaneTest, ReadsAndWritesSingleLanes) {
  wave_->set_exec(0x100);
  wave_->scalar[4] = 64 + 17;  // six bits count
  wave_->scalar[5] = 4242;
  wave_->scalar[6] = 128 + 3;
  Run("v_readfirstlane_b32 s0, v1\nv_readlane_b32 s1, v1, 63\nv_readlane_b32 s2, v1, s4\n"
      "v_writelane_b32 v2, s5, 17\nv_writelane_b32 v2, 7, s6");
  EXPECT_EQ(wave_->scalar[0], 1008u);
  EXPECT_EQ(wave_->scalar[1], 1063u);
  EXPECT_EQ(wave_->scalar[2], 1017u);
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t expected = lane == 17  ? 4242
                              : lane == 3 ? 7
                                          : 2000 + static_cast<uint32_t>(lane);
    ASSERT_EQ(Get(2, lane), expected) << lane;
  }
  wave_->set_exec(0);
  Run("v_readfirstlane_b32 s0, v1");
  EXPECT_EQ(wave_->scalar[0], 1000u);
  wave_->set_exec(~uint64_t{0} << 40);
  Run("v_readfirstlane_b32 s0, v1");
  EXPECT_EQ(wave_->scalar[0], 1040u);
}

TEST_P(CrossLaneTest, CountsLanesBelow) {
  wave_->SetScalar64(4, 0xf0f0f0f012345678u);
  Run("v_mbcnt_lo_u32_b32 v8, s4, 5\nv_mbcnt_hi_u32_b32 v8, s5, v8\n"
      "v_mbcnt_lo_u32_b32 v9, -1, 0\nv_mbcnt_hi_u32_b32 v9, -1, v9");
  int below = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(Get(8, lane), static_cast<uint32_t>(below) + 5) << lane;
    ASSERT_EQ(Get(9, lane), static_cast<uint32_t>(lane));
    below += static_cast<int>(0xf0f0f0f012345678u >> lane) & 1;
  }
}

TEST_P(CrossLaneTest, SwapsRegisters) {
  wave_->set_exec(0xffff);
  Run("v_swap_b32 v1, v2");
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto l = static_cast<uint32_t>(lane);
    ASSERT_EQ(Get(1, lane), lane < 16 ? 2000 + l : 1000 + l);
    ASSERT_EQ(Get(2, lane), lane < 16 ? 1000 + l : 2000 + l);
  }
}

TEST_P(CrossLaneTest, SwapsRows) {
  if (!IsGfx950()) return;
  Run("v_permlane16_swap_b32 v1, v2");
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto l = static_cast<uint32_t>(lane);
    const bool odd = lane / 16 % 2 == 1;
    ASSERT_EQ(Get(1, lane), odd ? 2000 + l - 16 : 1000 + l) << lane;
    ASSERT_EQ(Get(2, lane), odd ? 2000 + l : 1000 + l + 16) << lane;
  }
  SetUp();
  Run("v_permlane32_swap_b32 v1, v2");
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto l = static_cast<uint32_t>(lane);
    ASSERT_EQ(Get(1, lane), lane >= 32 ? 2000 + l - 32 : 1000 + l) << lane;
    ASSERT_EQ(Get(2, lane), lane >= 32 ? 2000 + l : 1000 + l + 32) << lane;
  }
  // Lanes 0..15 and 48..63 are off: lanes 16..31 have no source for v1, lanes 32..47 none for v2.
  struct {
    const char* suffix;
    uint32_t missing_first, missing_second;
  } const kCases[] = {{"_e32 v1, v2", 1020, 2040},
                      {"_e64 v1, v2 bound_ctrl:1", 0, 0},
                      {"_e64 v1, v2 fi:1", 2004, 1056}};
  for (const auto& test : kCases) {
    SetUp();
    wave_->set_exec(0x0000ffffffff0000u);
    Run("v_permlane16_swap_b32" + std::string(test.suffix));
    EXPECT_EQ(Get(1, 20), test.missing_first) << test.suffix;
    EXPECT_EQ(Get(2, 40), test.missing_second) << test.suffix;
    EXPECT_EQ(Get(1, 60), 1060u) << test.suffix;
    EXPECT_EQ(Get(2, 4), 2004u) << test.suffix;
  }
}

TEST(LaneMovementTest, BackwardPermute) {
  uint32_t address[kLanes], values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    address[lane] = 4 * static_cast<uint32_t>(63 - lane) + (lane % 4);  // the low bits do not count
    values[lane] = 500 + static_cast<uint32_t>(lane);
  }
  const LaneWords reversed = BackwardPermute(address, values, 0, ~uint64_t{0});
  const LaneWords shifted = BackwardPermute(address, values, 8, ~uint64_t{0});
  const LaneWords partial = BackwardPermute(address, values, 0, 0xffffffffu);
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(reversed[lane], 500u + 63 - static_cast<uint32_t>(lane));
    ASSERT_EQ(shifted[lane], 500u + ((63 - static_cast<uint32_t>(lane) + 2) % 64));
    ASSERT_EQ(partial[lane], lane >= 32 ? 500u + 63 - static_cast<uint32_t>(lane) : 0u);
  }
}

TEST(LaneMovementTest, ForwardPermute) {
  uint32_t address[kLanes], values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    address[lane] = 4 * static_cast<uint32_t>(lane / 2);
    values[lane] = 500 + static_cast<uint32_t>(lane);
  }
  const LaneWords all = ForwardPermute(address, values, 0, ~uint64_t{0});
  const LaneWords even = ForwardPermute(address, values, 4, 0x5555555555555555u);
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto l = static_cast<uint32_t>(lane);
    ASSERT_EQ(all[lane], lane < 32 ? 500 + 2 * l + 1 : 0u) << lane;  // the higher lane wins
    ASSERT_EQ(even[lane], lane >= 1 && lane <= 32 ? 500 + 2 * (l - 1) : 0u) << lane;
  }
}

TEST(LaneMovementTest, Swizzle) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const int half = lane / 32 * 32;
    // swizzle(BITMASK_PERM, and 0x1f, or 0, xor 0x10), swizzle(SWAP, 16)
    EXPECT_EQ(SwizzleSource(0x401f, lane), lane ^ 16);
    // swizzle(REVERSE, 8): xor 7
    EXPECT_EQ(SwizzleSource(0x1c1f, lane), lane ^ 7);
    // swizzle(BROADCAST, 8, 3): and 0x18, or 3
    EXPECT_EQ(SwizzleSource(0x0078, lane), half + lane % 32 / 8 * 8 + 3);
    // swizzle(QUAD_PERM, 3, 2, 0, 1)
    const int quad[] = {3, 2, 0, 1};
    EXPECT_EQ(SwizzleSource(0x8000 | 0x4b, lane), lane / 4 * 4 + quad[lane % 4]);
    // Rotations of 32 lanes by 5, either way.
    EXPECT_EQ(SwizzleSource(0xc000 | 5 << 5, lane), half + (lane + 5) % 32);
    EXPECT_EQ(SwizzleSource(0xc000 | 0x400 | 5 << 5, lane), half + (lane + 27) % 32);
  }
  uint32_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = 7 + static_cast<uint32_t>(lane);
  const LaneWords swapped = Swizzle(values, 0x041f, 0x5555555555555555u);
  for (int lane = 0; lane < kLanes; ++lane) {
    EXPECT_EQ(swapped[lane], lane % 2 == 1 ? 7u + static_cast<uint32_t>(lane) - 1 : 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, CrossLaneTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
