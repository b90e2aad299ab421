// 32- and 64-bit integer instructions against arithmetic in wider types and bit by bit.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

using Expected = std::function<uint64_t(Values)>;
struct Case {
  const char* text;
  Expected expected;
};

uint32_t Low(uint64_t value) { return static_cast<uint32_t>(value); }
int64_t Signed(uint64_t value) { return static_cast<int32_t>(value); }
__int128 Wide(uint64_t value) { return static_cast<__int128>(value & 0xffffffffu); }
int64_t Signed24(uint64_t value) {
  const int64_t low = static_cast<int64_t>(value & 0xffffff);
  return low >= 0x800000 ? low - 0x1000000 : low;
}
uint64_t Unsigned24(uint64_t value) { return value & 0xffffff; }
uint64_t SaturateI(int64_t value) {
  return static_cast<uint64_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX));
}
uint64_t Middle(int64_t a, int64_t b, int64_t c) {
  int64_t sorted[] = {a, b, c};
  std::sort(sorted, sorted + 3);
  return static_cast<uint64_t>(sorted[1]);
}
int Bit(uint64_t word, int index) { return static_cast<int>(word >> index) & 1; }

class VectorIntegerTest : public InstructionTest {};

const std::vector<uint64_t>& Third() {
  static const auto* const kValues =
      new std::vector<uint64_t>{0, 1, 5, 31, 32, 0x80000000, 0xffffffff, 0x7fffffff, 0x12345678};
  return *kValues;
}

TEST_P(VectorIntegerTest, Arithmetic) {
  const Case kCases[] = {
      {"v_add_u32 v0, v1, v4", [](Values v) { return v.a + v.b; }},
      {"v_sub_u32 v0, v1, v4", [](Values v) { return v.a - v.b; }},
      {"v_subrev_u32 v0, v1, v4", [](Values v) { return v.b - v.a; }},
      {"v_add_u32 v0, v1, v4 clamp",
       [](Values v) { return std::min<uint64_t>(v.a + v.b, 0xffffffffu); }},
      {"v_sub_u32 v0, v1, v4 clamp", [](Values v) { return v.a < v.b ? 0 : v.a - v.b; }},
      {"v_subrev_u32 v0, v1, v4 clamp", [](Values v) { return v.b < v.a ? 0 : v.b - v.a; }},
      {"v_add_i32 v0, v1, v4", [](Values v) { return v.a + v.b; }},
      {"v_sub_i32 v0, v1, v4", [](Values v) { return v.a - v.b; }},
      {"v_add_i32 v0, v1, v4 clamp", [](Values v) { return SaturateI(Signed(v.a) + Signed(v.b)); }},
      {"v_sub_i32 v0, v1, v4 clamp", [](Values v) { return SaturateI(Signed(v.a) - Signed(v.b)); }},
      {"v_mul_lo_u32 v0, v1, v4", [](Values v) { return v.a * v.b; }},
      {"v_mul_hi_u32 v0, v1, v4", [](Values v) { return (v.a * v.b) >> 32; }},
      {"v_mul_hi_i32 v0, v1, v4",
       [](Values v) { return static_cast<uint64_t>(Signed(v.a) * Signed(v.b)) >> 32; }},
      {"v_mul_u32_u24 v0, v1, v4", [](Values v) { return Unsigned24(v.a) * Unsigned24(v.b); }},
      {"v_mul_hi_u32_u24 v0, v1, v4",
       [](Values v) { return (Unsigned24(v.a) * Unsigned24(v.b)) >> 32; }},
      {"v_mul_i32_i24 v0, v1, v4",
       [](Values v) { return static_cast<uint64_t>(Signed24(v.a) * Signed24(v.b)); }},
      {"v_mul_hi_i32_i24 v0, v1, v4",
       [](Values v) { return static_cast<uint64_t>((Signed24(v.a) * Signed24(v.b)) >> 32); }},
      {"v_min_u32 v0, v1, v4", [](Values v) { return v.a < v.b ? v.a : v.b; }},
      {"v_max_u32 v0, v1, v4", [](Values v) { return v.a > v.b ? v.a : v.b; }},
      {"v_min_i32 v0, v1, v4", [](Values v) { return Signed(v.a) < Signed(v.b) ? v.a : v.b; }},
      {"v_max_i32 v0, v1, v4", [](Values v) { return Signed(v.a) > Signed(v.b) ? v.a : v.b; }},
      {"v_and_b32 v0, v1, v4", [](Values v) { return v.a & v.b; }},
      {"v_or_b32 v0, v1, v4", [](Values v) { return v.a | v.b; }},
      {"v_xor_b32 v0, v1, v4", [](Values v) { return v.a ^ v.b; }},
      {"v_xnor_b32 v0, v1, v4", [](Values v) { return ~(v.a ^ v.b); }},
      {"v_not_b32 v0, v1", [](Values v) { return 0xffffffffu - v.a; }},
      {"v_lshlrev_b32 v0, v1, v4", [](Values v) { return v.b << (v.a % 32); }},
      {"v_lshrrev_b32 v0, v1, v4", [](Values v) { return v.b >> (v.a % 32); }},
      {"v_ashrrev_i32 v0, v1, v4",
       [](Values v) { return static_cast<uint64_t>(Signed(v.b) >> (v.a % 32)); }},
      {"v_bfm_b32 v0, v1, v4", [](Values v) { return ((1ull << (v.a % 32)) - 1) << (v.b % 32); }},
      {"v_sad_u32 v0, v1, v4, v6",
       [](Values v) { return (v.a > v.b ? v.a - v.b : v.b - v.a) + v.c; }},
  };
  for (const Case& test : kCases) {
    ExpectEach(test.text, Combine(EdgeWords(), EdgeWords()), test.expected);
  }
}

TEST_P(VectorIntegerTest, ThreeOperands) {
  const Case kCases[] = {
      {"v_add3_u32 v0, v1, v4, v6", [](Values v) { return v.a + v.b + v.c; }},
      {"v_lshl_add_u32 v0, v1, v4, v6", [](Values v) { return (v.a << (v.b % 32)) + v.c; }},
      {"v_add_lshl_u32 v0, v1, v4, v6", [](Values v) { return (v.a + v.b) << (v.c % 32); }},
      {"v_xad_u32 v0, v1, v4, v6", [](Values v) { return (v.a ^ v.b) + v.c; }},
      {"v_and_or_b32 v0, v1, v4, v6", [](Values v) { return (v.a & v.b) | v.c; }},
      {"v_or3_b32 v0, v1, v4, v6", [](Values v) { return v.a | v.b | v.c; }},
      {"v_lshl_or_b32 v0, v1, v4, v6", [](Values v) { return (v.a << (v.b % 32)) | v.c; }},
      {"v_mad_u32_u24 v0, v1, v4, v6",
       [](Values v) { return Unsigned24(v.a) * Unsigned24(v.b) + v.c; }},
      {"v_mad_i32_i24 v0, v1, v4, v6",
       [](Values v) { return static_cast<uint64_t>(Signed24(v.a) * Signed24(v.b)) + v.c; }},
      {"v_mad_u32_u24 v0, v1, v4, v6 clamp",
       [](Values v) {
         return std::min<uint64_t>(Unsigned24(v.a) * Unsigned24(v.b) + v.c, 0xffffffffu);
       }},
      {"v_mad_i32_i24 v0, v1, v4, v6 clamp",
       [](Values v) { return SaturateI(Signed24(v.a) * Signed24(v.b) + Signed(v.c)); }},
      {"v_min3_u32 v0, v1, v4, v6", [](Values v) { return std::min({v.a, v.b, v.c}); }},
      {"v_max3_u32 v0, v1, v4, v6", [](Values v) { return std::max({v.a, v.b, v.c}); }},
      {"v_min3_i32 v0, v1, v4, v6",
       [](Values v) {
         return static_cast<uint64_t>(std::min({Signed(v.a), Signed(v.b), Signed(v.c)}));
       }},
      {"v_max3_i32 v0, v1, v4, v6",
       [](Values v) {
         return static_cast<uint64_t>(std::max({Signed(v.a), Signed(v.b), Signed(v.c)}));
       }},
      {"v_med3_u32 v0, v1, v4, v6",
       [](Values v) {
         return Middle(static_cast<int64_t>(v.a), static_cast<int64_t>(v.b),
                       static_cast<int64_t>(v.c));
       }},
      {"v_med3_i32 v0, v1, v4, v6",
       [](Values v) { return Middle(Signed(v.a), Signed(v.b), Signed(v.c)); }},
      {"v_bfi_b32 v0, v1, v4, v6",
       [](Values v) {
         uint64_t result = 0;
         for (int i = 0; i < 32; ++i) {
           result |= static_cast<uint64_t>(Bit(v.a, i) ? Bit(v.b, i) : Bit(v.c, i)) << i;
         }
         return result;
       }},
      {"v_alignbit_b32 v0, v1, v4, v6",
       [](Values v) { return Low((Wide(v.a) << 32 | Wide(v.b)) >> (v.c % 32)); }},
      {"v_alignbyte_b32 v0, v1, v4, v6",
       [](Values v) { return Low((Wide(v.a) << 32 | Wide(v.b)) >> (8 * (v.c % 4))); }},
      {"v_bfe_u32 v0, v1, v4, v6",
       [](Values v) {
         uint64_t result = 0;
         for (uint64_t i = 0; i < v.c % 32 && i + v.b % 32 < 32; ++i) {
           result |= static_cast<uint64_t>(Bit(v.a, static_cast<int>(i + v.b % 32))) << i;
         }
         return result;
       }},
      {"v_bfe_i32 v0, v1, v4, v6",
       [](Values v) {
         // A field beyond bit 31 sees copies of the sign; its own top bit is copied upward.
         const int offset = static_cast<int>(v.b % 32);
         const int width = static_cast<int>(v.c % 32);
         uint64_t result = 0;
         for (int i = 0; width > 0 && i < 32; ++i) {
           const int from = std::min(offset + std::min(i, width - 1), 31);
           result |= static_cast<uint64_t>(Bit(v.a, from)) << i;
         }
         return result;
       }},
  };
  std::vector<uint64_t> some = EdgeWords();
  for (const Case& test : kCases) {
    ExpectEach(test.text, Combine(some, some, Third()), test.expected);
    ExpectEach(
        test.text,
        [] {
          auto random = Random(4096, 1);
          for (Values& v : random) v = {v.a & 0xffffffffu, v.b & 0xffffffffu, v.c & 0xffffffffu};
          return random;
        }(),
        test.expected);
  }
}

TEST_P(VectorIntegerTest, Bits) {
  ExpectEach("v_bfrev_b32 v0, v1", Combine(EdgeWords()), [](Values v) {
    uint64_t result = 0;
    for (int i = 0; i < 32; ++i) result |= static_cast<uint64_t>(Bit(v.a, i)) << (31 - i);
    return result;
  });
  ExpectEach("v_bcnt_u32_b32 v0, v1, v4", Combine(EdgeWords(), Third()), [](Values v) {
    uint64_t count = v.b;
    for (int i = 0; i < 32; ++i) count += static_cast<uint64_t>(Bit(v.a, i));
    return count;
  });
  const auto first_high = [](uint64_t word) -> uint64_t {
    for (int i = 31; i >= 0; --i) {
      if (Bit(word, i)) return static_cast<uint64_t>(31 - i);
    }
    return 0xffffffffu;
  };
  ExpectEach("v_ffbh_u32 v0, v1", Combine(EdgeWords()), [&](Values v) { return first_high(v.a); });
  ExpectEach("v_ffbh_i32 v0, v1", Combine(EdgeWords()),
             [&](Values v) { return first_high(Bit(v.a, 31) ? 0xffffffffu & ~v.a : v.a); });
  ExpectEach("v_ffbl_b32 v0, v1", Combine(EdgeWords()), [](Values v) -> uint64_t {
    for (int i = 0; i < 32; ++i) {
      if (Bit(v.a, i)) return static_cast<uint64_t>(i);
    }
    return 0xffffffffu;
  });
}

TEST_P(VectorIntegerTest, SixtyFourBits) {
  const std::vector<uint64_t> amounts = {0, 1, 31, 32, 33, 63, 64, 0xffffffff};
  const auto inputs = Combine(EdgeLongs(), amounts);
  ExpectEach64("v_lshlrev_b64 v[8:9], v4, v[2:3]", inputs,
               [](Values v) { return v.a << (v.b % 64); });
  ExpectEach64("v_lshrrev_b64 v[8:9], v4, v[2:3]", inputs,
               [](Values v) { return v.a >> (v.b % 64); });
  ExpectEach64("v_ashrrev_i64 v[8:9], v4, v[2:3]", inputs, [](Values v) {
    return static_cast<uint64_t>(static_cast<int64_t>(v.a) >> (v.b % 64));
  });
  ExpectEach64("v_lshl_add_u64 v[8:9], v[2:3], v4, v[14:15]",
               Combine(EdgeLongs(), {0, 1, 2, 3, 4}, EdgeLongs()),
               [](Values v) { return (v.a << v.b) + v.c; });
}

TEST_P(VectorIntegerTest, WideProductsWithCarry) {
  const auto inputs = Combine(EdgeWords(), EdgeWords(), EdgeLongs());
  ForEach("v_mad_u64_u32 v[8:9], s[10:11], v1, v4, v[14:15]", inputs, [&](Values v, int lane) {
    const __int128 sum = Wide(v.a) * Wide(v.b) + static_cast<__int128>(v.c);
    ASSERT_EQ(Get64(8, lane), static_cast<uint64_t>(sum));
    ASSERT_EQ((wave_->Scalar64(10) >> lane) & 1, static_cast<uint64_t>(sum >> 64));
  });
  ForEach("v_mad_i64_i32 v[8:9], s[10:11], v1, v4, v[14:15]", inputs, [&](Values v, int lane) {
    const __int128 sum =
        static_cast<__int128>(Signed(v.a)) * Signed(v.b) + static_cast<int64_t>(v.c);
    ASSERT_EQ(Get64(8, lane), static_cast<uint64_t>(sum));
    const bool overflow = sum != static_cast<int64_t>(sum);
    ASSERT_EQ((wave_->Scalar64(10) >> lane) & 1, overflow ? 1u : 0u);
  });
}

TEST_P(VectorIntegerTest, Carries) {
  const auto inputs = Combine(EdgeWords(), EdgeWords());
  for (uint64_t carries : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x123456789abcdef0}}) {
    const auto check = [&](const char* text, bool reads, auto exact) {
      const Instruction inst = Decode(text);
      for (size_t first = 0; first + kLanes <= inputs.size(); first += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
          Set(1, lane, Low(inputs[first + lane].a));
          Set(4, lane, Low(inputs[first + lane].b));
        }
        wave_->set_vcc(carries);
        Run(inst);
        for (int lane = 0; lane < kLanes; ++lane) {
          const int64_t carry = reads ? static_cast<int64_t>((carries >> lane) & 1) : 0;
          const int64_t value = exact(static_cast<int64_t>(inputs[first + lane].a),
                                      static_cast<int64_t>(inputs[first + lane].b), carry);
          ASSERT_EQ(Get(0, lane), Low(static_cast<uint64_t>(value))) << text << " lane " << lane;
          const uint64_t out = value < 0 || value > 0xffffffffll ? 1 : 0;
          ASSERT_EQ((wave_->vcc() >> lane) & 1, out) << text << " lane " << lane;
        }
      }
    };
    check("v_add_co_u32 v0, vcc, v1, v4", false,
          [](int64_t a, int64_t b, int64_t) { return a + b; });
    check("v_sub_co_u32 v0, vcc, v1, v4", false,
          [](int64_t a, int64_t b, int64_t) { return a - b; });
    check("v_subrev_co_u32 v0, vcc, v1, v4", false,
          [](int64_t a, int64_t b, int64_t) { return b - a; });
    check("v_addc_co_u32 v0, vcc, v1, v4, vcc", true,
          [](int64_t a, int64_t b, int64_t c) { return a + b + c; });
    check("v_subb_co_u32 v0, vcc, v1, v4, vcc", true,
          [](int64_t a, int64_t b, int64_t c) { return a - b - c; });
    check("v_subbrev_co_u32 v0, vcc, v1, v4, vcc", true,
          [](int64_t a, int64_t b, int64_t c) { return b - a - c; });
  }
  // Inactive lanes: the result stays, the carry is 0.
  wave_->set_exec(1);
  wave_->set_vcc(~uint64_t{0});
  for (int lane = 0; lane < kLanes; ++lane) {
    Set(1, lane, 0xffffffffu);
    Set(4, lane, 1);
    Set(0, lane, kPoison);
  }
  Run("v_add_co_u32 v0, vcc, v1, v4");
  EXPECT_EQ(wave_->vcc(), 1u);
  EXPECT_EQ(Get(0, 0), 0u);
  EXPECT_EQ(Get(0, 1), kPoison);
}

TEST_P(VectorIntegerTest, ChosenScalarCarries) {
  for (int lane = 0; lane < kLanes; ++lane) {
    Set(1, lane, 0xffffffffu);
    Set(4, lane, static_cast<uint32_t>(lane % 2));
  }
  Run("v_add_co_u32_e64 v0, s[6:7], v1, v4\n"
      "v_addc_co_u32_e64 v8, s[8:9], v1, v4, s[6:7]");
  EXPECT_EQ(wave_->Scalar64(6), 0xaaaaaaaaaaaaaaaau);
  EXPECT_EQ(Get(8, 0), 0xffffffffu);
  EXPECT_EQ(Get(8, 1), 1u);
  EXPECT_EQ(wave_->Scalar64(8), 0xaaaaaaaaaaaaaaaau);
}

TEST_P(VectorIntegerTest, Gfx950) {
  if (!IsGfx950()) return;
  for (uint32_t table = 0; table < 256; ++table) {
    const auto expected = [table](Values v) {
      uint64_t result = 0;
      for (int i = 0; i < 32; ++i) {
        const int minterm = Bit(v.a, i) * 4 + Bit(v.b, i) * 2 + Bit(v.c, i);
        result |= static_cast<uint64_t>(Bit(table, minterm)) << i;
      }
      return result;
    };
    const std::string suffix = " bitop3:" + std::to_string(table);
    ExpectEach("v_bitop3_b32 v0, v1, v4, v6" + suffix,
               {{0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa}, {0x12345678, 0x9abcdef0, 0xdeadbeef}},
               expected);
    ExpectEach("v_bitop3_b16 v0, v1, v4, v6" + suffix, {{0xf0f0, 0xcccc, 0xaaaa}},
               [&](Values v) { return (expected(v) & 0xffff) | (kPoison & 0xffff0000u); });
  }
  ExpectEach("v_prng_b32 v0, v1", Combine(EdgeWords()),
             [](Values v) { return Low(v.a << 1) ^ (v.a >= 0x80000000u ? 197u : 0u); });
  const auto bytes = [](Values v, int64_t low, int64_t high) {
    const int64_t a = std::clamp(Signed(v.a) >> (v.c % 32), low, high);
    const int64_t b = std::clamp(Signed(v.b) >> (v.c % 32), low, high);
    return (static_cast<uint64_t>(a) & 255) | (static_cast<uint64_t>(b) & 255) << 8 |
           (kPoison & 0xffff0000u);
  };
  const auto inputs = Combine(EdgeWords(), EdgeWords(), Third());
  ExpectEach("v_ashr_pk_i8_i32 v0, v1, v4, v6", inputs,
             [&](Values v) { return bytes(v, -128, 127); });
  ExpectEach("v_ashr_pk_u8_i32 v0, v1, v4, v6", inputs, [&](Values v) { return bytes(v, 0, 255); });
}

INSTANTIATE_TEST_SUITE_P(Chips, VectorIntegerTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
