// gfx950's conversions with a scale: every code up, floats and all halves down, stochastic
// rounding, and the 32 elements of six bits.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "emulator/isa/narrow/narrow_format_model.h"
#include "emulator/testing/instruction_fixture.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

struct Wide {
  std::string name;
  int bits, mantissa;
  double Value(uint64_t code) const {
    if (name == "f32") return F(code);
    if (name == "f16") return F16::FromBits(static_cast<uint16_t>(code)).ToFloat();
    return F(code << 16);
  }
  uint32_t Encode(double x) const {
    if (name == "f32") return Bits(x);
    if (name == "f16") return F16::FromDouble(x).bits();
    return Bf16::FromDouble(x).bits();
  }
  bool Same(uint32_t got, double want) const {
    if (std::isnan(want)) return std::isnan(Value(got));
    return got == Encode(want);
  }
};
const Wide kF32 = {"f32", 32, 23};
const Wide kF16 = {"f16", 16, 10};
const Wide kBf16 = {"bf16", 16, 7};

class ScaledTest : public InstructionTest {
 protected:
  // Scales as floats: the mantissa is ignored, a sign too.
  static std::vector<uint32_t> Scales() {
    return {127u << 23, 130u << 23 | 0x12345,    100u << 23, 1u << 23, 254u << 23, 0u,
            255u << 23, 0x80000000u | 126u << 23};
  }
  static double Factor(uint32_t scale) {
    const int field = static_cast<int>(scale >> 23) & 0xff;
    return field == 255 ? std::nan("") : std::ldexp(1.0, field - 127);
  }
  static std::string Pair(const Wide& wide) { return wide.bits == 32 ? "v[8:9]" : "v8"; }
  uint32_t Element(const Wide& wide, int index, int lane) const {
    return wide.bits == 32 ? Get(8 + index, lane) : (Get(8, lane) >> (16 * index)) & 0xffff;
  }
};

TEST_P(ScaledTest, EveryCodeUp) {
  for (const auto& [name, format] :
       {std::pair<std::string, Format>("fp8", kE4m3), {"bf8", kE5m2}}) {
    for (uint32_t scale : Scales()) {
      wave_->scalar[2] = scale;
      const double factor = Factor(scale);
      for (uint32_t first = 0; first < 256; first += 64) {
        for (int lane = 0; lane < kLanes; ++lane) {
          const uint32_t code = first + static_cast<uint32_t>(lane);
          Set(1, lane, code | (255 - code) << 8 | (code ^ 0x55) << 16 | 0x81000000u);
        }
        const auto byte = [&](int lane, int index) { return (Get(1, lane) >> (8 * index)) & 0xff; };
        for (const Wide& wide : {kF32, kF16, kBf16}) {
          for (int word : {0, 1}) {
            Run("v_cvt_scalef32_pk_" + wide.name + "_" + name + " " + Pair(wide) + ", v1, s2" +
                (word == 1 ? " op_sel:[1,0,0]" : ""));
            for (int lane = 0; lane < kLanes; ++lane) {
              for (int i : {0, 1}) {
                const double want = format.Value(byte(lane, 2 * word + i)) * factor;
                ASSERT_TRUE(wide.Same(Element(wide, i, lane), want))
                    << wide.name << " of " << name << " " << byte(lane, 2 * word + i) << " scale "
                    << std::hex << scale << " got " << Element(wide, i, lane);
              }
            }
          }
        }
        for (int index = 0; index < 4; ++index) {
          const std::string select =
              " op_sel:[" + std::to_string(index & 1) + "," + std::to_string(index >> 1) + ",";
          Run("v_cvt_scalef32_f32_" + name + " v0, v1, s2" + select + "0]");
          for (int lane = 0; lane < kLanes; ++lane) {
            ASSERT_TRUE(kF32.Same(Get(0, lane), format.Value(byte(lane, index)) * factor));
            Set(0, lane, kPoison);
          }
          Run("v_cvt_scalef32_f16_" + name + " v0, v1, s2" + select + "1]");
          for (int lane = 0; lane < kLanes; ++lane) {
            ASSERT_TRUE(kF16.Same(Get(0, lane) >> 16, format.Value(byte(lane, index)) * factor));
            ASSERT_EQ(Get(0, lane) & 0xffff, kPoison & 0xffff);
          }
        }
      }
    }
  }
}

TEST_P(ScaledTest, NibblesUp) {
  for (int lane = 0; lane < kLanes; ++lane) {
    Set(1, lane, 0x76543210u ^ (0x11111111u * static_cast<uint32_t>(lane % 16)));
  }
  for (uint32_t scale : Scales()) {
    wave_->scalar[2] = scale;
    for (const Wide& wide : {kF32, kF16, kBf16}) {
      for (int index = 0; index < 4; ++index) {
        Run("v_cvt_scalef32_pk_" + wide.name + "_fp4 " + Pair(wide) + ", v1, s2 op_sel:[" +
            std::to_string(index & 1) + "," + std::to_string(index >> 1) + ",0]");
        for (int lane = 0; lane < kLanes; ++lane) {
          for (int i : {0, 1}) {
            const uint32_t code = (Get(1, lane) >> (8 * index + 4 * i)) & 15;
            ASSERT_TRUE(wide.Same(Element(wide, i, lane), kE2m1.Value(code) * Factor(scale)))
                << wide.name << " of nibble " << code;
          }
        }
      }
    }
  }
}

TEST_P(ScaledTest, BytesDown) {
  for (bool saturate : {false, true}) {
    wave_->mode.bits = 0x3f0 | (saturate ? 1u << 23 : 0);
    for (const auto& [name, format] :
         {std::pair<std::string, Format>("fp8", kE4m3), {"bf8", kE5m2}}) {
      for (int exponent : {0, 5, -20}) {
        wave_->scalar[2] = static_cast<uint32_t>(127 + exponent) << 23;
        const double factor = std::ldexp(1.0, exponent);
        ForEach("v_cvt_scalef32_pk_" + name + "_f32 v0, v1, -v1, s2 op_sel:[0,0,0,1]",
                Combine(FloatsFor(format, exponent)), [&](Values v, int lane) {
                  ASSERT_EQ(Get(0, lane) & 0xffff, kPoison & 0xffff);
                  const uint32_t got = Get(0, lane) >> 16;
                  const double x = F(v.a) / factor;
                  ASSERT_TRUE(SameCode(format, got & 0xff, format.Nearest(x, saturate))) << x;
                  ASSERT_TRUE(SameCode(format, got >> 8, format.Nearest(-x, saturate))) << x;
                });
        for (const Wide& wide : {kF16, kBf16}) {
          std::vector<Values> inputs;
          for (uint64_t i = 0; i < 65536; ++i) inputs.push_back({i | (i ^ 0x8000) << 16, 0, 0});
          ForEach("v_cvt_scalef32_pk_" + name + "_" + wide.name + " v0, v1, s2", inputs,
                  [&](Values v, int lane) {
                    const double x = wide.Value(v.a & 0xffff) / factor;
                    ASSERT_EQ(Get(0, lane) >> 16, kPoison >> 16);
                    ASSERT_TRUE(SameCode(format, Get(0, lane) & 0xff, format.Nearest(x, saturate)))
                        << wide.name << " " << x;
                    ASSERT_TRUE(
                        SameCode(format, (Get(0, lane) >> 8) & 0xff, format.Nearest(-x, saturate)))
                        << wide.name << " " << -x;
                  });
        }
      }
    }
  }
}

TEST_P(ScaledTest, NibblesDown) {
  for (int exponent : {0, 3}) {
    wave_->scalar[2] = static_cast<uint32_t>(127 + exponent) << 23;
    const double factor = std::ldexp(1.0, exponent);
    for (uint32_t byte = 0; byte < 4; ++byte) {
      const std::string select = std::to_string(byte & 1) + "," + std::to_string(byte >> 1) + "]";
      const auto check = [&](double x, int lane) {
        const uint32_t mask = 0xffu << (8 * byte);
        ASSERT_EQ(Get(0, lane) & ~mask, kPoison & ~mask);
        const uint32_t got = (Get(0, lane) >> (8 * byte)) & 0xff;
        ASSERT_EQ(got & 15, kE2m1.Nearest(x, true)) << x;
        ASSERT_EQ(got >> 4, kE2m1.Nearest(-x, true)) << x;
      };
      ForEach("v_cvt_scalef32_pk_fp4_f32 v0, v1, -v1, s2 op_sel:[0,0," + select,
              Combine(FloatsFor(kE2m1, exponent)),
              [&](Values v, int lane) { check(F(v.a) / factor, lane); });
      for (const Wide& wide : {kF16, kBf16}) {
        std::vector<Values> inputs;
        for (uint64_t i = 0; i < 65536; i += 5) inputs.push_back({i | (i ^ 0x8000) << 16, 0, 0});
        ForEach("v_cvt_scalef32_pk_fp4_" + wide.name + " v0, v1, s2 op_sel:[0,0," + select, inputs,
                [&](Values v, int lane) { check(wide.Value(v.a & 0xffff) / factor, lane); });
      }
    }
  }
  // The tie rules of e2m1: .25, .75, 1.25, 1.75, 2.5, 3.5, 5, 6, 100 and infinity.
  const float kTies[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5, 6, 100, INFINITY};
  const uint32_t kCodes[] = {0, 2, 2, 4, 4, 6, 6, 7, 7, 7};
  for (int i = 0; i < 10; ++i) {
    SetF32(1, i, kTies[i]);
    SetF32(4, i, 0);
  }
  wave_->scalar[2] = 127u << 23;
  Run("v_cvt_scalef32_pk_fp4_f32 v0, v1, v4, s2");
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get(0, i) & 0xff, kCodes[i]) << kTies[i];
}

TEST_P(ScaledTest, Stochastic) {
  const int exponent = 2;
  wave_->scalar[2] = static_cast<uint32_t>(127 + exponent) << 23;
  auto inputs = Random(1 << 12, 11);
  for (Values& v : inputs) {
    // Of ordinary size: float and bf16 exponents near 2^0, halves as they come.
    const uint64_t field = 118 + (v.c >> 32) % 16;
    v = {(v.a & 0x807fffff) | field << 23, v.b & 0xffffffffu, 0};
  }
  for (const Wide& wide : {kF32, kF16, kBf16}) {
    auto values = inputs;
    if (wide.name == "bf16") {
      for (Values& v : values) v.a = v.a >> 16;
    } else if (wide.name == "f16") {
      for (Values& v : values) v.a &= 0xffff;
    }
    const auto value = [&](uint64_t a) { return std::ldexp(wide.Value(a), -exponent); };
    for (const auto& [name, format] :
         {std::pair<std::string, Format>("fp8", kE4m3), {"bf8", kE5m2}}) {
      ForEach("v_cvt_scalef32_sr_" + name + "_" + wide.name + " v0, v1, v4, s2 op_sel:[0,0,1,0]",
              values, [&](Values v, int lane) {
                const uint32_t want =
                    format.Stochastic(value(v.a), static_cast<uint32_t>(v.b), wide.mantissa, false);
                ASSERT_EQ(Get(0, lane) & 0xffff00ffu, kPoison & 0xffff00ffu);
                ASSERT_TRUE(SameCode(format, (Get(0, lane) >> 8) & 0xff, want))
                    << name << " " << wide.name << " " << value(v.a);
              });
    }
    // Pairs of nibbles: the same number twice.
    const std::string text = wide.bits == 32
                                 ? "v_cvt_scalef32_sr_pk_fp4_f32 v0, v[2:3], v4, s2"
                                 : "v_cvt_scalef32_sr_pk_fp4_" + wide.name + " v0, v1, v4, s2";
    for (Values& v : values) v.a |= v.a << wide.bits;
    ForEach(text, values, [&](Values v, int lane) {
      const uint64_t one = wide.bits == 32 ? v.a & 0xffffffffu : v.a & 0xffff;
      const uint32_t want =
          kE2m1.Stochastic(value(one), static_cast<uint32_t>(v.b), wide.mantissa, true);
      ASSERT_EQ(Get(0, lane) & 0xff, want * 0x11) << wide.name << " " << value(one);
    });
  }
}

// 32 six-bit elements in six registers.
uint32_t SixBits(const Wave& wave, int row, int lane, int index) {
  const int bit = 6 * index;
  uint64_t pair = wave.vector[row + bit / 32][lane];
  if (bit / 32 < 5) pair |= static_cast<uint64_t>(wave.vector[row + bit / 32 + 1][lane]) << 32;
  return static_cast<uint32_t>(pair >> (bit % 32)) & 63;
}

TEST_P(ScaledTest, SixBits) {
  const int exponent = -1;
  wave_->scalar[2] = static_cast<uint32_t>(127 + exponent) << 23;
  const double factor = std::ldexp(1.0, exponent);
  for (const auto& [name, format] :
       {std::pair<std::string, Format>("fp6", kE2m3), {"bf6", kE3m2}}) {
    // Up: lane l has code (i + l) % 64 at i.
    for (int lane = 0; lane < kLanes; ++lane) {
      uint64_t bits[4] = {};
      for (int i = 0; i < 32; ++i) {
        const auto code = static_cast<uint64_t>((i + lane) % 64);
        bits[6 * i / 64] |= code << (6 * i % 64);
        if (6 * i % 64 > 58) bits[6 * i / 64 + 1] |= code >> (64 - 6 * i % 64);
      }
      for (int word = 0; word < 6; ++word) {
        Set(40 + word, lane, static_cast<uint32_t>(bits[word / 2] >> (32 * (word % 2))));
      }
    }
    for (const Wide& wide : {kF32, kF16, kBf16}) {
      const int words = wide.bits;
      Run("v_cvt_scalef32_pk32_" + wide.name + "_" + name + " v[64:" + std::to_string(63 + words) +
          "], v[40:45], s2");
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 32; ++i) {
          const double want = format.Value(static_cast<uint32_t>((i + lane) % 64)) * factor;
          const uint32_t got = wide.bits == 32 ? Get(64 + i, lane)
                                               : (Get(64 + i / 2, lane) >> (16 * (i % 2))) & 0xffff;
          ASSERT_TRUE(wide.Same(got, want)) << name << " " << wide.name << " element " << i;
        }
      }
      // Down again: to the same codes (the destination overlaps the source).
      const std::string source = "v[64:" + std::to_string(63 + words) + "]";
      if (wide.bits == 16) {
        Run("v_cvt_scalef32_pk32_" + name + "_" + wide.name + " v[64:69], " + source + ", s2");
      } else {
        Run("v_cvt_scalef32_2xpk16_" + name + "_f32 v[64:69], v[64:79], v[80:95], s2");
      }
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < 32; ++i) {
          // The instruction with two sources interleaves them.
          const int from = wide.bits == 16 ? i : i / 2 + 16 * (i % 2);
          ASSERT_EQ(SixBits(*wave_, 64, lane, i), static_cast<uint32_t>((from + lane) % 64))
              << name << " " << wide.name << " element " << i;
        }
      }
    }
    // Rounding, saturation and NaN, one element's float in each lane.
    const auto floats = FloatsFor(format, exponent);
    for (size_t first = 0; first + 32 <= floats.size(); first += 32) {
      for (int i = 0; i < 32; ++i) {
        Set(64 + i, 0, static_cast<uint32_t>(floats[first + i]));
      }
      Set(4, 0, 0x9e3779b9u * static_cast<uint32_t>(first + 1));
      Run("v_cvt_scalef32_2xpk16_" + name + "_f32 v[40:45], v[64:79], v[80:95], s2\n" +
          "v_cvt_scalef32_sr_pk32_" + name + "_f32 v[50:55], v[64:95], v4, s2");
      for (int i = 0; i < 32; ++i) {
        const double x = F(floats[first + i]) / factor;
        ASSERT_EQ(SixBits(*wave_, 40, 0, i < 16 ? 2 * i : 2 * i - 31), format.Nearest(x, true))
            << x;
        ASSERT_EQ(SixBits(*wave_, 50, 0, i), format.Stochastic(x, Get(4, 0), 23, true)) << x;
      }
    }
    for (const Wide& wide : {kF16, kBf16}) {
      for (int i = 0; i < 32; ++i) {
        const uint32_t element = wide.Encode((i - 16) * 0.11);
        const uint32_t old = Get(64 + i / 2, 0);
        Set(64 + i / 2, 0, i % 2 == 0 ? element : (old & 0xffff) | element << 16);
      }
      Set(4, 0, 0x12345678u);
      Run("v_cvt_scalef32_sr_pk32_" + name + "_" + wide.name + " v[50:55], v[64:79], v4, s2");
      for (int i = 0; i < 32; ++i) {
        const double x = wide.Value(wide.Encode((i - 16) * 0.11)) / factor;
        ASSERT_EQ(SixBits(*wave_, 50, 0, i), format.Stochastic(x, Get(4, 0), wide.mantissa, true))
            << name << " " << wide.name << " " << x;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, ScaledTest, testing::Values(Arch::kGfx950), ChipName);

}  // namespace
}  // namespace lanewise::emulator
