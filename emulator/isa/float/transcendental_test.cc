// The approximate instructions against the C library's long double functions: the modelled error,
// special values, denormals.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

constexpr long double kPi = 3.141592653589793238462643383279502884L;
constexpr double kInf = std::numeric_limits<double>::infinity();

float F(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }

long double Reciprocal(long double x) { return 1 / x; }
long double SquareRoot(long double x) { return std::sqrt(x); }
long double ReciprocalRoot(long double x) { return 1 / std::sqrt(x); }
long double Exp2(long double x) { return std::exp2(x); }
long double Log2(long double x) { return std::log2(x); }
// Of whole and half turns exactly 0.
long double Sine(long double x) {
  const long double turn = x - std::round(x);
  const long double folded = std::fabs(turn) > 0.25L ? std::copysign(0.5L, turn) - turn : turn;
  return std::sin(2 * kPi * folded);
}
long double Cosine(long double x) { return Sine(x - std::round(x) + 0.25L); }

// All exponents, and dense where the functions bend.
std::vector<Values> Floats() {
  auto inputs = Combine(EdgeWords());
  Draw draw(12);
  for (uint64_t exponent = 0; exponent < 256; ++exponent) {
    for (int i = 0; i < 64; ++i) {
      inputs.push_back(
          {exponent << 23 | (draw.Next() & 0x7fffff) | (i % 2 == 0 ? 0 : 0x80000000u), 0, 0});
    }
  }
  for (int i = 0; i < 8192; ++i) {
    inputs.push_back({std::bit_cast<uint32_t>(static_cast<float>(i - 4096) / 32.0f), 0, 0});
    inputs.push_back(
        {std::bit_cast<uint32_t>(1.0f + static_cast<float>(i - 4096) * 0x1p-22f), 0, 0});
  }
  return inputs;
}

float Flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

class TranscendentalTest : public InstructionTest {
 protected:
  // Correctly rounded but where the true value is within 2^-40 of a tie.
  void Check(const std::string& text, long double (*function)(long double), bool flushes) {
    ForEach(text + " v0, v1", Floats(), [&](Values v, int lane) {
      const float x = flushes ? Flush(F(v.a)) : F(v.a);
      if (!flushes && std::fabs(x) > 256) return;
      const long double exact = function(static_cast<long double>(x));
      float want = static_cast<float>(exact);
      if (flushes) want = Flush(want);
      const float got = F32(0, lane);
      if (std::isnan(want)) {
        ASSERT_TRUE(std::isnan(got)) << text << " of " << x;
        return;
      }
      if (std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(want)) return;
      const long double error = std::fabs(static_cast<long double>(got) - exact);
      const float ulp = std::nextafter(std::fabs(want), INFINITY) - std::fabs(want);
      ASSERT_LE(error, ulp * (0.5L + 0x1p-20L)) << text << " of " << x << " gives " << got;
      ASSERT_TRUE(!flushes || std::fabs(got) >= 0x1p-126f || got == 0) << text << " of " << x;
    });
  }
};

TEST_P(TranscendentalTest, Singles) {
  Check("v_rcp_f32", Reciprocal, true);
  Check("v_rcp_iflag_f32", Reciprocal, true);
  Check("v_rsq_f32", ReciprocalRoot, true);
  Check("v_sqrt_f32", SquareRoot, true);
  Check("v_exp_f32", Exp2, true);
  Check("v_log_f32", Log2, true);
  Check("v_sin_f32", Sine, false);
  Check("v_cos_f32", Cosine, false);
}

TEST_P(TranscendentalTest, SpecialValues) {
  struct {
    const char* name;
    double input, expected;
  } const kCases[] = {
      {"rcp", 0.0, kInf},          {"rcp", -0.0, -kInf},
      {"rcp", kInf, 0.0},          {"rcp", -kInf, -0.0},
      {"rcp", 0x1p-127, kInf},     {"rcp", 0x1p127, 0.0},
      {"rsq", 0.0, kInf},          {"rsq", kInf, 0.0},
      {"rsq", -1.0, std::nan("")}, {"sqrt", -1.0, std::nan("")},
      {"sqrt", -0.0, -0.0},        {"sqrt", kInf, kInf},
      {"exp", -kInf, 0.0},         {"exp", kInf, kInf},
      {"exp", -127.0, 0.0},        {"exp", 128.0, kInf},
      {"exp", -126.0, 0x1p-126},   {"exp", 0.0, 1.0},
      {"log", 0.0, -kInf},         {"log", -1.0, std::nan("")},
      {"log", kInf, kInf},         {"log", 1.0, 0.0},
      {"log", 8.0, 3.0},           {"log", 0x1p-130, -kInf},
      {"sin", 0.25, 1.0},          {"sin", 0.5, 0.0},
      {"sin", 0.0, 0.0},           {"sin", -0.0, -0.0},
      {"cos", 0.0, 1.0},           {"cos", 0.25, 0.0},
      {"cos", -0.5, -1.0},         {"sin", 257.25, 0.0},
      {"cos", 300.25, 1.0},        {"sin", 255.25, 1.0},
      {"cos", kInf, 1.0},
  };
  for (const auto& test : kCases) {
    SetF32(1, 0, static_cast<float>(test.input));
    Run("v_" + std::string(test.name) + "_f32 v0, v1");
    const auto want = static_cast<float>(test.expected);
    if (std::isnan(want)) {
      EXPECT_TRUE(std::isnan(F32(0, 0))) << test.name << " " << test.input;
    } else if (test.expected == 0 && (test.name[0] == 's' || test.name[0] == 'c')) {
      EXPECT_EQ(F32(0, 0), want) << test.name << " " << test.input;
    } else {
      EXPECT_EQ(Get(0, 0), std::bit_cast<uint32_t>(want)) << test.name << " " << test.input;
    }
  }
}

TEST_P(TranscendentalTest, AllHalves) {
  struct {
    const char* name;
    long double (*function)(long double);
  } const kCases[] = {{"rcp", Reciprocal}, {"rsq", ReciprocalRoot}, {"sqrt", SquareRoot},
                      {"exp", Exp2},       {"log", Log2},           {"sin", Sine},
                      {"cos", Cosine}};
  for (const auto& test : kCases) {
    const std::string name = test.name;
    ForEach("v_" + name + "_f16 v0, v1", Combine(AllHalves()), [&](Values v, int lane) {
      const F16 x = F16::FromBits(static_cast<uint16_t>(v.a));
      const F16 got = F16::FromBits(static_cast<uint16_t>(Get(0, lane)));
      ASSERT_EQ(Get(0, lane) >> 16, 0u);
      if ((name == "sin" || name == "cos") && (x.IsInf() || std::fabs(x.ToFloat()) > 256)) {
        ASSERT_EQ(got.ToFloat(), name == "sin" ? 0.0f : 1.0f) << x.ToFloat();
        return;
      }
      const double exact = static_cast<double>(test.function(x.ToFloat()));
      if (std::isnan(exact)) {
        ASSERT_TRUE(got.IsNan()) << name << " of " << x.ToFloat();
        return;
      }
      const F16 want = F16::FromDouble(exact);
      if (exact == 0) {
        ASSERT_EQ(got.ToFloat(), 0.0f) << name << " of " << x.ToFloat();
      } else {
        ASSERT_EQ(got.bits(), want.bits()) << name << " of " << x.ToFloat();
      }
    });
  }
}

// 24 bits, as the hardware promises: never more exact, so that a missing refinement shows.
TEST_P(TranscendentalTest, Doubles) {
  struct {
    const char* name;
    long double (*function)(long double);
  } const kCases[] = {{"rcp", Reciprocal}, {"rsq", ReciprocalRoot}, {"sqrt", SquareRoot}};
  for (const auto& test : kCases) {
    const std::string name = test.name;
    for (const auto& inputs : {Combine(EdgeLongs()), Random(4096, 13)}) {
      ForEach("v_" + name + "_f64 v[8:9], v[2:3]", inputs, [&](Values v, int lane) {
        const double x = std::bit_cast<double>(v.a);
        const double got = std::bit_cast<double>(Get64(8, lane));
        const auto want = static_cast<double>(test.function(x));
        if (std::isnan(want)) {
          ASSERT_TRUE(std::isnan(got)) << name << " of " << x;
        } else if (!std::isfinite(want) || want == 0) {
          ASSERT_EQ(got, want) << name << " of " << x;
        } else if (std::isnormal(want) && std::fabs(want) < 0x1p1023) {
          ASSERT_LE(std::fabs(got / want - 1), 0x1p-24) << name << " of " << x;
          ASSERT_EQ(Get64(8, lane) & ((1u << 29) - 1), 0u) << name << " of " << x;
        }
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, TranscendentalTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
