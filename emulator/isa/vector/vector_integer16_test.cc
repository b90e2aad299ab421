// 16-bit integer instructions, single and packed: all 65,536 values of one operand.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

using Expected = std::function<int64_t(int64_t a, int64_t b, int64_t c)>;

int64_t S16(int64_t value) {
  const int64_t low = value & 0xffff;
  return low >= 0x8000 ? low - 0x10000 : low;
}
int64_t ClampU(int64_t value) { return std::clamp<int64_t>(value, 0, 0xffff); }
int64_t ClampI(int64_t value) { return std::clamp<int64_t>(value, -0x8000, 0x7fff); }
int64_t Middle(int64_t a, int64_t b, int64_t c) {
  int64_t sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3);
  return sorted[1];
}

class VectorInteger16Test : public InstructionTest {
 protected:
  // Both the value of the result's half and what becomes of the other half.
  void Check(const std::string& text, bool keeps_high, const Expected& expected,
             bool three = false) {
    const auto inputs = three ? Combine(AllHalves(), {0x8001, 3}, {0xffff, 0x1234})
                              : Combine(AllHalves(), {0, 1, 0x7fff, 0x8000, 0xffff, 0x1234});
    const uint32_t above = keeps_high ? kPoison : 0;
    ExpectEach(text, inputs, [&](Values v) {
      const int64_t value =
          expected(static_cast<int64_t>(v.a), static_cast<int64_t>(v.b), static_cast<int64_t>(v.c));
      return (static_cast<uint64_t>(value) & 0xffff) | above;
    });
  }
};

TEST_P(VectorInteger16Test, TwoOperands) {
  Check("v_add_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return a + b; });
  Check("v_sub_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return a - b; });
  Check("v_subrev_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return b - a; });
  Check("v_add_u16 v0, v1, v4 clamp", false, [](auto a, auto b, auto) { return ClampU(a + b); });
  Check("v_sub_u16 v0, v1, v4 clamp", false, [](auto a, auto b, auto) { return ClampU(a - b); });
  Check("v_add_i16 v0, v1, v4", true, [](auto a, auto b, auto) { return a + b; });
  Check("v_sub_i16 v0, v1, v4", true, [](auto a, auto b, auto) { return a - b; });
  Check("v_add_i16 v0, v1, v4 clamp", true,
        [](auto a, auto b, auto) { return ClampI(S16(a) + S16(b)); });
  Check("v_sub_i16 v0, v1, v4 clamp", true,
        [](auto a, auto b, auto) { return ClampI(S16(a) - S16(b)); });
  Check("v_mul_lo_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return a * b; });
  Check("v_lshlrev_b16 v0, v1, v4", false, [](auto a, auto b, auto) { return b << (a % 16); });
  Check("v_lshrrev_b16 v0, v1, v4", false, [](auto a, auto b, auto) { return b >> (a % 16); });
  Check("v_ashrrev_i16 v0, v1, v4", false, [](auto a, auto b, auto) { return S16(b) >> (a % 16); });
  Check("v_min_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return std::min(a, b); });
  Check("v_max_u16 v0, v1, v4", false, [](auto a, auto b, auto) { return std::max(a, b); });
  Check("v_min_i16 v0, v1, v4", false,
        [](auto a, auto b, auto) { return std::min(S16(a), S16(b)); });
  Check("v_max_i16 v0, v1, v4", false,
        [](auto a, auto b, auto) { return std::max(S16(a), S16(b)); });
}

TEST_P(VectorInteger16Test, ThreeOperands) {
  Check("v_mad_u16 v0, v1, v4, v6", true, [](auto a, auto b, auto c) { return a * b + c; }, true);
  Check("v_mad_i16 v0, v1, v4, v6", true, [](auto a, auto b, auto c) { return a * b + c; }, true);
  Check(
      "v_mad_legacy_u16 v0, v1, v4, v6", false, [](auto a, auto b, auto c) { return a * b + c; },
      true);
  Check(
      "v_mad_u16 v0, v1, v4, v6 clamp", true,
      [](auto a, auto b, auto c) { return ClampU(a * b + c); }, true);
  Check(
      "v_mad_i16 v0, v1, v4, v6 clamp", true,
      [](auto a, auto b, auto c) { return ClampI(S16(a) * S16(b) + S16(c)); }, true);
  Check(
      "v_min3_u16 v0, v1, v4, v6", true, [](auto a, auto b, auto c) { return std::min({a, b, c}); },
      true);
  Check(
      "v_max3_i16 v0, v1, v4, v6", true,
      [](auto a, auto b, auto c) { return std::max({S16(a), S16(b), S16(c)}); }, true);
  Check(
      "v_min3_i16 v0, v1, v4, v6", true,
      [](auto a, auto b, auto c) { return std::min({S16(a), S16(b), S16(c)}); }, true);
  Check(
      "v_max3_u16 v0, v1, v4, v6", true, [](auto a, auto b, auto c) { return std::max({a, b, c}); },
      true);
  Check(
      "v_med3_u16 v0, v1, v4, v6", true, [](auto a, auto b, auto c) { return Middle(a, b, c); },
      true);
  Check(
      "v_med3_i16 v0, v1, v4, v6", true,
      [](auto a, auto b, auto c) { return Middle(S16(a), S16(b), S16(c)); }, true);
}

TEST_P(VectorInteger16Test, SumsOf32Bits) {
  const auto inputs = Combine(AllHalves(), {0x8001, 0xffff}, {0, 0x7fffffff, 0xffffffff});
  ExpectEach("v_mad_u32_u16 v0, v1, v4, v6", inputs, [](Values v) { return v.a * v.b + v.c; });
  ExpectEach("v_mad_i32_i16 v0, v1, v4, v6", inputs, [](Values v) {
    return static_cast<uint64_t>(S16(static_cast<int64_t>(v.a)) * S16(static_cast<int64_t>(v.b))) +
           v.c;
  });
  ExpectEach("v_sat_pk_u8_i16 v0, v1", Combine(AllHalves()), [](Values v) {
    return static_cast<uint64_t>(std::clamp<int64_t>(S16(static_cast<int64_t>(v.a)), 0, 255));
  });
}

// op_sel of a single 16-bit instruction: bits 0..2 take the upper half of a source, bit 3 writes
// the upper half of the destination.
TEST_P(VectorInteger16Test, HalvesByOpSel) {
  const std::vector<Values> inputs = {{0x11112222, 0x33334444, 0x55556666}};
  ExpectEach("v_mad_u16 v0, v1, v4, v6 op_sel:[1,0,0,0]", inputs, [](Values) {
    return ((0x1111u * 0x4444u + 0x6666u) & 0xffffu) | (kPoison & 0xffff0000u);
  });
  ExpectEach("v_mad_u16 v0, v1, v4, v6 op_sel:[0,1,1,1]", inputs, [](Values) {
    return ((0x2222u * 0x3333u + 0x5555u) & 0xffffu) << 16 | (kPoison & 0xffffu);
  });
  ExpectEach("v_pack_b32_f16 v0, v1, v4", inputs, [](Values) { return 0x44442222u; });
  ExpectEach("v_pack_b32_f16 v0, v1, v4 op_sel:[1,1,0]", inputs,
             [](Values) { return 0x33331111u; });
  ExpectEach("v_pack_b32_f16 v0, -v1, |v4|", {{0x2222, 0xc444, 0}},
             [](Values) { return 0x4444a222u; });
}

TEST_P(VectorInteger16Test, Packed) {
  struct {
    const char* text;
    Expected expected;
  } const kCases[] = {
      {"v_pk_add_u16 v0, v1, v4", [](auto a, auto b, auto) { return a + b; }},
      {"v_pk_sub_u16 v0, v1, v4", [](auto a, auto b, auto) { return a - b; }},
      {"v_pk_add_i16 v0, v1, v4", [](auto a, auto b, auto) { return a + b; }},
      {"v_pk_sub_i16 v0, v1, v4", [](auto a, auto b, auto) { return a - b; }},
      {"v_pk_add_u16 v0, v1, v4 clamp", [](auto a, auto b, auto) { return ClampU(a + b); }},
      {"v_pk_sub_u16 v0, v1, v4 clamp", [](auto a, auto b, auto) { return ClampU(a - b); }},
      {"v_pk_add_i16 v0, v1, v4 clamp",
       [](auto a, auto b, auto) { return ClampI(S16(a) + S16(b)); }},
      {"v_pk_sub_i16 v0, v1, v4 clamp",
       [](auto a, auto b, auto) { return ClampI(S16(a) - S16(b)); }},
      {"v_pk_mul_lo_u16 v0, v1, v4", [](auto a, auto b, auto) { return a * b; }},
      {"v_pk_mad_u16 v0, v1, v4, v6", [](auto a, auto b, auto c) { return a * b + c; }},
      {"v_pk_mad_i16 v0, v1, v4, v6", [](auto a, auto b, auto c) { return a * b + c; }},
      {"v_pk_mad_u16 v0, v1, v4, v6 clamp",
       [](auto a, auto b, auto c) { return ClampU(a * b + c); }},
      {"v_pk_mad_i16 v0, v1, v4, v6 clamp",
       [](auto a, auto b, auto c) { return ClampI(S16(a) * S16(b) + S16(c)); }},
      {"v_pk_lshlrev_b16 v0, v1, v4", [](auto a, auto b, auto) { return b << (a % 16); }},
      {"v_pk_lshrrev_b16 v0, v1, v4", [](auto a, auto b, auto) { return b >> (a % 16); }},
      {"v_pk_ashrrev_i16 v0, v1, v4", [](auto a, auto b, auto) { return S16(b) >> (a % 16); }},
      {"v_pk_min_u16 v0, v1, v4", [](auto a, auto b, auto) { return std::min(a, b); }},
      {"v_pk_max_u16 v0, v1, v4", [](auto a, auto b, auto) { return std::max(a, b); }},
      {"v_pk_min_i16 v0, v1, v4", [](auto a, auto b, auto) { return std::min(S16(a), S16(b)); }},
      {"v_pk_max_i16 v0, v1, v4", [](auto a, auto b, auto) { return std::max(S16(a), S16(b)); }},
  };
  // Every value in the low half, another one in the high half.
  std::vector<Values> inputs;
  Draw draw(4);
  for (uint64_t i = 0; i < 65536; ++i) {
    inputs.push_back(
        {i | ((i * 40503) & 0xffff) << 16, draw.Next() & 0xffffffffu, draw.Next() & 0xffffffffu});
  }
  for (const auto& test : kCases) {
    ExpectEach(test.text, inputs, [&](Values v) {
      const auto half = [&](int shift) {
        const auto take = [&](uint64_t word) {
          return static_cast<int64_t>((word >> shift) & 0xffff);
        };
        return static_cast<uint64_t>(test.expected(take(v.a), take(v.b), take(v.c))) & 0xffff;
      };
      return half(0) | half(16) << 16;
    });
  }
}

TEST_P(VectorInteger16Test, PackedSelects) {
  const std::vector<Values> inputs = {{0x00010002, 0x01000200, 0}};
  ExpectEach("v_pk_add_u16 v0, v1, v4 op_sel:[1,0] op_sel_hi:[0,1]", inputs,
             [](Values) { return 0x01020201u; });
  ExpectEach("v_pk_add_u16 v0, v1, v4 op_sel:[1,1] op_sel_hi:[1,0]", inputs,
             [](Values) { return 0x02010101u; });
  // Constants are 32 bits wide: the upper half of a small positive one is 0, that of a negative
  // one all ones.
  ExpectEach("v_pk_add_u16 v0, v1, 1 op_sel_hi:[1,0]", inputs, [](Values) { return 0x00020003u; });
  ExpectEach("v_pk_add_u16 v0, v1, 1", inputs, [](Values) { return 0x00010003u; });
  ExpectEach("v_pk_add_u16 v0, v1, -1", inputs, [](Values) { return 0x00000001u; });
}

INSTANTIATE_TEST_SUITE_P(Chips, VectorInteger16Test, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
