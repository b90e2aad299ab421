// Scalar instructions against arithmetic in wider types and bit by bit.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

int64_t S(uint64_t value) { return static_cast<int32_t>(value); }
bool FitsI(int64_t value) { return value == static_cast<int32_t>(value); }

struct Result {
  uint64_t value;
  int scc;  // -1: stays
};

class ScalarTest : public InstructionTest {
 protected:
  using Expected = std::function<Result(uint64_t a, uint64_t b, bool scc)>;

  // Sources s2, s4 (or the pairs), destination s6 or s[6:7].
  void Check(const std::string& text, bool wide_result, const std::vector<Values>& inputs,
             const Expected& expected) {
    const Instruction inst = Decode(text);
    for (const Values& in : inputs) {
      for (bool scc : {false, true}) {
        wave_->SetScalar64(2, in.a);
        wave_->SetScalar64(4, in.b);
        wave_->SetScalar64(6, 0x1122334455667788u);
        wave_->set_scc(scc);
        Run(inst);
        const Result want = expected(in.a, in.b, scc);
        const uint64_t got = wide_result ? wave_->Scalar64(6) : wave_->scalar[6];
        ASSERT_EQ(got, wide_result ? want.value : want.value & 0xffffffffu)
            << text << std::hex << " a = 0x" << in.a << " b = 0x" << in.b << " scc " << scc;
        ASSERT_EQ(wave_->scc(), want.scc < 0 ? scc : want.scc != 0)
            << text << std::hex << " a = 0x" << in.a << " b = 0x" << in.b << " scc " << scc;
      }
    }
  }
  static Result Truth(uint64_t value) { return {value, value != 0 ? 1 : 0}; }
};

std::vector<Values> Words() { return Combine(EdgeWords(), EdgeWords()); }
std::vector<Values> Longs() { return Combine(EdgeLongs(), EdgeLongs()); }

TEST_P(ScalarTest, Arithmetic) {
  const auto carry = [](uint64_t exact) { return Result{exact, exact > 0xffffffffu ? 1 : 0}; };
  const auto overflow = [](int64_t exact) {
    return Result{static_cast<uint64_t>(exact), FitsI(exact) ? 0 : 1};
  };
  Check("s_add_u32 s6, s2, s4", false, Words(), [&](auto a, auto b, bool) { return carry(a + b); });
  Check("s_sub_u32 s6, s2, s4", false, Words(),
        [&](auto a, auto b, bool) { return Result{a - b, b > a ? 1 : 0}; });
  Check("s_add_i32 s6, s2, s4", false, Words(),
        [&](auto a, auto b, bool) { return overflow(S(a) + S(b)); });
  Check("s_sub_i32 s6, s2, s4", false, Words(),
        [&](auto a, auto b, bool) { return overflow(S(a) - S(b)); });
  Check("s_addc_u32 s6, s2, s4", false, Words(),
        [&](auto a, auto b, bool scc) { return carry(a + b + (scc ? 1 : 0)); });
  Check("s_subb_u32 s6, s2, s4", false, Words(), [&](auto a, auto b, bool scc) {
    const uint64_t less = b + (scc ? 1 : 0);
    return Result{a - less, less > a ? 1 : 0};
  });
  Check("s_mul_i32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return Result{a * b, -1}; });
  Check("s_mul_hi_u32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return Result{(a * b) >> 32, -1}; });
  Check("s_mul_hi_i32 s6, s2, s4", false, Words(), [](auto a, auto b, bool) {
    return Result{static_cast<uint64_t>((S(a) * S(b)) >> 32), -1};
  });
  for (int shift = 1; shift <= 4; ++shift) {
    Check("s_lshl" + std::to_string(shift) + "_add_u32 s6, s2, s4", false, Words(),
          [&](auto a, auto b, bool) { return carry((a << shift) + b); });
  }
  Check("s_min_i32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return S(a) < S(b) ? Result{a, 1} : Result{b, 0}; });
  Check("s_max_i32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return S(a) > S(b) ? Result{a, 1} : Result{b, 0}; });
  Check("s_min_u32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return a < b ? Result{a, 1} : Result{b, 0}; });
  Check("s_max_u32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return a > b ? Result{a, 1} : Result{b, 0}; });
  Check("s_abs_i32 s6, s2", false, Words(), [](auto a, auto, bool) {
    return Truth(static_cast<uint64_t>(std::abs(S(a))) & 0xffffffffu);
  });
  Check("s_absdiff_i32 s6, s2, s4", false, Combine({0, 5, 10, 0xfffffff0}, {0, 7, 0xffffffff}),
        [](auto a, auto b, bool) { return Truth(static_cast<uint64_t>(std::abs(S(a) - S(b)))); });
  Check("s_sext_i32_i8 s6, s2", false, Words(), [](auto a, auto, bool) {
    return Result{static_cast<uint64_t>(static_cast<int8_t>(a)), -1};
  });
  Check("s_sext_i32_i16 s6, s2", false, Words(), [](auto a, auto, bool) {
    return Result{static_cast<uint64_t>(static_cast<int16_t>(a)), -1};
  });
}

TEST_P(ScalarTest, Selections) {
  Check("s_cselect_b32 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool scc) { return Result{scc ? a : b, -1}; });
  Check("s_cselect_b64 s[6:7], s[2:3], s[4:5]", true, Longs(),
        [](auto a, auto b, bool scc) { return Result{scc ? a : b, -1}; });
  Check("s_cmov_b32 s6, s2", false, Words(),
        [](auto a, auto, bool scc) { return Result{scc ? a : 0x55667788u, -1}; });
  Check("s_cmov_b64 s[6:7], s[2:3]", true, Longs(),
        [](auto a, auto, bool scc) { return Result{scc ? a : 0x1122334455667788u, -1}; });
  Check("s_cmovk_i32 s6, 0x8001", false, Combine({0}),
        [](auto, auto, bool scc) { return Result{scc ? 0xffff8001u : 0x55667788u, -1}; });
  Check("s_movk_i32 s6, 0x8001", false, Combine({0}),
        [](auto, auto, bool) { return Result{0xffff8001u, -1}; });
  Check("s_addk_i32 s6, 0x7fff", false, Combine({0}),
        [](auto, auto, bool) { return Result{0x55667788u + 0x7fff, 0}; });
  Check("s_mulk_i32 s6, 0xffff", false, Combine({0}),
        [](auto, auto, bool) { return Result{0u - 0x55667788u, -1}; });
  Check("s_pack_ll_b32_b16 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return Result{(a & 0xffff) | b << 16, -1}; });
  Check("s_pack_lh_b32_b16 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return Result{(a & 0xffff) | b >> 16 << 16, -1}; });
  Check("s_pack_hh_b32_b16 s6, s2, s4", false, Words(),
        [](auto a, auto b, bool) { return Result{a >> 16 | b >> 16 << 16, -1}; });
}

TEST_P(ScalarTest, Logic) {
  struct {
    const char* name;
    uint64_t (*op)(uint64_t a, uint64_t b);
  } const kOps[] = {
      {"and", [](uint64_t a, uint64_t b) { return a & b; }},
      {"or", [](uint64_t a, uint64_t b) { return a | b; }},
      {"xor", [](uint64_t a, uint64_t b) { return a ^ b; }},
      {"andn2", [](uint64_t a, uint64_t b) { return a & ~b; }},
      {"orn2", [](uint64_t a, uint64_t b) { return a | ~b; }},
      {"nand", [](uint64_t a, uint64_t b) { return ~(a & b); }},
      {"nor", [](uint64_t a, uint64_t b) { return ~(a | b); }},
      {"xnor", [](uint64_t a, uint64_t b) { return ~(a ^ b); }},
  };
  for (const auto& test : kOps) {
    Check("s_" + std::string(test.name) + "_b32 s6, s2, s4", false, Words(),
          [&](auto a, auto b, bool) { return Truth(test.op(a, b) & 0xffffffffu); });
    Check("s_" + std::string(test.name) + "_b64 s[6:7], s[2:3], s[4:5]", true, Longs(),
          [&](auto a, auto b, bool) { return Truth(test.op(a, b)); });
  }
  Check("s_not_b32 s6, s2", false, Words(),
        [](auto a, auto, bool) { return Truth(~a & 0xffffffffu); });
  Check("s_not_b64 s[6:7], s[2:3]", true, Longs(), [](auto a, auto, bool) { return Truth(~a); });
}

TEST_P(ScalarTest, ShiftsAndFields) {
  const std::vector<uint64_t> amounts = {0, 1, 31, 32, 33, 63, 64, 0xffffffff};
  const auto words = Combine(EdgeWords(), amounts);
  const auto longs = Combine(EdgeLongs(), amounts);
  const auto low = [](uint64_t value) { return Truth(value & 0xffffffffu); };
  Check("s_lshl_b32 s6, s2, s4", false, words,
        [&](auto a, auto b, bool) { return low(a << (b % 32)); });
  Check("s_lshr_b32 s6, s2, s4", false, words,
        [&](auto a, auto b, bool) { return low(a >> (b % 32)); });
  Check("s_ashr_i32 s6, s2, s4", false, words,
        [&](auto a, auto b, bool) { return low(static_cast<uint64_t>(S(a) >> (b % 32))); });
  Check("s_lshl_b64 s[6:7], s[2:3], s4", true, longs,
        [](auto a, auto b, bool) { return Truth(a << (b % 64)); });
  Check("s_lshr_b64 s[6:7], s[2:3], s4", true, longs,
        [](auto a, auto b, bool) { return Truth(a >> (b % 64)); });
  Check("s_ashr_i64 s[6:7], s[2:3], s4", true, longs, [](auto a, auto b, bool) {
    return Truth(static_cast<uint64_t>(static_cast<int64_t>(a) >> (b % 64)));
  });
  Check("s_bfm_b32 s6, s2, s4", false, Words(), [](auto a, auto b, bool) {
    return Result{((uint64_t{1} << (a % 32)) - 1) << (b % 32), -1};
  });
  Check("s_bfm_b64 s[6:7], s2, s4", true, Words(), [](auto a, auto b, bool) {
    return Result{((uint64_t{1} << (a % 64)) - 1) << (b % 64), -1};
  });
  std::vector<uint64_t> fields;
  for (uint64_t offset : {0, 1, 7, 31, 40, 63}) {
    for (uint64_t width : {0, 1, 5, 31, 32, 33, 63, 64, 127})
      fields.push_back(offset | width << 16);
  }
  // Bit by bit: beyond the word an unsigned field sees zeros, a signed one copies of the sign.
  const auto field = [](uint64_t a, uint64_t b, int bits, bool sign) {
    const int offset = static_cast<int>(b % static_cast<uint64_t>(bits));
    const int width = std::min<int>(static_cast<int>(b >> 16) & 127, bits);
    uint64_t result = 0;
    for (int i = 0; i < bits && width > 0; ++i) {
      if (!sign && i >= width) break;
      const int from = offset + std::min(i, width - 1);
      if (from >= bits && !sign) break;
      result |= ((a >> std::min(from, bits - 1)) & 1) << i;
    }
    return Truth(result);
  };
  Check("s_bfe_u32 s6, s2, s4", false, Combine(EdgeWords(), fields),
        [&](auto a, auto b, bool) { return field(a, b, 32, false); });
  Check("s_bfe_i32 s6, s2, s4", false, Combine(EdgeWords(), fields),
        [&](auto a, auto b, bool) { return field(a, b, 32, true); });
  Check("s_bfe_u64 s[6:7], s[2:3], s4", true, Combine(EdgeLongs(), fields),
        [&](auto a, auto b, bool) { return field(a, b, 64, false); });
  Check("s_bfe_i64 s[6:7], s[2:3], s4", true, Combine(EdgeLongs(), fields),
        [&](auto a, auto b, bool) { return field(a, b, 64, true); });
}

TEST_P(ScalarTest, Counts) {
  const auto bit = [](uint64_t a, int i) { return static_cast<int>(a >> i) & 1; };
  for (const int bits : {32, 64}) {
    const bool wide = bits == 64;
    const std::string source = wide ? "s[2:3]" : "s2";
    const std::string suffix = wide ? "b64" : "b32";
    const auto inputs = wide ? Combine(EdgeLongs()) : Combine(EdgeWords());
    const auto count = [bits, bit](uint64_t a, int value) {
      uint64_t total = 0;
      for (int i = 0; i < bits; ++i) total += bit(a, i) == value ? 1 : 0;
      return total;
    };
    const auto first = [bits, bit](uint64_t a, int value) {
      for (int i = 0; i < bits; ++i) {
        if (bit(a, i) == value) return static_cast<uint64_t>(i);
      }
      return ~uint64_t{0};
    };
    const auto first_high = [bits, bit](uint64_t a, int value) {
      for (int i = bits - 1; i >= 0; --i) {
        if (bit(a, i) == value) return static_cast<uint64_t>(bits - 1 - i);
      }
      return ~uint64_t{0};
    };
    Check("s_bcnt1_i32_" + suffix + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Truth(count(a, 1)); });
    Check("s_bcnt0_i32_" + suffix + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Truth(count(a, 0)); });
    Check("s_ff1_i32_" + suffix + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Result{first(a, 1), -1}; });
    Check("s_ff0_i32_" + suffix + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Result{first(a, 0), -1}; });
    Check("s_flbit_i32_" + suffix + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Result{first_high(a, 1), -1}; });
    Check(std::string(wide ? "s_flbit_i32_i64" : "s_flbit_i32") + " s6, " + source, false, inputs,
          [&](auto a, auto, bool) { return Result{first_high(a, 1 - bit(a, bits - 1)), -1}; });
    Check("s_brev_" + suffix + (wide ? " s[6:7], " : " s6, ") + source, wide, inputs,
          [&](auto a, auto, bool) {
            uint64_t result = 0;
            for (int i = 0; i < bits; ++i)
              result |= static_cast<uint64_t>(bit(a, i)) << (bits - 1 - i);
            return Result{result, -1};
          });
    Check("s_quadmask_" + suffix + (wide ? " s[6:7], " : " s6, ") + source, wide, inputs,
          [&](auto a, auto, bool) {
            uint64_t result = 0;
            for (int i = 0; i < bits; ++i) result |= static_cast<uint64_t>(bit(a, i)) << (i / 4);
            return Truth(result);
          });
    Check("s_wqm_" + suffix + (wide ? " s[6:7], " : " s6, ") + source, wide, inputs,
          [&](auto a, auto, bool) {
            uint64_t result = 0;
            for (int i = 0; i < bits; ++i) {
              if (bit(a, i)) result |= uint64_t{15} << (i / 4 * 4);
            }
            return Truth(result);
          });
  }
  Check("s_bitreplicate_b64_b32 s[6:7], s2", true, Combine(EdgeWords()), [&](auto a, auto, bool) {
    uint64_t result = 0;
    for (int i = 0; i < 64; ++i) result |= static_cast<uint64_t>(bit(a, i / 2)) << i;
    return Result{result, -1};
  });
  Check("s_bitset0_b32 s6, s2", false, Combine(EdgeWords()),
        [](auto a, auto, bool) { return Result{0x55667788u & ~(uint64_t{1} << (a % 32)), -1}; });
  Check("s_bitset1_b32 s6, s2", false, Combine(EdgeWords()),
        [](auto a, auto, bool) { return Result{0x55667788u | uint64_t{1} << (a % 32), -1}; });
  Check("s_bitset0_b64 s[6:7], s2", true, Combine(EdgeWords()), [](auto a, auto, bool) {
    return Result{0x1122334455667788u & ~(uint64_t{1} << (a % 64)), -1};
  });
  Check("s_bitset1_b64 s[6:7], s2", true, Combine(EdgeWords()), [](auto a, auto, bool) {
    return Result{0x1122334455667788u | uint64_t{1} << (a % 64), -1};
  });
}

TEST_P(ScalarTest, Comparisons) {
  struct {
    const char* name;
    bool (*holds)(int64_t a, int64_t b);
  } const kRelations[] = {
      {"eq", [](int64_t a, int64_t b) { return a == b; }},
      {"lg", [](int64_t a, int64_t b) { return a != b; }},
      {"gt", [](int64_t a, int64_t b) { return a > b; }},
      {"ge", [](int64_t a, int64_t b) { return a >= b; }},
      {"lt", [](int64_t a, int64_t b) { return a < b; }},
      {"le", [](int64_t a, int64_t b) { return a <= b; }},
  };
  constexpr uint64_t kKept = 0x55667788u;
  for (const auto& relation : kRelations) {
    const std::string name = relation.name;
    const auto u = [](uint64_t a) { return static_cast<int64_t>(a); };
    Check("s_cmp_" + name + "_i32 s2, s4", false, Words(),
          [&](auto a, auto b, bool) { return Result{kKept, relation.holds(S(a), S(b)) ? 1 : 0}; });
    Check("s_cmp_" + name + "_u32 s2, s4", false, Words(),
          [&](auto a, auto b, bool) { return Result{kKept, relation.holds(u(a), u(b)) ? 1 : 0}; });
    Check("s_cmpk_" + name + "_i32 s2, 0xfff0", false, Words(),
          [&](auto a, auto, bool) { return Result{kKept, relation.holds(S(a), -16) ? 1 : 0}; });
    Check("s_cmpk_" + name + "_u32 s2, 0xfff0", false, Words(),
          [&](auto a, auto, bool) { return Result{kKept, relation.holds(u(a), 0xfff0) ? 1 : 0}; });
  }
  Check("s_cmp_eq_u64 s[2:3], s[4:5]", false, Longs(),
        [&](auto a, auto b, bool) { return Result{kKept, a == b ? 1 : 0}; });
  Check("s_cmp_lg_u64 s[2:3], s[4:5]", false, Longs(),
        [&](auto a, auto b, bool) { return Result{kKept, a != b ? 1 : 0}; });
  const auto bits = Combine(EdgeLongs(), {0, 1, 31, 32, 63, 64});
  Check("s_bitcmp1_b32 s2, s4", false, bits,
        [&](auto a, auto b, bool) { return Result{kKept, static_cast<int>(a >> (b % 32)) & 1}; });
  Check("s_bitcmp0_b32 s2, s4", false, bits, [&](auto a, auto b, bool) {
    return Result{kKept, 1 - (static_cast<int>(a >> (b % 32)) & 1)};
  });
  Check("s_bitcmp1_b64 s[2:3], s4", false, bits,
        [&](auto a, auto b, bool) { return Result{kKept, static_cast<int>(a >> (b % 64)) & 1}; });
  Check("s_bitcmp0_b64 s[2:3], s4", false, bits, [&](auto a, auto b, bool) {
    return Result{kKept, 1 - (static_cast<int>(a >> (b % 64)) & 1)};
  });
}

INSTANTIATE_TEST_SUITE_P(Chips, ScalarTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
