// Byte permutations and sums of absolute differences of bytes.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }

class ByteSumsTest : public InstructionTest {};

TEST_P(ByteSumsTest, PermutesBytes) {
  // Hand values: the bytes of a are 0xa3 a2 a1 a0's, those of b b3 .. b0's.
  struct {
    uint32_t selector, expected;
  } const kHand[] = {{0x03020100, 0x13923110}, {0x07060504, 0x2f8e4d0c}, {0x00000000, 0x10101010},
                     {0x0c0d0cff, 0x00ff00ff}, {0x0b0a0908, 0x00000000}, {0x04030700, 0x0c132f10}};
  for (const auto& hand : kHand) {
    ExpectEach("v_perm_b32 v0, v1, v4, v6", {{0x2f8e4d0c, 0x13923110, hand.selector}},
               [&](Values) { return hand.expected; });
  }
  // The same with the selector in a scalar.
  for (uint32_t byte = 0; byte < 16; ++byte) {
    const uint32_t selector = byte | (15 - byte) << 8 | (byte ^ 5) << 16 | (byte ^ 10) << 24;
    wave_->scalar[2] = selector;
    std::vector<Values> inputs = Random(64, 19);
    for (Values& v : inputs) v.c = selector;
    std::vector<uint32_t> by_vector;
    ForEach("v_perm_b32 v0, v1, v4, v6", inputs,
            [&](Values, int lane) { by_vector.push_back(Get(0, lane)); });
    ForEach("v_perm_b32 v0, v1, v4, s2", inputs,
            [&](Values, int lane) { ASSERT_EQ(Get(0, lane), by_vector[lane]) << selector; });
  }
  // The signs of the halves: 8 and 9 of b, 10 and 11 of a.
  ExpectEach("v_perm_b32 v0, v1, v4, v6", {{0x80000000, 0x00008000, 0x0b0a0908}},
             [](Values) { return 0xff0000ffu; });
}

TEST_P(ByteSumsTest, SumsOfByteDistances) {
  const auto sum = [](Values v, bool masked) {
    uint64_t total = 0;
    for (int i = 0; i < 4; ++i) {
      const int a = static_cast<int>(v.a >> (8 * i)) & 255,
                b = static_cast<int>(v.b >> (8 * i)) & 255;
      if (!masked || b != 0) total += static_cast<uint64_t>(std::abs(a - b));
    }
    return total;
  };
  const auto inputs = Combine(EdgeWords(), EdgeWords(), {0, 7, 0xffffffff});
  ExpectEach("v_sad_u8 v0, v1, v4, v6", inputs, [&](Values v) { return sum(v, false) + v.c; });
  ExpectEach("v_sad_u8 v0, v1, v4, v6 clamp", inputs,
             [&](Values v) { return std::min<uint64_t>(sum(v, false) + v.c, 0xffffffffu); });
  ExpectEach("v_msad_u8 v0, v1, v4, v6", inputs, [&](Values v) { return sum(v, true) + v.c; });
  ExpectEach("v_sad_hi_u8 v0, v1, v4, v6", inputs,
             [&](Values v) { return (sum(v, false) << 16) + v.c; });
  ExpectEach("v_sad_u16 v0, v1, v4, v6", inputs, [&](Values v) {
    const auto low =
        std::abs(static_cast<int64_t>(v.a & 0xffff) - static_cast<int64_t>(v.b & 0xffff));
    const auto high = std::abs(static_cast<int64_t>(v.a >> 16) - static_cast<int64_t>(v.b >> 16));
    return static_cast<uint64_t>(low + high) + v.c;
  });
  ExpectEach("v_lerp_u8 v0, v1, v4, v6", inputs, [&](Values v) {
    uint64_t result = 0;
    for (int i = 0; i < 32; i += 8) {
      result |= ((((v.a >> i) & 255) + ((v.b >> i) & 255) + ((v.c >> i) & 1)) / 2) << i;
    }
    return result;
  });
  ExpectEach64("v_qsad_pk_u16_u8 v[8:9], v[2:3], v4, v[14:15]", Random(2048, 2), [&](Values v) {
    uint64_t result = 0;
    for (int i = 0; i < 4; ++i) {
      const Values window = {(v.a >> (8 * i)) & 0xffffffffu, v.b & 0xffffffffu, 0};
      result |= ((sum(window, false) + ((v.c >> (16 * i)) & 0xffff)) & 0xffff) << (16 * i);
    }
    return result;
  });
  // Four 32-bit sums in four registers.
  ForEach("v_mqsad_u32_u8 v[20:23], v[2:3], v4, v[24:27]", Random(64, 3), [&](Values v, int lane) {
    for (int i = 0; i < 4; ++i) {
      const Values window = {(v.a >> (8 * i)) & 0xffffffffu, v.b & 0xffffffffu, 0};
      ASSERT_EQ(Get(20 + i, lane),
                Low(sum(window, true) + kPoison + 24 + static_cast<uint32_t>(i)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, ByteSumsTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
