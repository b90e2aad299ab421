// Moves and one example of each kind of instruction, through every encoding that the decoder makes
// alike: what holds here for v_add_f32 holds for every family built on the same templates.

#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "emulator/machine/wave.h"
#include "emulator/testing/assemble.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

class MovesTest : public testing::TestWithParam<Arch> {
 protected:
  void SetUp() override {
    wave_ = std::make_unique<Wave>();
    wave_->arch = GetParam();
    wave_->mode.bits = 0x3f0;  // denormals kept, IEEE, NaN clamps to 0: a kernel's start
    wave_->set_exec(~uint64_t{0});
    for (int r = 0; r < kVectorRows; ++r) {
      for (int l = 0; l < kLanes; ++l) wave_->vector[r][l] = 0xdead0000u + static_cast<uint32_t>(r);
    }
    for (int l = 0; l < kLanes; ++l) {
      SetF32(1, l, static_cast<float>(l) - 20.0f);
      SetF32(2, l, 0.5f * static_cast<float>(l));
    }
  }
  void SetF32(int row, int lane, float value) {
    wave_->vector[row][lane] = std::bit_cast<uint32_t>(value);
  }
  float F32(int row, int lane) const { return std::bit_cast<float>(wave_->vector[row][lane]); }
  void Run(const char* text) {
    const absl::Status status = Execute(*wave_, text);
    ASSERT_TRUE(status.ok()) << text << ": " << status.ToString();
  }
  std::unique_ptr<Wave> wave_;
};

TEST_P(MovesTest, AddInItsEncodings) {
  wave_->scalar[5] = std::bit_cast<uint32_t>(3.25f);
  Run("v_add_f32_e32 v3, v1, v2\n"
      "v_add_f32_e64 v4, -v1, |v2|\n"
      "v_add_f32_e64 v5, v1, v2 clamp\n"
      "v_add_f32_e32 v6, s5, v2\n"
      "v_add_f32_e32 v7, -4.0, v2\n"
      "v_add_f32_e32 v8, 0x40490fdb, v2");
  for (int l = 0; l < kLanes; ++l) {
    const float a = static_cast<float>(l) - 20.0f;
    const float b = 0.5f * static_cast<float>(l);
    ASSERT_EQ(F32(3, l), a + b) << l;
    ASSERT_EQ(F32(4, l), b - a) << l;
    ASSERT_EQ(F32(5, l), std::fmin(1.0f, std::fmax(0.0f, a + b))) << l;
    ASSERT_EQ(F32(6, l), 3.25f + b) << l;
    ASSERT_EQ(F32(7, l), b - 4.0f) << l;
    ASSERT_EQ(F32(8, l), b + std::bit_cast<float>(0x40490fdbu)) << l;
  }
}

TEST_P(MovesTest, InactiveLanesKeepTheirDestination) {
  wave_->set_exec(0x5555555500000001u);
  Run("v_add_f32_e32 v3, v1, v2");
  for (int l = 0; l < kLanes; ++l) {
    if (((wave_->exec() >> l) & 1) != 0) {
      ASSERT_EQ(F32(3, l), F32(1, l) + F32(2, l)) << l;
    } else {
      ASSERT_EQ(wave_->vector[3][l], 0xdead0003u) << l;
    }
  }
}

TEST_P(MovesTest, DppReadsItsSourceLanes) {
  for (int l = 0; l < kLanes; ++l) wave_->vector[1][l] = 100 + static_cast<uint32_t>(l);
  Run("v_mov_b32_dpp v3, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
      "v_mov_b32_dpp v4, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
      "v_mov_b32_dpp v5, v1 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\n"
      "v_mov_b32_dpp v6, v1 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
      "v_mov_b32_dpp v1, v1 row_ror:4 row_mask:0xf bank_mask:0x3");
  for (int l = 0; l < kLanes; ++l) {
    const auto lane = static_cast<uint32_t>(l);
    ASSERT_EQ(wave_->vector[3][l], l % 16 == 0 ? 0xdead0003u : 99 + lane) << l;
    ASSERT_EQ(wave_->vector[4][l], l % 16 == 0 ? 0u : 99 + lane) << l;
    ASSERT_EQ(wave_->vector[5][l], 100 + (lane ^ 3)) << l;
    ASSERT_EQ(wave_->vector[6][l], (l / 16) % 2 == 1 ? 100 + (lane & ~15u) - 1 : 0xdead0006u) << l;
    // Source and destination are the same register: the rotation sees the values from before.
    const uint32_t rotated = 100 + (lane & ~15u) + ((lane - 4) & 15u);
    ASSERT_EQ(wave_->vector[1][l], l % 16 < 8 ? rotated : 100 + lane) << l;
  }
}

TEST_P(MovesTest, SdwaSelectsBytesAndWords) {
  for (int l = 0; l < kLanes; ++l) {
    wave_->vector[1][l] = 0x80c1'7f02u + static_cast<uint32_t>(l);
    wave_->vector[3][l] = 0x11223344u;
  }
  Run("v_mov_b32_sdwa v3, v1 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2\n"
      "v_mov_b32_sdwa v4, sext(v1) dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1\n"
      "v_mov_b32_sdwa v5, v1 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1");
  for (int l = 0; l < kLanes; ++l) {
    ASSERT_EQ(wave_->vector[3][l], 0x1122c144u) << l;
    ASSERT_EQ(wave_->vector[4][l], 0xffff80c1u) << l;
    ASSERT_EQ(wave_->vector[5][l], 0x007f0000u) << l;
  }
}

TEST_P(MovesTest, WideMovesAndAccumulators) {
  Run("v_mov_b64_e32 v[10:11], v[12:13]\n"
      "v_accvgpr_write_b32 a7, v1\n"
      "v_accvgpr_read_b32 v20, a7\n"
      "v_mov_b64_e32 v[30:31], 1.0");
  ASSERT_EQ(wave_->vector[10][9], 0xdead000cu);
  ASSERT_EQ(wave_->vector[11][9], 0xdead000du);
  ASSERT_EQ(wave_->vector[kFirstAccumulator + 7][63], wave_->vector[1][63]);
  ASSERT_EQ(wave_->vector[20][63], wave_->vector[1][63]);
  ASSERT_EQ(wave_->vector[30][5], 0u);
  ASSERT_EQ(wave_->vector[31][5], 0x3ff00000u);
}

TEST_P(MovesTest, DenormalsFlushWhereModeSaysSo) {
  wave_->vector[1][0] = 1;
  wave_->vector[2][0] = 0x80000000u;
  Run("v_add_f32_e32 v3, v1, v2");
  ASSERT_EQ(wave_->vector[3][0], 1u);
  wave_->mode.bits &= ~0x30u;
  Run("v_add_f32_e32 v3, v1, v2\nv_mov_b32_e32 v4, v1");
  ASSERT_EQ(wave_->vector[3][0], 0u);
  ASSERT_EQ(wave_->vector[4][0], 1u);
}

TEST_P(MovesTest, ScalarAddSetsScc) {
  wave_->scalar[1] = 0xffffffffu;
  wave_->scalar[2] = 2;
  Run("s_add_u32 s3, s1, s2");
  ASSERT_EQ(wave_->scalar[3], 1u);
  ASSERT_TRUE(wave_->scc());
  Run("s_add_u32 s3, s2, 5\ns_mov_b64 exec, -1\ns_mov_b64 s[6:7], 0x80000000");
  ASSERT_EQ(wave_->scalar[3], 7u);
  ASSERT_FALSE(wave_->scc());
  ASSERT_EQ(wave_->exec(), ~uint64_t{0});
  ASSERT_EQ(wave_->Scalar64(6), 0x80000000u);
}

INSTANTIATE_TEST_SUITE_P(Chips, MovesTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         [](const auto& param) { return std::string(ArchName(param.param)); });

}  // namespace
}  // namespace lanewise::emulator
