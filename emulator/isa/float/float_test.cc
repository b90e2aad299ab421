// Floating-point arithmetic of 32 and 64 bits: against the host's, special values, MODE.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double D(uint64_t bits) { return std::bit_cast<double>(bits); }
bool IsNan(float a) { return a != a; }
bool IsSignaling(float a) { return IsNan(a) && (std::bit_cast<uint32_t>(a) & 0x400000) == 0; }

// The smaller of two numbers by sign and magnitude, so that -0 is below +0.
bool Below(float a, float b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }
float Min(float a, float b, bool ieee) {
  if (ieee && (IsSignaling(a) || IsSignaling(b))) return std::nanf("");
  if (IsNan(a)) return b;
  if (IsNan(b)) return a;
  return Below(a, b) ? a : b;
}
float Max(float a, float b, bool ieee) {
  if (ieee && (IsSignaling(a) || IsSignaling(b))) return std::nanf("");
  if (IsNan(a)) return b;
  if (IsNan(b)) return a;
  return Below(a, b) ? b : a;
}

std::vector<Values> RandomFloats(uint64_t seed) {
  auto inputs = Random(1 << 14, seed);
  for (Values& v : inputs) v = {v.a & 0xffffffffu, v.b & 0xffffffffu, v.c & 0xffffffffu};
  return inputs;
}

class FloatTest : public InstructionTest {};

TEST_P(FloatTest, SingleArithmetic) {
  for (const auto& inputs : {Combine(EdgeWords(), EdgeWords()), RandomFloats(1)}) {
    ExpectEachFloat("v_add_f32 v0, v1, v4", inputs, [](Values v) { return F(v.a) + F(v.b); });
    ExpectEachFloat("v_sub_f32 v0, v1, v4", inputs, [](Values v) { return F(v.a) - F(v.b); });
    ExpectEachFloat("v_subrev_f32 v0, v1, v4", inputs, [](Values v) { return F(v.b) - F(v.a); });
    ExpectEachFloat("v_mul_f32 v0, v1, v4", inputs, [](Values v) { return F(v.a) * F(v.b); });
    ExpectEachFloat("v_mul_legacy_f32 v0, v1, v4", inputs,
                    [](Values v) { return F(v.a) == 0 || F(v.b) == 0 ? 0.0f : F(v.a) * F(v.b); });
  }
  const std::vector<uint64_t> third = {0,          0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x33800000, 0x80000000, 1,          0x7fc00000};
  for (const auto& inputs : {Combine(EdgeWords(), EdgeWords(), third), RandomFloats(2)}) {
    const auto fma = [](Values v) { return std::fma(F(v.a), F(v.b), F(v.c)); };
    ExpectEachFloat("v_fma_f32 v0, v1, v4, v6", inputs, fma);
    ExpectEachFloat("v_fma_f32 v0, -v1, |v4|, -v6", inputs,
                    [](Values v) { return std::fma(-F(v.a), std::fabs(F(v.b)), -F(v.c)); });
    ExpectEachFloat("v_fmaak_f32 v0, v1, v4, 0x3fc00000", inputs,
                    [](Values v) { return std::fma(F(v.a), F(v.b), 1.5f); });
    ExpectEachFloat("v_fmamk_f32 v0, v1, 0x3fc00000, v4", inputs,
                    [](Values v) { return std::fma(F(v.a), 1.5f, F(v.b)); });
  }
  // v_fmac adds to its destination.
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(0, lane, static_cast<float>(lane));
    SetF32(1, lane, 3);
    SetF32(4, lane, 0.25f);
  }
  Run("v_fmac_f32 v0, v1, v4\nv_fmac_f32_e64 v0, -v1, v4\nv_fmac_f32_e64 v0, |v1|, v4");
  for (int lane = 0; lane < kLanes; ++lane) {
    ASSERT_EQ(F32(0, lane), 0.75f + static_cast<float>(lane));
  }
}

TEST_P(FloatTest, SingleMinimaAndMaxima) {
  const std::vector<uint64_t> third = {0,          0x80000000, 0x3f800000, 0xbf800000,
                                       0x7f800000, 0x7f800001, 0x7fc00000};
  for (bool ieee : {true, false}) {
    wave_->mode.bits = ieee ? 0x3f0 : 0x1f0;
    const auto two = Combine(EdgeWords(), EdgeWords());
    ExpectEachFloat("v_min_f32 v0, v1, v4", two,
                    [ieee](Values v) { return Min(F(v.a), F(v.b), ieee); });
    ExpectEachFloat("v_max_f32 v0, v1, v4", two,
                    [ieee](Values v) { return Max(F(v.a), F(v.b), ieee); });
    const auto three = Combine(EdgeWords(), EdgeWords(), third);
    ExpectEachFloat("v_min3_f32 v0, v1, v4, v6", three,
                    [ieee](Values v) { return Min(Min(F(v.a), F(v.b), ieee), F(v.c), ieee); });
    ExpectEachFloat("v_max3_f32 v0, v1, v4, v6", three,
                    [ieee](Values v) { return Max(Max(F(v.a), F(v.b), ieee), F(v.c), ieee); });
    ExpectEachFloat("v_med3_f32 v0, v1, v4, v6", three, [ieee](Values v) {
      const float a = F(v.a), b = F(v.b), c = F(v.c);
      if (IsNan(a) || IsNan(b) || IsNan(c)) return Min(Min(a, b, ieee), c, ieee);
      float sorted[] = {a, b, c};
      std::sort(sorted, sorted + 3, Below);
      return sorted[1];
    });
  }
  wave_->mode.bits = 0x3f0;
  if (!IsGfx950()) return;
  const auto three = Combine(EdgeWords(), EdgeWords(), third);
  const auto any_nan = [](Values v) { return IsNan(F(v.a)) || IsNan(F(v.b)) || IsNan(F(v.c)); };
  ExpectEachFloat("v_minimum3_f32 v0, v1, v4, v6", three, [&](Values v) {
    return any_nan(v) ? std::nanf("") : Min(Min(F(v.a), F(v.b), false), F(v.c), false);
  });
  ExpectEachFloat("v_maximum3_f32 v0, v1, v4, v6", three, [&](Values v) {
    return any_nan(v) ? std::nanf("") : Max(Max(F(v.a), F(v.b), false), F(v.c), false);
  });
}

TEST_P(FloatTest, SingleParts) {
  for (const auto& inputs : {Combine(EdgeWords()), RandomFloats(3)}) {
    ExpectEachFloat("v_floor_f32 v0, v1", inputs, [](Values v) { return std::floor(F(v.a)); });
    ExpectEachFloat("v_ceil_f32 v0, v1", inputs, [](Values v) { return std::ceil(F(v.a)); });
    ExpectEachFloat("v_trunc_f32 v0, v1", inputs, [](Values v) { return std::trunc(F(v.a)); });
    ExpectEachFloat("v_rndne_f32 v0, v1", inputs, [](Values v) { return std::nearbyint(F(v.a)); });
    ExpectEachFloat("v_fract_f32 v0, v1", inputs, [](Values v) {
      return std::fmin(F(v.a) - std::floor(F(v.a)), 0x1.fffffep-1f) +
             (std::isfinite(F(v.a)) ? 0.0f : std::nanf(""));
    });
    ExpectEachFloat("v_frexp_mant_f32 v0, v1", inputs, [](Values v) {
      int exponent;
      return std::isfinite(F(v.a)) ? std::frexp(F(v.a), &exponent) : F(v.a);
    });
    ExpectEach("v_frexp_exp_i32_f32 v0, v1", inputs, [](Values v) {
      int exponent = 0;
      if (std::isfinite(F(v.a))) (void)std::frexp(F(v.a), &exponent);
      return static_cast<uint64_t>(exponent);
    });
  }
  std::vector<uint64_t> exponents;
  for (int e = -300; e <= 300; e += 7) exponents.push_back(static_cast<uint32_t>(e));
  exponents.insert(exponents.end(), {0x80000000u, 0x7fffffffu});
  ExpectEachFloat("v_ldexp_f32 v0, v1, v4", Combine(EdgeWords(), exponents), [](Values v) {
    return std::ldexp(F(v.a), static_cast<int>(static_cast<uint32_t>(v.b)));
  });
}

TEST_P(FloatTest, ConditionalMoves) {
  wave_->set_vcc(0x00000000ffff0000u);
  for (int lane = 0; lane < kLanes; ++lane) {
    SetF32(1, lane, 1.0f);
    SetF32(4, lane, 2.0f);
    Set(6, lane, 1);  // a denormal
  }
  wave_->mode.bits &= ~0x30u;  // flushing arithmetic does not touch a move
  Run("v_cndmask_b32 v0, v1, v4, vcc\n"
      "v_cndmask_b32_e64 v8, -v1, |v6|, vcc");
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool taken = lane >= 16 && lane < 32;
    ASSERT_EQ(F32(0, lane), taken ? 2.0f : 1.0f) << lane;
    ASSERT_EQ(Get(8, lane), taken ? 1u : 0xbf800000u) << lane;
  }
}

TEST_P(FloatTest, DoubleArithmetic) {
  for (const auto& inputs : {Combine(EdgeLongs(), EdgeLongs()), Random(1 << 13, 4)}) {
    ExpectEachDouble("v_add_f64 v[8:9], v[2:3], v[12:13]", inputs,
                     [](Values v) { return D(v.a) + D(v.b); });
    ExpectEachDouble("v_mul_f64 v[8:9], v[2:3], -v[12:13]", inputs,
                     [](Values v) { return D(v.a) * -D(v.b); });
    ExpectEachDouble("v_min_f64 v[8:9], v[2:3], v[12:13]", inputs, [](Values v) {
      const bool signaling =
          (D(v.a) != D(v.a) && (v.a >> 51 & 1) == 0) || (D(v.b) != D(v.b) && (v.b >> 51 & 1) == 0);
      if (signaling) return std::nan("");
      return D(v.a) == D(v.b) ? D(v.a | v.b) : std::fmin(D(v.a), D(v.b));
    });
    ExpectEachDouble("v_max_f64 v[8:9], v[2:3], v[12:13]", inputs, [](Values v) {
      const bool signaling =
          (D(v.a) != D(v.a) && (v.a >> 51 & 1) == 0) || (D(v.b) != D(v.b) && (v.b >> 51 & 1) == 0);
      if (signaling) return std::nan("");
      return D(v.a) == D(v.b) ? D(v.a & v.b) : std::fmax(D(v.a), D(v.b));
    });
    ExpectEachDouble("v_floor_f64 v[8:9], v[2:3]", inputs,
                     [](Values v) { return std::floor(D(v.a)); });
    ExpectEachDouble("v_ceil_f64 v[8:9], v[2:3]", inputs,
                     [](Values v) { return std::ceil(D(v.a)); });
    ExpectEachDouble("v_trunc_f64 v[8:9], v[2:3]", inputs,
                     [](Values v) { return std::trunc(D(v.a)); });
    ExpectEachDouble("v_rndne_f64 v[8:9], v[2:3]", inputs,
                     [](Values v) { return std::nearbyint(D(v.a)); });
    ExpectEachDouble("v_fract_f64 v[8:9], v[2:3]", inputs, [](Values v) {
      return std::isfinite(D(v.a)) ? std::fmin(D(v.a) - std::floor(D(v.a)), 0x1.fffffffffffffp-1)
                                   : std::nan("");
    });
    ExpectEachDouble("v_frexp_mant_f64 v[8:9], v[2:3]", inputs, [](Values v) {
      int exponent;
      return std::isfinite(D(v.a)) ? std::frexp(D(v.a), &exponent) : D(v.a);
    });
    ExpectEach("v_frexp_exp_i32_f64 v0, v[2:3]", inputs, [](Values v) {
      int exponent = 0;
      if (std::isfinite(D(v.a))) (void)std::frexp(D(v.a), &exponent);
      return static_cast<uint64_t>(exponent);
    });
  }
  std::vector<uint64_t> exponents;
  for (int e = -2200; e <= 2200; e += 37) exponents.push_back(static_cast<uint32_t>(e));
  ExpectEachDouble("v_ldexp_f64 v[8:9], v[2:3], v4", Combine(EdgeLongs(), exponents), [](Values v) {
    return std::ldexp(D(v.a), static_cast<int>(static_cast<uint32_t>(v.b)));
  });
  ExpectEachDouble("v_fma_f64 v[8:9], v[2:3], v[12:13], v[14:15]",
                   Combine(EdgeLongs(), EdgeLongs(), EdgeLongs()),
                   [](Values v) { return std::fma(D(v.a), D(v.b), D(v.c)); });
}

TEST_P(FloatTest, PairsOfSingles) {
  for (const auto& inputs : {Random(1 << 13, 5), Combine(EdgeLongs(), EdgeLongs())}) {
    const auto pair = [](float low, float high) {
      return static_cast<uint64_t>(std::bit_cast<uint32_t>(high)) << 32 |
             std::bit_cast<uint32_t>(low);
    };
    const auto same = [&](uint64_t got, uint64_t want) {
      for (int shift : {0, 32}) {
        const float g = F(got >> shift), w = F(want >> shift);
        if (!(IsNan(g) && IsNan(w)) && std::bit_cast<uint32_t>(g) != std::bit_cast<uint32_t>(w)) {
          return false;
        }
      }
      return true;
    };
    const auto expect = [&](const std::string& text, auto expected) {
      ForEach(text, inputs, [&](Values v, int lane) {
        ASSERT_TRUE(same(Get64(8, lane), expected(v)))
            << text << std::hex << " a = " << v.a << " b = " << v.b << " c = " << v.c << " got "
            << Get64(8, lane) << ", expected " << expected(v);
      });
    };
    expect("v_pk_add_f32 v[8:9], v[2:3], v[12:13]",
           [&](Values v) { return pair(F(v.a) + F(v.b), F(v.a >> 32) + F(v.b >> 32)); });
    expect("v_pk_mul_f32 v[8:9], v[2:3], v[12:13] op_sel:[1,0] op_sel_hi:[0,1]",
           [&](Values v) { return pair(F(v.a >> 32) * F(v.b), F(v.a) * F(v.b >> 32)); });
    expect("v_pk_fma_f32 v[8:9], v[2:3], v[12:13], v[14:15] neg_lo:[1,0,0] neg_hi:[0,0,1]",
           [&](Values v) {
             return pair(std::fma(-F(v.a), F(v.b), F(v.c)),
                         std::fma(F(v.a >> 32), F(v.b >> 32), -F(v.c >> 32)));
           });
    // A constant stands in the low register; op_sel_hi 0 takes it for both.
    expect("v_pk_add_f32 v[8:9], v[2:3], 1.0 op_sel_hi:[1,0]",
           [&](Values v) { return pair(F(v.a) + 1.0f, F(v.a >> 32) + 1.0f); });
    expect("v_pk_mov_b32 v[8:9], v[2:3], v[12:13] op_sel:[1,0]",
           [&](Values v) { return (v.a >> 32) | (v.b << 32); });
    expect("v_pk_mov_b32 v[8:9], v[2:3], v[12:13] op_sel:[0,1]",
           [&](Values v) { return (v.a & 0xffffffffu) | (v.b >> 32 << 32); });
  }
}

TEST_P(FloatTest, CubeFaces) {
  struct {
    float x, y, z, face, s, t, major;
  } const kCases[] = {{2, 1, -1, 0, 1, -1, 4}, {-2, 1, -1, 1, -1, -1, -4},
                      {1, 2, -1, 2, 1, -1, 4}, {1, -2, -1, 3, 1, 1, -4},
                      {1, -1, 2, 4, 1, 1, 4},  {1, -1, -2, 5, -1, 1, -4},
                      {1, 1, 1, 4, 1, -1, 2},  {2, 2, 1, 2, 2, 1, 4}};
  for (const auto& test : kCases) {
    SetF32(1, 0, test.x);
    SetF32(4, 0, test.y);
    SetF32(6, 0, test.z);
    Run("v_cubeid_f32 v8, v1, v4, v6\nv_cubesc_f32 v9, v1, v4, v6\n"
        "v_cubetc_f32 v10, v1, v4, v6\nv_cubema_f32 v11, v1, v4, v6");
    EXPECT_EQ(F32(8, 0), test.face);
    EXPECT_EQ(F32(9, 0), test.s);
    EXPECT_EQ(F32(10, 0), test.t);
    EXPECT_EQ(F32(11, 0), test.major);
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, FloatTest, testing::Values(Arch::kGfx942, Arch::kGfx950), ChipName);

}  // namespace
}  // namespace lanewise::emulator
