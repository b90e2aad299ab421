// Halves, single, packed and mixed: exact integer arithmetic in units of 2^-48, rounded once.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

constexpr uint32_t kNan = 0x7e00;

bool IsNan(uint64_t half) { return (half & 0x7fff) > 0x7c00; }
bool IsInf(uint64_t half) { return (half & 0x7fff) == 0x7c00; }
bool IsNegative(uint64_t half) { return (half & 0x8000) != 0; }
double Value(uint64_t half) { return F16::FromBits(static_cast<uint16_t>(half)).ToFloat(); }

// A finite half in units of 2^-24.
int64_t Units(uint64_t half) {
  const int64_t mantissa = static_cast<int64_t>(half & 0x3ff);
  const int exponent = static_cast<int>(half >> 10) & 31;
  const int64_t magnitude = exponent == 0 ? mantissa : (mantissa | 0x400) << (exponent - 1);
  return IsNegative(half) ? -magnitude : magnitude;
}

// Units of 2^-48 to the nearest half, ties to even.
uint32_t Round(__int128 units, bool negative_zero) {
  if (units == 0) return negative_zero ? 0x8000 : 0;
  const bool negative = units < 0;
  unsigned __int128 magnitude = static_cast<unsigned __int128>(negative ? -units : units);
  int top = 0;
  while (magnitude >> (top + 1) != 0) ++top;
  const int drop = std::max(top - 10, 24);  // a half's last place
  unsigned __int128 kept = magnitude >> drop;
  const unsigned __int128 rest = magnitude - (kept << drop);
  const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // kept * 2^(drop - 48): a code counts up with the value.
  uint64_t code = static_cast<uint64_t>(kept) + (static_cast<uint64_t>(drop - 24) << 10);
  if (code > 0x7c00) code = 0x7c00;
  return static_cast<uint32_t>(code) | (negative ? 0x8000u : 0u);
}

// a * b + c with one rounding, and the special cases of IEEE 754.
uint32_t Fma(uint64_t a, uint64_t b, uint64_t c) {
  if (IsNan(a) || IsNan(b) || IsNan(c)) return kNan;
  const bool product_negative = IsNegative(a) != IsNegative(b);
  if (IsInf(a) || IsInf(b)) {
    if ((a & 0x7fff) == 0 || (b & 0x7fff) == 0) return kNan;
    if (IsInf(c) && IsNegative(c) != product_negative) return kNan;
    return product_negative ? 0xfc00 : 0x7c00;
  }
  if (IsInf(c)) return static_cast<uint32_t>(c & 0xffff);
  const __int128 product = static_cast<__int128>(Units(a)) * Units(b);
  const __int128 sum = product + (static_cast<__int128>(Units(c)) << 24);
  return Round(sum, product_negative && IsNegative(c));
}
uint32_t Add(uint64_t a, uint64_t b) { return Fma(a, 0x3c00, b); }
// -0 as c keeps the sign of a product that is zero.
uint32_t Mul(uint64_t a, uint64_t b) {
  return Fma(a, b, IsNegative(a) != IsNegative(b) ? 0x8000 : 0);
}

uint32_t FromDouble(double value) { return F16::FromDouble(value).bits(); }

class Float16Test : public InstructionTest {
 protected:
  // `above`: the upper half of the result.
  template <typename Expected>
  void Check(const std::string& text, const std::vector<Values>& inputs, uint32_t above,
             Expected expected) {
    ForEach(text, inputs, [&](Values v, int lane) {
      const uint32_t got = Get(0, lane);
      const uint32_t want = expected(v) & 0xffffu;
      if (IsNan(want) && IsNan(got) && got >> 16 == above >> 16) return;
      ASSERT_EQ(got, want | above)
          << text << std::hex << " a = " << v.a << " b = " << v.b << " c = " << v.c;
    });
  }
};

const std::vector<uint64_t>& SomeHalves() {
  static const auto* const kSome =
      new std::vector<uint64_t>{0x0000, 0x8000, 0x0001, 0x03ff, 0x0400, 0x3c00,
                                0xbc01, 0x7bff, 0xfc00, 0x7e00, 0x5640, 0x1234};
  return *kSome;
}

TEST_P(Float16Test, Arithmetic) {
  const auto two = Combine(AllHalves(), SomeHalves());
  Check("v_add_f16 v0, v1, v4", two, 0, [](Values v) { return Add(v.a, v.b); });
  Check("v_sub_f16 v0, v1, v4", two, 0, [](Values v) { return Add(v.a, v.b ^ 0x8000); });
  Check("v_subrev_f16 v0, v1, v4", two, 0, [](Values v) { return Add(v.b, v.a ^ 0x8000); });
  Check("v_mul_f16 v0, v1, v4", two, 0, [](Values v) { return Mul(v.a, v.b); });
  const auto three =
      Combine(AllHalves(), {0x3c01, 0x0001, 0x7bff, 0xb555}, {0x8000, 0x0001, 0x7bff});
  const uint32_t kept = kPoison & 0xffff0000u;
  Check("v_fma_f16 v0, v1, v4, v6", three, kept, [](Values v) { return Fma(v.a, v.b, v.c); });
  Check("v_fma_f16 v0, v1, v4, v6", Combine(EdgeHalves(), EdgeHalves(), EdgeHalves()), kept,
        [](Values v) { return Fma(v.a, v.b, v.c); });
  Check("v_mad_f16 v0, v1, v4, v6", three, kept, [](Values v) { return Add(Mul(v.a, v.b), v.c); });
  Check("v_mad_legacy_f16 v0, v1, v4, v6", three, 0,
        [](Values v) { return Add(Mul(v.a, v.b), v.c); });
  Check("v_madak_f16 v0, v1, v4, 0x4200", two, kept,
        [](Values v) { return Add(Mul(v.a, v.b), 0x4200); });
}

TEST_P(Float16Test, OneOperand) {
  const auto all = Combine(AllHalves());
  const auto whole = [](double (*function)(double)) {
    return [function](Values v) -> uint32_t {
      if (IsNan(v.a)) return kNan;
      return FromDouble(std::copysign(function(Value(v.a)), Value(v.a)));
    };
  };
  Check("v_floor_f16 v0, v1", all, 0, whole(std::floor));
  Check("v_ceil_f16 v0, v1", all, 0, whole(std::ceil));
  Check("v_trunc_f16 v0, v1", all, 0, whole(std::trunc));
  Check("v_rndne_f16 v0, v1", all, 0, whole(std::nearbyint));
  Check("v_fract_f16 v0, v1", all, 0, [](Values v) -> uint32_t {
    if (IsNan(v.a) || IsInf(v.a)) return kNan;
    return std::min<uint32_t>(FromDouble(Value(v.a) - std::floor(Value(v.a))), 0x3bff);
  });
  Check("v_frexp_mant_f16 v0, v1", all, 0, [](Values v) -> uint32_t {
    if (IsNan(v.a)) return kNan;
    int exponent;
    return IsInf(v.a) ? static_cast<uint32_t>(v.a) : FromDouble(std::frexp(Value(v.a), &exponent));
  });
  Check("v_frexp_exp_i16_f16 v0, v1", all, 0, [](Values v) -> uint32_t {
    int exponent = 0;
    if (!IsNan(v.a) && !IsInf(v.a)) (void)std::frexp(Value(v.a), &exponent);
    return static_cast<uint32_t>(exponent) & 0xffff;
  });
  for (int e : {-40, -25, -11, -1, 0, 1, 10, 39, 32767, -32768}) {
    wave_->scalar[2] = static_cast<uint32_t>(e);
    Check("v_ldexp_f16 v0, v1, s2", all, 0, [e](Values v) -> uint32_t {
      if (IsNan(v.a)) return kNan;
      return FromDouble(std::ldexp(Value(v.a), e));
    });
  }
}

TEST_P(Float16Test, MinimaAndMaxima) {
  const auto min = [](uint64_t a, uint64_t b) -> uint32_t {
    const bool signaling = (IsNan(a) && (a & 0x200) == 0) || (IsNan(b) && (b & 0x200) == 0);
    if (signaling) return kNan;
    if (IsNan(a)) return static_cast<uint32_t>(b);
    if (IsNan(b)) return static_cast<uint32_t>(a);
    if (Value(a) == Value(b)) return static_cast<uint32_t>(a | b);
    return static_cast<uint32_t>(Value(a) < Value(b) ? a : b);
  };
  const auto max = [&](uint64_t a, uint64_t b) { return min(a ^ 0x8000, b ^ 0x8000) ^ 0x8000; };
  const auto two = Combine(AllHalves(), SomeHalves());
  const uint32_t kept = kPoison & 0xffff0000u;
  Check("v_min_f16 v0, v1, v4", two, 0, [&](Values v) { return min(v.a, v.b); });
  Check("v_max_f16 v0, v1, v4", two, 0, [&](Values v) { return max(v.a, v.b); });
  const auto three = Combine(AllHalves(), {0, 0x3c00}, {0x8000, 0xc000, 0x7e00});
  Check("v_min3_f16 v0, v1, v4, v6", three, kept,
        [&](Values v) { return min(min(v.a, v.b), v.c); });
  Check("v_max3_f16 v0, v1, v4, v6", three, kept,
        [&](Values v) { return max(max(v.a, v.b), v.c); });
  Check("v_med3_f16 v0, v1, v4, v6", three, kept, [&](Values v) {
    if (IsNan(v.a) || IsNan(v.b) || IsNan(v.c)) return min(min(v.a, v.b), v.c);
    return max(min(v.a, v.b), min(max(v.a, v.b), v.c));
  });
}

TEST_P(Float16Test, Packed) {
  std::vector<Values> inputs;
  Draw draw(6);
  for (uint64_t i = 0; i < 65536; ++i) {
    inputs.push_back(
        {i | ((i * 40503) & 0xffff) << 16, draw.Next() & 0xffffffffu, draw.Next() & 0xffffffffu});
  }
  const auto check = [&](const std::string& text, auto expected) {
    ForEach(text, inputs, [&](Values v, int lane) {
      for (int shift : {0, 16}) {
        const uint32_t got = (Get(0, lane) >> shift) & 0xffffu;
        const uint32_t want =
            expected((v.a >> shift) & 0xffff, (v.b >> shift) & 0xffff, (v.c >> shift) & 0xffff) &
            0xffffu;
        if (IsNan(got) && IsNan(want)) continue;
        ASSERT_EQ(got, want) << text << std::hex << " a = " << v.a << " b = " << v.b;
      }
    });
  };
  check("v_pk_add_f16 v0, v1, v4", [](auto a, auto b, auto) { return Add(a, b); });
  check("v_pk_mul_f16 v0, v1, v4", [](auto a, auto b, auto) { return Mul(a, b); });
  check("v_pk_fma_f16 v0, v1, v4, v6", [](auto a, auto b, auto c) { return Fma(a, b, c); });
  check("v_pk_fma_f16 v0, v1, v4, v6 neg_lo:[1,0,1] neg_hi:[1,0,1]",
        [](auto a, auto b, auto c) { return Fma(a ^ 0x8000, b, c ^ 0x8000); });
  check("v_pk_add_f16 v0, v1, v4 clamp", [](auto a, auto b, auto) -> uint32_t {
    const uint32_t sum = Add(a, b);
    if (IsNan(sum)) return 0;
    return IsNegative(sum) ? 0 : std::min<uint32_t>(sum, 0x3c00);
  });
}

TEST_P(Float16Test, PackedSelectsAndMixedSigns) {
  const std::vector<Values> inputs = {{0x3c004000, 0x44004800, 0}};  // 1, 2; 4, 8
  ExpectEach("v_pk_mul_f16 v0, v1, v4 op_sel:[1,0] op_sel_hi:[0,1]", inputs,
             [](Values) { return FromDouble(2 * 4) << 16 | FromDouble(1 * 8); });
  ExpectEach("v_pk_mul_f16 v0, v1, v4 neg_lo:[1,0] neg_hi:[0,0]", inputs,
             [](Values) { return FromDouble(1 * 4) << 16 | FromDouble(-2 * 8); });
  ExpectEach("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]", inputs,
             [](Values) { return FromDouble(2) << 16 | FromDouble(3); });
  // v_pk_fmac_f16 has no selects: low with low, high with high, onto the destination.
  Set(0, 0, FromDouble(0.5) << 16 | FromDouble(0.25));
  Set(1, 0, 0x3c004000);
  Set(4, 0, 0x44004800);
  Run("v_pk_fmac_f16 v0, v1, v4");
  EXPECT_EQ(Get(0, 0), FromDouble(4.5) << 16 | FromDouble(16.25));
}

TEST_P(Float16Test, Mixed) {
  // 1.5 and -2 as halves of a, the float 0.25 in b, the float 10 in c.
  const std::vector<Values> inputs = {{0xc0003e00, 0x3e800000, 0x41200000}};
  ExpectEachFloat("v_fma_mix_f32 v0, v1, v4, v6 op_sel_hi:[1,0,0]", inputs,
                  [](Values) { return 1.5f * 0.25f + 10.0f; });
  ExpectEachFloat("v_fma_mix_f32 v0, v1, v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,0]", inputs,
                  [](Values) { return -2.0f * 0.25f + 10.0f; });
  ExpectEachFloat("v_fma_mix_f32 v0, |v1|, -v4, v6 op_sel:[1,0,0] op_sel_hi:[1,0,0]", inputs,
                  [](Values) { return 2.0f * -0.25f + 10.0f; });
  ExpectEach("v_fma_mixlo_f16 v0, v1, v4, v6 op_sel_hi:[1,0,0]", inputs,
             [](Values) { return FromDouble(10.375) | (kPoison & 0xffff0000u); });
  ExpectEach("v_fma_mixhi_f16 v0, v1, v4, v6 op_sel_hi:[1,0,0]", inputs,
             [](Values) { return FromDouble(10.375) << 16 | (kPoison & 0xffffu); });
  ExpectEach("v_fma_mixlo_f16 v0, v1, v4, v6 op_sel_hi:[1,0,0] clamp", inputs,
             [](Values) { return 0x3c00u | (kPoison & 0xffff0000u); });
  ExpectEachFloat("v_fma_mix_f32 v0, v1, v4, 0.15915494 op_sel_hi:[1,0,0]", inputs,
                  [](Values) { return 1.5f * 0.25f + 0.15915494309189532f; });
  ExpectEachFloat("v_fma_mix_f32 v0, v1, -4.0, 2.0 op_sel_hi:[1,0,1]", inputs,
                  [](Values) { return 1.5f * -4.0f + 2.0f; });
  // All halves through the float path.
  ExpectEachFloat("v_fma_mix_f32 v0, v1, 1.0, 0 op_sel_hi:[1,0,0]", Combine(AllHalves()),
                  [](Values v) { return static_cast<float>(Value(v.a)) + 0.0f; });
}

// Sums halfway between two halves, and beyond the largest, in each rounding mode.
TEST_P(Float16Test, RoundingModes) {
  struct {
    uint32_t mode;
    uint32_t up, down, over;  // 1 + 2^-12, -(1 + 2^-12), 65504 + 32
  } const kCases[] = {{0, 0x3c00, 0xbc00, 0x7c00},
                      {1, 0x3c01, 0xbc00, 0x7c00},
                      {2, 0x3c00, 0xbc01, 0x7bff},
                      {3, 0x3c00, 0xbc00, 0x7bff}};
  for (const auto& test : kCases) {
    wave_->mode.bits = 0x3f0 | test.mode << 2;
    Set(1, 0, 0x3c00);
    Set(4, 0, 0x0c00);  // 2^-12
    Set(1, 1, 0xbc00);
    Set(4, 1, 0x8c00);
    Set(1, 2, 0x7bff);
    Set(4, 2, 0x5000);  // 32
    Run("v_add_f16 v0, v1, v4\nv_fma_f16 v7, v1, 1.0, v4\nv_pk_add_f16 v8, v1, v4");
    for (int row : {0, 7, 8}) {
      EXPECT_EQ(Get(row, 0) & 0xffff, test.up) << "mode " << test.mode << " row " << row;
      EXPECT_EQ(Get(row, 1) & 0xffff, test.down) << "mode " << test.mode << " row " << row;
      EXPECT_EQ(Get(row, 2) & 0xffff, test.over) << "mode " << test.mode << " row " << row;
    }
  }
}

TEST_P(Float16Test, DenormalModes) {
  wave_->mode.bits = 0x330;  // halves and doubles flushed, floats not
  Check("v_mul_f16 v0, v1, v4", Combine(AllHalves(), {0x3c00, 0x3800}), 0,
        [](Values v) -> uint32_t {
          const auto flush = [](uint64_t x) { return (x & 0x7c00) == 0 ? x & 0x8000 : x; };
          return static_cast<uint32_t>(flush(Mul(flush(v.a), v.b)));
        });
  Set(1, 0, 0x00010001);
  Set(4, 0, 0x3c003c00);
  Run("v_pk_mul_f16 v0, v1, v4\nv_fma_mix_f32 v8, v1, 1.0, 0 op_sel_hi:[1,0,0]");
  EXPECT_EQ(Get(0, 0), 0u);
  EXPECT_EQ(Get(8, 0), 0u);
}

INSTANTIATE_TEST_SUITE_P(Chips, Float16Test, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
