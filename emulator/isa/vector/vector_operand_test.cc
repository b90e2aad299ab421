// Source and destination modifiers: every SDWA select, every DPP pattern, and their masks.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

class VectorOperandTest : public InstructionTest {
 protected:
  void SetUp() override {
    InstructionTest::SetUp();
    for (int lane = 0; lane < kLanes; ++lane) {
      Set(1, lane, 0x8091a2f3u + 0x01010101u * static_cast<uint32_t>(lane));
      Set(4, lane, 100 + static_cast<uint32_t>(lane));
      Set(0, lane, 0x11223344u);
    }
  }
};

struct Select {
  const char* name;
  int shift, width;
};
constexpr Select kSelects[] = {{"BYTE_0", 0, 8},  {"BYTE_1", 8, 8},  {"BYTE_2", 16, 8},
                               {"BYTE_3", 24, 8}, {"WORD_0", 0, 16}, {"WORD_1", 16, 16},
                               {"DWORD", 0, 32}};

uint32_t Extract(uint32_t word, const Select& select, bool sign) {
  const uint64_t field = (uint64_t{word} >> select.shift) & ((uint64_t{1} << select.width) - 1);
  const uint64_t top = uint64_t{1} << (select.width - 1);
  return static_cast<uint32_t>(sign ? (field ^ top) - top : field);
}

TEST_P(VectorOperandTest, SdwaSources) {
  for (const Select& first : kSelects) {
    for (const Select& second : kSelects) {
      for (bool sign : {false, true}) {
        const std::string a = sign ? "sext(v1)" : "v1";
        const std::string b = sign ? "sext(v4)" : "v4";
        Run("v_add_u32_sdwa v8, " + a + ", " + b +
            " dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:" + first.name +
            " src1_sel:" + second.name);
        for (int lane = 0; lane < kLanes; ++lane) {
          ASSERT_EQ(Get(8, lane),
                    Extract(Get(1, lane), first, sign) + Extract(Get(4, lane), second, sign))
              << first.name << " " << second.name << " " << sign << " lane " << lane;
        }
      }
    }
  }
}

TEST_P(VectorOperandTest, SdwaDestinations) {
  for (const Select& select : kSelects) {
    for (const std::string unused : {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"}) {
      for (int lane = 0; lane < kLanes; ++lane) Set(0, lane, 0x11223344u);
      Run("v_mov_b32_sdwa v0, v1 dst_sel:" + std::string(select.name) + " dst_unused:" + unused +
          " src0_sel:DWORD");
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint64_t ones = ((uint64_t{1} << select.width) - 1) << select.shift;
        const uint64_t placed = (uint64_t{Get(1, lane)} << select.shift) & ones;
        uint64_t expected = placed;
        if (unused == "UNUSED_PRESERVE") expected |= 0x11223344u & ~ones;
        const bool negative = ((placed >> (select.shift + select.width - 1)) & 1) != 0;
        if (unused == "UNUSED_SEXT" && negative) {
          expected |= ~((uint64_t{1} << (select.shift + select.width)) - 1);
        }
        ASSERT_EQ(Get(0, lane), static_cast<uint32_t>(expected)) << select.name << " " << unused;
      }
    }
  }
}

TEST_P(VectorOperandTest, SdwaOfHalves) {
  // Halves from both words, a sign each, the result into the upper word, doubled and clamped.
  Set(1, 0, 0x3c004000);  // 1, 2
  Set(4, 0, 0x3800c200);  // 0.5, -3
  Run("v_add_f16_sdwa v0, v1, -v4 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
      "src1_sel:WORD_0");
  EXPECT_EQ(Get(0, 0), 0x44003344u);  // 1 + 3
  Run("v_add_f16_sdwa v0, |v4|, v1 clamp dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:WORD_0 "
      "src1_sel:WORD_1");
  EXPECT_EQ(Get(0, 0), 0x00003c00u);  // 4, clamped
  // A 16-bit operation on a byte.
  Run("v_lshrrev_b16_sdwa v0, v1, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 "
      "src1_sel:BYTE_3");
  EXPECT_EQ(Get(0, 0), 0x38u);
}

// The lane that `lane` reads, -1 for none, spelled out from the ISA's description of each pattern.
struct Pattern {
  std::string text;
  int (*from)(int lane);
};
const std::vector<Pattern>& Patterns() {
  static const auto* const kPatterns = new std::vector<Pattern>{
      {"quad_perm:[1,0,3,2]", [](int l) { return l % 2 == 0 ? l + 1 : l - 1; }},
      {"quad_perm:[3,3,0,1]", [](int l) { return l / 4 * 4 + (l % 4 < 2 ? 3 : l % 4 - 2); }},
      {"row_shl:1", [](int l) { return l % 16 == 15 ? -1 : l + 1; }},
      {"row_shl:15", [](int l) { return l % 16 == 0 ? l + 15 : -1; }},
      {"row_shr:1", [](int l) { return l % 16 == 0 ? -1 : l - 1; }},
      {"row_shr:8", [](int l) { return l % 16 < 8 ? -1 : l - 8; }},
      {"row_ror:3", [](int l) { return l % 16 >= 3 ? l - 3 : l + 13; }},
      {"wave_shl:1", [](int l) { return l == 63 ? -1 : l + 1; }},
      {"wave_rol:1", [](int l) { return l == 63 ? 0 : l + 1; }},
      {"wave_shr:1", [](int l) { return l - 1; }},
      {"wave_ror:1", [](int l) { return l == 0 ? 63 : l - 1; }},
      {"row_mirror", [](int l) { return l / 16 * 16 + 15 - l % 16; }},
      {"row_half_mirror", [](int l) { return l / 8 * 8 + 7 - l % 8; }},
      {"row_bcast:15", [](int l) { return l < 16 ? -1 : l / 16 * 16 - 1; }},
      {"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }},
      {"row_newbcast:5", [](int l) { return l / 16 * 16 + 5; }},
  };
  return *kPatterns;
}

TEST_P(VectorOperandTest, DppPatterns) {
  const uint64_t execs[] = {~uint64_t{0}, 0x7ffffffffffffffeu, 0x123456789abcdef0u};
  for (const Pattern& pattern : Patterns()) {
    for (const uint64_t exec : execs) {
      for (bool bound : {false, true}) {
        for (const char* masks : {"row_mask:0xf bank_mask:0xf", "row_mask:0xa bank_mask:0x5"}) {
          const bool partial = masks[11] == 'a';
          for (int lane = 0; lane < kLanes; ++lane) Set(0, lane, kPoison);
          wave_->set_exec(exec);
          Run("v_add_u32_dpp v0, v1, v4 " + pattern.text + " " + masks +
              (bound ? " bound_ctrl:0" : ""));
          for (int lane = 0; lane < kLanes; ++lane) {
            const auto active = [exec](int l) { return ((exec >> l) & 1) != 0; };
            const int from = pattern.from(lane);
            const bool valid = from >= 0 && active(from);
            const bool masked = partial && (lane / 16 % 2 == 0 || lane % 16 / 4 % 2 == 1);
            uint32_t expected = kPoison;
            if (active(lane) && !masked) {
              if (valid) expected = Get(1, from) + Get(4, lane);
              if (!valid && bound) expected = Get(4, lane);
            }
            ASSERT_EQ(Get(0, lane), expected) << pattern.text << " " << masks << " bound " << bound
                                              << " exec " << std::hex << exec << " lane " << lane;
          }
        }
      }
    }
  }
}

TEST_P(VectorOperandTest, DppWithSigns) {
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(1, lane, static_cast<float>(lane) - 30);
    SetF32(4, lane, 0.5f);
  }
  Run("v_mul_f32_dpp v0, |v1|, -v4 row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:0");
  for (int lane = 0; lane < kLanes; ++lane) {
    const float source = lane % 16 == 15 ? 0.0f : std::fabs(static_cast<float>(lane) - 29);
    ASSERT_EQ(F32(0, lane), source * -0.5f) << lane;
  }
}

// A fused DPP accumulation, as reductions use it: lanes without a source keep their sum.
TEST_P(VectorOperandTest, DppReduction) {
  for (int lane = 0; lane < kLanes; ++lane) Set(1, lane, static_cast<uint32_t>(lane * lane));
  Run("v_add_u32_dpp v1, v1, v1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
      "v_add_u32_dpp v1, v1, v1 row_shr:2 row_mask:0xf bank_mask:0xf\n"
      "v_add_u32_dpp v1, v1, v1 row_shr:4 row_mask:0xf bank_mask:0xe\n"
      "v_add_u32_dpp v1, v1, v1 row_shr:8 row_mask:0xf bank_mask:0xc\n"
      "v_add_u32_dpp v1, v1, v1 row_bcast:15 row_mask:0xa bank_mask:0xf\n"
      "v_add_u32_dpp v1, v1, v1 row_bcast:31 row_mask:0xc bank_mask:0xf");
  uint32_t sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    sum += static_cast<uint32_t>(lane * lane);
    ASSERT_EQ(Get(1, lane), sum) << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, VectorOperandTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
