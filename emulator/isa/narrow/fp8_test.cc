// fp8, bf8 and bf16 conversions: every code up; down the values of and between all codes, against a
// search for the nearest code; stochastic rounding.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "emulator/isa/narrow/narrow_format_model.h"
#include "emulator/testing/instruction_fixture.h"

namespace lanewise::emulator {
namespace {

class Fp8Test : public InstructionTest {
 protected:
  const Format& Fp8() const { return IsGfx950() ? kE4m3 : kE4m3Fnuz; }
  const Format& Bf8() const { return IsGfx950() ? kE5m2 : kE5m2Fnuz; }

  static bool SameFloat(float got, double want) {
    if (std::isnan(want)) return std::isnan(got);
    return Bits(got) == Bits(want);
  }
};

TEST_P(Fp8Test, EveryCodeUp) {
  for (const auto& [name, format] :
       {std::pair<std::string, Format>("fp8", Fp8()), {"bf8", Bf8()}}) {
    for (uint32_t code = 0; code < 256; ++code) {
      const double want = format.Value(code);
      Set(1, 0, code | 0xa5 << 8 | code << 16 | (code ^ 0xff) << 24);
      Run("v_cvt_f32_" + name + " v0, v1\n" + "v_cvt_f32_" + name +
          "_sdwa v8, v1 src0_sel:BYTE_1\n" + "v_cvt_f32_" + name +
          "_sdwa v9, v1 src0_sel:BYTE_3\n" + "v_cvt_pk_f32_" + name + " v[10:11], v1\n" +
          "v_cvt_pk_f32_" + name + "_sdwa v[12:13], v1 src0_sel:WORD_1");
      ASSERT_TRUE(SameFloat(F32(0, 0), want)) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(8, 0), format.Value(0xa5))) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(9, 0), format.Value(code ^ 0xff))) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(10, 0), want)) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(11, 0), format.Value(0xa5))) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(12, 0), want)) << name << " " << code;
      ASSERT_TRUE(SameFloat(F32(13, 0), format.Value(code ^ 0xff))) << name << " " << code;
    }
  }
}

TEST_P(Fp8Test, DownToNearest) {
  for (bool saturate : {false, true}) {
    wave_->mode.bits = 0x3f0 | (saturate ? 1u << 23 : 0);
    for (const auto& [name, format] :
         {std::pair<std::string, Format>("fp8", Fp8()), {"bf8", Bf8()}}) {
      for (bool upper : {false, true}) {
        ForEach("v_cvt_pk_" + name + "_f32 v0, v1, -v4" + (upper ? " op_sel:[0,0,1]" : ""),
                Combine(FloatsFor(format), {0x3f800000}), [&](Values v, int lane) {
                  const uint32_t got = upper ? Get(0, lane) >> 16 : Get(0, lane) & 0xffff;
                  const uint32_t kept = upper ? Get(0, lane) & 0xffff : Get(0, lane) >> 16;
                  ASSERT_EQ(kept, upper ? kPoison & 0xffff : kPoison >> 16);
                  ASSERT_EQ(got >> 8, format.Nearest(-1.0, saturate)) << name;
                  ASSERT_TRUE(SameCode(format, got & 0xff, format.Nearest(F(v.a), saturate)))
                      << name << " of " << F(v.a) << ": " << (got & 0xff) << ", expected "
                      << format.Nearest(F(v.a), saturate) << " saturate " << saturate;
                });
      }
    }
  }
  // Hand values (FNUZ: 240 is the largest, -1e-9 becomes 0x00, not NaN).
  wave_->mode.bits = 0x3f0;
  SetF32(1, 0, -1e-9f);
  SetF32(4, 0, 448.0f);
  Run("v_cvt_pk_fp8_f32 v0, v1, v4");
  EXPECT_EQ(Get(0, 0) & 0xffff, IsGfx950() ? 0x7e80u : 0x8000u);
}

TEST_P(Fp8Test, StochasticFromFloat) {
  Draw draw(9);
  for (const auto& [name, format] :
       {std::pair<std::string, Format>("fp8", Fp8()), {"bf8", Bf8()}}) {
    std::vector<Values> inputs;
    for (uint64_t bits : FloatsFor(format)) {
      for (uint64_t seed : {uint64_t{0}, uint64_t{0xffffffff}, draw.Next() & 0xffffffffu}) {
        inputs.push_back({bits, seed, 0});
      }
    }
    for (uint32_t byte = 0; byte < 4; ++byte) {
      const std::string select =
          " op_sel:[0,0," + std::to_string(byte & 1) + "," + std::to_string(byte >> 1) + "]";
      ForEach(
          "v_cvt_sr_" + name + "_f32 v0, v1, v4" + (byte == 0 ? "" : select), inputs,
          [&](Values v, int lane) {
            const uint32_t mask = 0xffu << (8 * byte);
            ASSERT_EQ(Get(0, lane) & ~mask, kPoison & ~mask);
            const uint32_t got = (Get(0, lane) >> (8 * byte)) & 0xff;
            const uint32_t want = format.Stochastic(F(v.a), static_cast<uint32_t>(v.b), 23, false);
            ASSERT_TRUE(SameCode(format, got, want)) << name << " of " << F(v.a) << " seed " << v.b
                                                     << ": " << got << ", expected " << want;
          });
    }
  }
}

// Over all seeds of 8 steps the mean of the results is the value.
TEST_P(Fp8Test, StochasticRoundingIsFair) {
  const double value = 1.0 + 3.0 / 64;  // 3/8 of a step of e4m3 above 1
  double sum = 0;
  for (uint32_t step = 0; step < 8; ++step) {
    SetF32(1, 0, static_cast<float>(value));
    Set(4, 0, step << 29);
    Run("v_cvt_sr_fp8_f32 v0, v1, v4");
    sum += Fp8().Value(Get(0, 0) & 0xff);
  }
  EXPECT_EQ(sum / 8, value);
}

TEST_P(Fp8Test, Bf16) {
  if (!IsGfx950()) return;
  ExpectEachFloat("v_cvt_f32_bf16 v0, v1", Combine(AllHalves()),
                  [](Values v) { return F(v.a << 16); });
  std::vector<uint64_t> floats = EdgeWords();
  for (uint64_t half = 0; half < 65536; half += 3) {
    for (uint64_t low : {0x0000, 0x7fff, 0x8000, 0x8001, 0xffff})
      floats.push_back(half << 16 | low);
  }
  ForEach("v_cvt_pk_bf16_f32 v0, v1, -v1", Combine(floats), [&](Values v, int lane) {
    const float x = F(v.a);
    if (std::isnan(x)) {
      ASSERT_TRUE(std::isnan(F(uint64_t{Get(0, lane)} << 16)));
      return;
    }
    // Nearest-even by the distance to both neighbours.
    uint64_t low = v.a >> 16;
    const uint64_t rest = v.a & 0xffff;
    if (rest > 0x8000 || (rest == 0x8000 && (low & 1) != 0)) ++low;
    ASSERT_EQ(Get(0, lane), static_cast<uint32_t>(low | (low ^ 0x8000) << 16)) << x;
  });
  const Format f16 = {"f16", 5, 10, 15, false, true, true};
  const Format bf16 = {"bf16", 8, 7, 127, false, true, true};
  auto inputs = Random(1 << 13, 10);
  for (Values& v : inputs) v = {v.a & 0xffffffffu, v.b & 0xffffffffu, 0};
  for (const auto& [name, format] : {std::pair<std::string, Format>("f16", f16), {"bf16", bf16}}) {
    ForEach("v_cvt_sr_" + name + "_f32 v0, v1, v4", inputs, [&](Values v, int lane) {
      const uint32_t want = format.Stochastic(F(v.a), static_cast<uint32_t>(v.b), 23, false);
      ASSERT_EQ(Get(0, lane) >> 16, kPoison >> 16);
      ASSERT_TRUE(SameCode(format, Get(0, lane) & 0xffff, want)) << name << " " << F(v.a);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Fp8Test, testing::Values(Arch::kGfx942, Arch::kGfx950), ChipName);

}  // namespace
}  // namespace lanewise::emulator
