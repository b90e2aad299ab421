// Every vector and scalar instruction of both chips: all opcodes of every encoding are decoded by
// LLVM, and each mnemonic that comes out has a handler, or stands in the list of those left out on
// purpose with the reason.

#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "emulator/decode/decoder.h"
#include "emulator/isa/dispatch.h"
#include "gtest/gtest.h"

namespace lanewise::emulator {
namespace {

struct Words {
  uint32_t word[4];
};

// Every opcode in operands that are legal for some width: pairs and larger tuples begin at
// multiples of 8, and a literal follows where an instruction wants one.
std::vector<Words> AllEncodings() {
  std::vector<Words> all;
  constexpr uint32_t kVector = 0x100;
  for (uint32_t op = 0; op < 256; ++op) {
    for (uint32_t source : {kVector + 16, 4u}) {
      all.push_back({{0x7e000000u | 8u << 17 | op << 9 | source}});  // VOP1
    }
    all.push_back({{0x7c000000u | op << 17 | 24u << 9 | (kVector + 16)}});  // VOPC
    all.push_back({{0xbe800000u | 4u << 16 | op << 8 | 8u}});               // SOP1
  }
  for (uint32_t op = 0; op < 64; ++op) {
    all.push_back({{op << 25 | 8u << 17 | 24u << 9 | (kVector + 16), 0x3f800000u}});  // VOP2
  }
  for (uint32_t op = 0; op < 1024; ++op) {
    for (uint32_t second : {kVector + 64, 8u}) {
      all.push_back({{0xd0000000u | op << 16 | 8u,
                      (kVector + 128) << 18 | second << 9 | (kVector + 16)}});  // VOP3
    }
    all.push_back({{0xd0000000u | op << 16 | 4u, 12u << 18 | 8u << 9 | 16u}});
  }
  for (uint32_t op = 0; op < 128; ++op) {
    all.push_back({{0xd3800000u | op << 16 | 8u,
                    (kVector + 128) << 18 | (kVector + 64) << 9 | (kVector + 16)}});  // VOP3P
    all.push_back({{0x80000000u | op << 23 | 4u << 16 | 12u << 8 | 8u}});             // SOP2
    all.push_back({{0xbf000000u | op << 16 | 12u << 8 | 8u}});                        // SOPC
    all.push_back({{0xbf800000u | op << 16}});                                        // SOPP
  }
  for (uint32_t op = 0; op < 32; ++op) {
    all.push_back({{0xb0000000u | op << 23 | 4u << 16 | 1u, 1u}});  // SOPK
  }
  // The scaled matrix instructions: a prefix that names the scales, and bit 11 of the rest.
  for (uint32_t op : {0x2du, 0x2eu}) {
    all.push_back({{0xd3ac0000u, (kVector + 2) << 9 | (kVector + 1), 0xd3800800u | op << 16 | 8u,
                    (kVector + 128) << 18 | (kVector + 64) << 9 | (kVector + 16)}});
  }
  return all;
}

std::set<std::string> DecodedMnemonics(Arch arch) {
  auto decoder = Decoder::Create(arch);
  EXPECT_TRUE(decoder.ok()) << decoder.status().ToString();
  std::set<std::string> names;
  for (const Words& words : AllEncodings()) {
    uint8_t bytes[16];
    std::memcpy(bytes, words.word, sizeof(bytes));
    const Instruction inst = (*decoder)->Decode(bytes, 0);
    if (inst.mnemonic[0] != 0) names.insert(inst.mnemonic);
  }
  return names;
}

// Left out: debugger and trap hardware, whole-wave forks, graphics, and sparse matrix shapes of
// gfx950 whose operand layout is not known here.
bool LeftOut(const std::string& name, Arch arch) {
  static const std::set<std::string> kNames = {"s_cbranch_cdbgsys",
                                               "s_cbranch_cdbgsys_and_user",
                                               "s_cbranch_cdbgsys_or_user",
                                               "s_cbranch_cdbguser",
                                               "s_cbranch_g_fork",
                                               "s_cbranch_i_fork",
                                               "s_cbranch_join",
                                               "s_rfe_b64",
                                               "s_rfe_restore_b64",
                                               "s_setvskip",
                                               "s_sendmsghalt",
                                               "s_setkill",
                                               "s_endpgm_ordered_ps_done",
                                               "v_mfma_ld_scale_b32",
                                               "v_screen_partition_4se_b32"};
  static const std::set<std::string> kSparse = {
      "v_smfmac_f32_16x16x128_bf8_bf8", "v_smfmac_f32_16x16x128_bf8_fp8",
      "v_smfmac_f32_16x16x128_fp8_bf8", "v_smfmac_f32_16x16x128_fp8_fp8",
      "v_smfmac_f32_16x16x64_bf16",     "v_smfmac_f32_16x16x64_f16",
      "v_smfmac_f32_32x32x32_bf16",     "v_smfmac_f32_32x32x32_f16",
      "v_smfmac_f32_32x32x64_bf8_bf8",  "v_smfmac_f32_32x32x64_bf8_fp8",
      "v_smfmac_f32_32x32x64_fp8_bf8",  "v_smfmac_f32_32x32x64_fp8_fp8",
      "v_smfmac_i32_16x16x128_i8",      "v_smfmac_i32_32x32x64_i8"};
  return kNames.count(name) > 0 || (arch == Arch::kGfx950 && kSparse.count(name) > 0);
}

class CoverageTest : public testing::TestWithParam<Arch> {};

TEST_P(CoverageTest, EveryInstructionHasAHandler) {
  const std::set<std::string> names = DecodedMnemonics(GetParam());
  // What clang 22's disassembler knows of these encodings.
  EXPECT_GE(names.size(), GetParam() == Arch::kGfx942 ? 708u : 795u);
  std::string missing;
  for (const std::string& name : names) {
    const bool handled = HandlersFor(GetParam()).Find(name) != nullptr;
    if (!handled && !LeftOut(name, GetParam())) missing += name + " ";
    EXPECT_FALSE(handled && LeftOut(name, GetParam())) << name << " has a handler now";
  }
  EXPECT_EQ(missing, "");
}

// A handler whose mnemonic does not exist would never be found by a kernel.
TEST_P(CoverageTest, EveryVectorAndScalarHandlerExists) {
  const std::set<std::string> names = DecodedMnemonics(GetParam());
  for (const std::string& name : HandlersFor(GetParam()).Mnemonics()) {
    if (name.substr(0, 2) != "v_" && name.substr(0, 2) != "s_") continue;
    if (name.find("_load_") != std::string::npos || name.find("_store_") != std::string::npos ||
        name.find("_atomic_") != std::string::npos || name.find("dcache") != std::string::npos ||
        name.find("memtime") != std::string::npos || name.find("memreal") != std::string::npos ||
        name.find("scratch") != std::string::npos) {
      continue;  // scalar memory
    }
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, CoverageTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         [](const auto& param) { return std::string(ArchName(param.param)); });

}  // namespace
}  // namespace lanewise::emulator
