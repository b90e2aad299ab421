// Division: the whole sequence that clang emits gives the correctly rounded quotient of any two
// numbers; the helpers' special cases; the digits of 2 / pi.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
double D(uint64_t bits) { return std::bit_cast<double>(bits); }

class DivisionTest : public InstructionTest {};

// num v1, den v4 -> v0.
constexpr char kSingle[] =
    "v_div_scale_f32 v20, s[0:1], v4, v4, v1\n"
    "v_div_scale_f32 v21, vcc, v1, v4, v1\n"
    "v_rcp_f32 v22, v20\n"
    "v_fma_f32 v23, -v20, v22, 1.0\n"
    "v_fmac_f32 v22, v23, v22\n"
    "v_mul_f32 v23, v21, v22\n"
    "v_fma_f32 v24, -v20, v23, v21\n"
    "v_fmac_f32 v23, v24, v22\n"
    "v_fma_f32 v20, -v20, v23, v21\n"
    "v_div_fmas_f32 v20, v20, v22, v23\n"
    "v_div_fixup_f32 v0, v20, v4, v1";

// num v[2:3], den v[12:13] -> v[8:9].
constexpr char kDouble[] =
    "v_div_scale_f64 v[20:21], s[0:1], v[12:13], v[12:13], v[2:3]\n"
    "v_rcp_f64 v[22:23], v[20:21]\n"
    "v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0\n"
    "v_fmac_f64 v[22:23], v[22:23], v[24:25]\n"
    "v_fma_f64 v[24:25], -v[20:21], v[22:23], 1.0\n"
    "v_fmac_f64 v[22:23], v[22:23], v[24:25]\n"
    "v_div_scale_f64 v[24:25], vcc, v[2:3], v[12:13], v[2:3]\n"
    "v_mul_f64 v[26:27], v[24:25], v[22:23]\n"
    "v_fma_f64 v[20:21], -v[20:21], v[26:27], v[24:25]\n"
    "v_div_fmas_f64 v[20:21], v[20:21], v[22:23], v[26:27]\n"
    "v_div_fixup_f64 v[8:9], v[20:21], v[12:13], v[2:3]";

// A number of any exponent, with a mantissa of few bits half of the time.
uint64_t AnyFloat(Draw& draw) {
  const uint64_t bits = draw.Next();
  return (bits >> 40 & 1) != 0 ? bits & 0xffffffffu : bits & 0xfff00000u;
}
uint64_t AnyDouble(Draw& draw) {
  const uint64_t bits = draw.Next();
  return (draw.Next() & 1) != 0 ? bits : bits & 0xfffff00000000000u;
}

TEST_P(DivisionTest, SinglesAreCorrectlyRounded) {
  auto inputs = Combine(EdgeWords(), EdgeWords());
  Draw draw(14);
  for (int i = 0; i < 6000; ++i) inputs.push_back({AnyFloat(draw), AnyFloat(draw), 0});
  // Quotients among the denormals and near both ends.
  for (int e = 0; e < 6000; ++e) {
    const uint64_t a = draw.Next(), b = draw.Next();
    const uint64_t low = (a >> 32) % 30 + (e % 2) * 226;
    inputs.push_back(
        {(a & 0x807fffff) | low << 23, (b & 0x807fffff) | (120 + (b >> 32) % 14) << 23, 0});
    inputs.push_back({(a & 0x807fffff) | (100 + (a >> 40) % 50) << 23,
                      (b & 0x807fffff) | (226 + (b >> 32) % 28) << 23, 0});
  }
  std::vector<Instruction> program;
  for (size_t first = 0; first < inputs.size(); first += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Values& in = inputs[std::min(first + lane, inputs.size() - 1)];
      Set(1, lane, static_cast<uint32_t>(in.a));
      Set(4, lane, static_cast<uint32_t>(in.b));
    }
    if (program.empty()) program = DecodeAll(kSingle);
    for (const Instruction& inst : program) Run(inst);
    for (int lane = 0; lane < kLanes && first + lane < inputs.size(); ++lane) {
      const Values& in = inputs[first + lane];
      const float want = F(in.a) / F(in.b);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(F32(0, lane))) << F(in.a) << " / " << F(in.b);
      } else {
        ASSERT_EQ(Get(0, lane), std::bit_cast<uint32_t>(want))
            << std::hexfloat << F(in.a) << " / " << F(in.b) << " gave " << F32(0, lane)
            << ", expected " << want;
      }
    }
  }
}

TEST_P(DivisionTest, DoublesAreCorrectlyRounded) {
  auto inputs = Combine(EdgeLongs(), EdgeLongs());
  Draw draw(15);
  for (int i = 0; i < 6000; ++i) inputs.push_back({AnyDouble(draw), AnyDouble(draw), 0});
  constexpr uint64_t kKeep = 0x800fffffffffffffu;
  for (int i = 0; i < 6000; ++i) {
    const uint64_t a = draw.Next(), b = draw.Next(), c = draw.Next();
    inputs.push_back(
        {(a & kKeep) | (c % 60) << 52, (b & kKeep) | (1000 + (c >> 32) % 50) << 52, 0});
    inputs.push_back(
        {(a & kKeep) | (900 + c % 200) << 52, (b & kKeep) | (1900 + (c >> 32) % 146) << 52, 0});
  }
  const std::vector<Instruction> program = DecodeAll(kDouble);
  for (size_t first = 0; first < inputs.size(); first += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Values& in = inputs[std::min(first + lane, inputs.size() - 1)];
      Set64(2, lane, in.a);
      Set64(12, lane, in.b);
    }
    for (const Instruction& inst : program) Run(inst);
    for (int lane = 0; lane < kLanes && first + lane < inputs.size(); ++lane) {
      const Values& in = inputs[first + lane];
      // With a divisor of all ones the sequence itself, on exact arithmetic, rounds a tie where the
      // quotient is not halfway.
      if ((in.b & 0xfffffffffffffu) == 0xfffffffffffffu) continue;
      const double want = D(in.a) / D(in.b);
      const double got = D(Get64(8, lane));
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << D(in.a) << " / " << D(in.b);
      } else {
        ASSERT_EQ(Get64(8, lane), std::bit_cast<uint64_t>(want))
            << std::hexfloat << D(in.a) << " / " << D(in.b) << " gave " << got << ", expected "
            << want;
      }
    }
  }
}

TEST_P(DivisionTest, ScaleCases) {
  struct {
    float value, denominator, numerator, expected;
    bool flag;
  } const kCases[] = {
      {1.0f, 1.0f, 3.0f, 1.0f, false},
      {3.0f, 1.0f, 3.0f, 3.0f, false},
      {0x1p-60f, 0x1p-60f, 0x1p60f, 0x1p4f, true},         // quotient near the maximum: the
      {0x1p60f, 0x1p-60f, 0x1p60f, 0x1p60f, true},         //   denominator alone
      {0x1p-140f, 0x1p-140f, 0x1p-100f, 0x1p-76f, false},  // denormal denominator: both
      {0x1p127f, 0x1p127f, 0x1p100f, 0x1p63f, false},      // denormal reciprocal: both, down
      {0x1p-100f, 0x1p30f, 0x1p-100f, 0x1p-36f, true},     // denormal quotient: the numerator alone
      {0x1p30f, 0x1p30f, 0x1p-100f, 0x1p30f, true},
      {0x1p-110f, 0x1p-5f, 0x1p-110f, 0x1p-46f, false},  // tiny numerator: both
  };
  for (const auto& test : kCases) {
    SetF32(1, 0, test.value);
    SetF32(4, 0, test.denominator);
    SetF32(6, 0, test.numerator);
    Run("v_div_scale_f32 v0, vcc, v1, v4, v6");
    EXPECT_EQ(F32(0, 0), test.expected) << test.value << " " << test.denominator;
    EXPECT_EQ(wave_->vcc() & 1, test.flag ? 1u : 0u) << test.value << " " << test.denominator;
  }
  SetF32(4, 0, 0.0f);
  Run("v_div_scale_f32 v0, vcc, v1, v4, v6");
  EXPECT_TRUE(std::isnan(F32(0, 0)));
}

// The one place where v_div_fmas rounds a scaled result: exact ties of the denormal result that the
// unrounded sum is beside.
TEST_P(DivisionTest, FmasRoundsOnce) {
  wave_->set_vcc(1);
  SetF32(1, 0, 0x1p-60f);  // a * b = 2^-120, far below the last place of c
  SetF32(4, 0, 0x1p-60f);
  SetF32(6, 0, 0x1.000002p-84f);  // c 2^-64 = 2^-148 (1 + 2^-23): just above 2^-148
  Run("v_div_fmas_f32 v0, v1, v4, v6");
  EXPECT_EQ(Get(0, 0), 2u);
  SetF32(6, 0, 0x1.8p-85f);  // 1.5 * 2^-149 is a tie; the product lifts it above
  Run("v_div_fmas_f32 v0, v1, v4, v6\nv_div_fmas_f32 v8, -v1, v4, v6");
  EXPECT_EQ(Get(0, 0), 2u);
  EXPECT_EQ(Get(8, 0), 1u);
  wave_->set_vcc(0);
  Run("v_div_fmas_f32 v0, v1, v4, v6");
  EXPECT_EQ(F32(0, 0), std::fma(0x1p-60f, 0x1p-60f, 0x1.8p-85f));
}

TEST_P(DivisionTest, HalvesByFixup) {
  // a / b for halves: quotient in float, rounded, fixed up.
  ForEach("v_div_fixup_f16 v0, v1, v4, v6", Combine({0x3c00, 0x4248}, EdgeHalves(), EdgeHalves()),
          [&](Values v, int lane) {
            const F16 den = F16::FromBits(static_cast<uint16_t>(v.b));
            const F16 num = F16::FromBits(static_cast<uint16_t>(v.c));
            const float quotient = num.ToFloat() / den.ToFloat();
            const F16 got = F16::FromBits(static_cast<uint16_t>(Get(0, lane)));
            ASSERT_EQ(Get(0, lane) >> 16, kPoison >> 16);
            if (std::isnan(quotient)) {
              ASSERT_TRUE(got.IsNan()) << num.ToFloat() << " / " << den.ToFloat();
            } else if (!std::isfinite(quotient) || den.IsInf() || num.IsZero()) {
              ASSERT_EQ(got.bits(), F16::FromFloat(quotient).bits());
            } else {
              // An ordinary quotient passes, with the sign of the operands.
              const uint64_t sign = (v.b ^ v.c) & 0x8000;
              ASSERT_EQ(got.bits(), v.a | sign);
            }
          });
}

TEST_P(DivisionTest, DigitsOfTwoOverPi) {
  // Segments 0, 1, 2 together are 2 / pi to 159 bits.
  Set64(2, 0, std::bit_cast<uint64_t>(1.0));
  long double sum = 0;
  for (int segment = 2; segment >= 0; --segment) {
    Set(4, 0, static_cast<uint32_t>(segment));
    Run("v_trig_preop_f64 v[8:9], v[2:3], v4");
    sum += static_cast<long double>(D(Get64(8, 0)));
  }
  EXPECT_EQ(sum, 0.636619772367581343075535053490057448L);
  // Each bit of the piece after a far shift is that of a nearer shift: pieces overlap consistently.
  Set64(2, 0, std::bit_cast<uint64_t>(std::ldexp(1.0, 1077 - 1023 + 53)));
  Set(4, 0, 0);
  Run("v_trig_preop_f64 v[8:9], v[2:3], v4");
  const double far = D(Get64(8, 0));
  Set64(2, 0, std::bit_cast<uint64_t>(1.0));
  Set(4, 0, 1);
  Run("v_trig_preop_f64 v[8:9], v[2:3], v4");
  EXPECT_EQ(far, D(Get64(8, 0)));
}

INSTANTIATE_TEST_SUITE_P(Chips, DivisionTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
