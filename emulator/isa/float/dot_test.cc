// Dot products of packed elements.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

class DotTest : public InstructionTest {};

int64_t Element(uint64_t word, int bits, int index, bool sign) {
  const auto field = static_cast<int64_t>((word >> (bits * index)) & ((1u << bits) - 1));
  return sign && field >= 1 << (bits - 1) ? field - (1 << bits) : field;
}
int64_t Dot(Values v, int bits, bool sign) {
  int64_t sum = sign ? int64_t{static_cast<int32_t>(v.c)} : static_cast<int64_t>(v.c & 0xffffffffu);
  for (int i = 0; i < 32 / bits; ++i) {
    sum += Element(v.a, bits, i, sign) * Element(v.b, bits, i, sign);
  }
  return sum;
}

TEST_P(DotTest, Integers) {
  auto inputs = Combine(EdgeWords(), EdgeWords(), {0, 0x7fffffff, 0x80000000, 0xffffffff, 1000});
  for (Values v : Random(2048, 16)) {
    inputs.push_back({v.a & 0xffffffffu, v.b & 0xffffffffu, v.c & 0xffffffffu});
  }
  struct {
    const char* name;
    int bits;
    bool sign;
  } const kCases[] = {{"v_dot2_i32_i16", 16, true}, {"v_dot2_u32_u16", 16, false},
                      {"v_dot4_i32_i8", 8, true},   {"v_dot4_u32_u8", 8, false},
                      {"v_dot8_i32_i4", 4, true},   {"v_dot8_u32_u4", 4, false}};
  for (const auto& test : kCases) {
    const std::string text = std::string(test.name) + " v0, v1, v4, v6";
    ExpectEach(text, inputs,
               [&](Values v) { return static_cast<uint64_t>(Dot(v, test.bits, test.sign)); });
    ExpectEach(text + " clamp", inputs, [&](Values v) {
      const int64_t sum = Dot(v, test.bits, test.sign);
      return static_cast<uint64_t>(test.sign ? std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX)
                                             : std::min<int64_t>(sum, 0xffffffff));
    });
  }
  // The accumulating forms add to their destination.
  Set(1, 0, 0x80017f02u);
  Set(4, 0, 0x03fd04ffu);
  for (const auto& [name, bits] : {std::pair<const char*, int>("v_dot2c_i32_i16", 16),
                                   {"v_dot4c_i32_i8", 8},
                                   {"v_dot8c_i32_i4", 4}}) {
    Set(0, 0, 5);
    Run(std::string(name) + " v0, v1, v4");
    EXPECT_EQ(Get(0, 0), static_cast<uint32_t>(Dot({0x80017f02u, 0x03fd04ffu, 5}, bits, true)))
        << name;
  }
}

TEST_P(DotTest, Floats) {
  struct {
    std::string type;
    float (*value)(uint64_t bits);
  } const kTypes[] = {
      {"f16", [](uint64_t bits) { return F16::FromBits(static_cast<uint16_t>(bits)).ToFloat(); }},
      {"bf16",
       [](uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits << 16)); }}};
  auto inputs = Random(1 << 13, 17);
  for (Values& v : inputs) v = {v.a & 0xffffffffu, v.b & 0xffffffffu, v.c & 0xffffffffu};
  for (const auto& type : kTypes) {
    if (type.type == "bf16" && !IsGfx950()) continue;
    const auto dot = [&](Values v, float low_sign, float high_sign) {
      const float c = std::bit_cast<float>(static_cast<uint32_t>(v.c));
      const float low = std::fma(low_sign * type.value(v.a & 0xffff), type.value(v.b & 0xffff), c);
      return std::fma(high_sign * type.value(v.a >> 16), type.value(v.b >> 16), low);
    };
    ExpectEachFloat("v_dot2_f32_" + type.type + " v0, v1, v4, v6", inputs,
                    [&](Values v) { return dot(v, 1, 1); });
    ExpectEachFloat("v_dot2_f32_" + type.type + " v0, v1, v4, v6 neg_lo:[1,0,0] neg_hi:[0,0,0]",
                    inputs, [&](Values v) { return dot(v, -1, 1); });
    ExpectEachFloat("v_dot2_f32_" + type.type + " v0, v1, v4, v6 neg_lo:[0,0,0] neg_hi:[1,0,0]",
                    inputs, [&](Values v) { return dot(v, 1, -1); });
    Set(1, 0, type.type == "f16" ? 0x40003c00u : 0x40003f80u);  // 2, 1
    Set(4, 0, type.type == "f16" ? 0x42004400u : 0x40404080u);  // 3, 4
    SetF32(0, 0, 0.5f);
    Run("v_dot2c_f32_" + type.type + " v0, v1, v4");
    EXPECT_EQ(F32(0, 0), 10.5f) << type.type;
  }
}

// The accumulator is the lane's own, whatever lane DPP reads the first source from.
TEST_P(DotTest, AccumulatesUnderDpp) {
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(0, lane, static_cast<float>(lane));
    SetF32(8, lane, static_cast<float>(lane));
    SetF32(1, lane, static_cast<float>(lane % 4));
    SetF32(4, lane, 10.0f);
    Set(6, lane, 0x3c000000u);  // halves 0, 1
  }
  Run("v_fmac_f32_dpp v0, v1, v4 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf\n"
      "v_dot2c_f32_f16_dpp v8, v6, v6 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf");
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(F32(0, lane), static_cast<float>(lane + 10 * (3 - lane % 4))) << lane;
    ASSERT_EQ(F32(8, lane), static_cast<float>(lane + 1)) << lane;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, DotTest, testing::Values(Arch::kGfx942, Arch::kGfx950), ChipName);

}  // namespace
}  // namespace lanewise::emulator
