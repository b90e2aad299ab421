// Scalar instructions that change the wave's state: EXEC, special registers, hardware registers,
// relative addressing, the index mode.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

class ScalarStateTest : public InstructionTest {};

TEST_P(ScalarStateTest, SavesExec) {
  constexpr uint64_t kExec = 0xff00ff00f0f0aaaau;
  constexpr uint64_t kSource = 0x0ff00ff0cccc9999u;
  struct {
    const char* name;
    uint64_t expected;
  } const kCases[] = {{"and", kSource & kExec},    {"or", kSource | kExec},
                      {"xor", kSource ^ kExec},    {"andn2", kSource & ~kExec},
                      {"orn2", kSource | ~kExec},  {"andn1", ~kSource & kExec},
                      {"orn1", ~kSource | kExec},  {"nand", ~(kSource & kExec)},
                      {"nor", ~(kSource | kExec)}, {"xnor", ~(kSource ^ kExec)}};
  for (const auto& test : kCases) {
    wave_->set_exec(kExec);
    wave_->SetScalar64(2, kSource);
    wave_->set_scc(false);
    Run("s_" + std::string(test.name) + "_saveexec_b64 s[6:7], s[2:3]");
    EXPECT_EQ(wave_->Scalar64(6), kExec) << test.name;
    EXPECT_EQ(wave_->exec(), test.expected) << test.name;
    EXPECT_TRUE(wave_->scc()) << test.name;
    // Source and destination the same.
    wave_->set_exec(kExec);
    Run("s_" + std::string(test.name) + "_saveexec_b64 s[2:3], s[2:3]");
    EXPECT_EQ(wave_->Scalar64(2), kExec) << test.name;
    EXPECT_EQ(wave_->exec(), test.expected) << test.name;
  }
  wave_->set_exec(kExec);
  wave_->SetScalar64(2, 0);
  Run("s_and_saveexec_b64 s[6:7], s[2:3]");
  EXPECT_EQ(wave_->exec(), 0u);
  EXPECT_FALSE(wave_->scc());
  wave_->set_exec(kExec);
  wave_->SetScalar64(2, kSource);
  Run("s_andn1_wrexec_b64 s[6:7], s[2:3]");
  EXPECT_EQ(wave_->exec(), ~kSource & kExec);
  EXPECT_EQ(wave_->Scalar64(6), ~kSource & kExec);
  wave_->set_exec(kExec);
  Run("s_andn2_wrexec_b64 s[6:7], s[2:3]");
  EXPECT_EQ(wave_->exec(), kSource & ~kExec);
}

TEST_P(ScalarStateTest, SpecialRegistersAreOperands) {
  wave_->set_exec(0x0123456789abcdefu);
  wave_->set_vcc(0xfedcba9876543210u);
  wave_->scalar[kM0] = 77;
  wave_->set_scc(true);
  Run("s_mov_b64 s[0:1], exec\ns_mov_b32 s2, vcc_hi\ns_mov_b32 s3, m0\ns_mov_b32 m0, 5\n"
      "s_and_b64 vcc, vcc, exec");
  EXPECT_EQ(wave_->Scalar64(0), 0x0123456789abcdefu);
  EXPECT_EQ(wave_->scalar[2], 0xfedcba98u);
  EXPECT_EQ(wave_->scalar[3], 77u);
  EXPECT_EQ(wave_->m0(), 5u);
  EXPECT_EQ(wave_->vcc(), 0xfedcba9876543210u & 0x0123456789abcdefu);
}

TEST_P(ScalarStateTest, HardwareRegisters) {
  wave_->mode.bits = 0x3f0;
  wave_->scalar[4] = 0xff5;
  Run("s_getreg_b32 s0, hwreg(HW_REG_MODE)\n"
      "s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)\n"
      "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0xfffffff9\n"
      "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s4");
  EXPECT_EQ(wave_->scalar[0], 0x3f0u);
  EXPECT_EQ(wave_->scalar[1], 0xfu);
  EXPECT_EQ(wave_->mode.bits, 0x3d9u);
  EXPECT_EQ(wave_->mode.round_f32(), 1);
  EXPECT_EQ(wave_->mode.round_f16_f64(), 2);
  wave_->set_scc(true);
  wave_->set_vcc(0);
  Run("s_getreg_b32 s0, hwreg(HW_REG_STATUS)");
  EXPECT_EQ(wave_->scalar[0], 0x10401u);  // SCC, VCCZ, VALID
  const absl::Status unknown = Execute(*wave_, "s_getreg_b32 s0, hwreg(HW_REG_LDS_ALLOC)");
  EXPECT_FALSE(unknown.ok());
}

TEST_P(ScalarStateTest, RelativeMoves) {
  for (uint32_t i = 0; i < 32; ++i) wave_->scalar[i] = 100 + i;
  wave_->scalar[kM0] = 4;
  Run("s_movrels_b32 s20, s2\ns_movreld_b32 s8, s3\ns_movrels_b64 s[22:23], s[4:5]\n"
      "s_movreld_b64 s[10:11], s[0:1]");
  EXPECT_EQ(wave_->scalar[20], 106u);
  EXPECT_EQ(wave_->scalar[12], 103u);
  EXPECT_EQ(wave_->scalar[22], 108u);
  EXPECT_EQ(wave_->scalar[23], 109u);
  EXPECT_EQ(wave_->scalar[14], 100u);
  EXPECT_EQ(wave_->scalar[15], 101u);
  wave_->scalar[kM0] = 1000;
  EXPECT_FALSE(Execute(*wave_, "s_movrels_b32 s20, s2").ok());
}

TEST_P(ScalarStateTest, IndexMode) {
  wave_->scalar[kM0] = 0xabcd0f00u;
  wave_->scalar[3] = 0x1205;
  Run("s_set_gpr_idx_on s3, gpr_idx(SRC0,DST)");
  EXPECT_TRUE(wave_->mode.gpr_index_enabled());
  EXPECT_EQ(wave_->m0(), 0xabcd9f05u);
  Run("s_set_gpr_idx_mode gpr_idx(SRC1)");
  EXPECT_EQ(wave_->m0(), 0xabcd2f05u);
  wave_->scalar[3] = 9;
  Run("s_set_gpr_idx_idx s3\ns_set_gpr_idx_off");
  EXPECT_EQ(wave_->m0(), 0xabcd2f09u);
  EXPECT_FALSE(wave_->mode.gpr_index_enabled());
}

INSTANTIATE_TEST_SUITE_P(Chips, ScalarStateTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
