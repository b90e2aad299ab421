// Conversions between integers and floating point of 16, 32 and 64 bits, and from floating point
// to normalized integers.

#include <algorithm>
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
double H(uint64_t bits) { return F16::FromBits(static_cast<uint16_t>(bits)).ToFloat(); }

// Truncated, NaN 0, limits where it does not fit.
uint64_t ToInteger(double value, double low, double high) {
  if (std::isnan(value)) return 0;
  return static_cast<uint64_t>(
      static_cast<int64_t>(std::trunc(std::min(std::max(value, low), high))));
}
uint64_t ToI32(double value) { return ToInteger(value, INT32_MIN, INT32_MAX); }
uint64_t ToU32(double value) { return ToInteger(value, 0, UINT32_MAX); }

std::vector<Values> Floats() {
  auto inputs = Combine(EdgeWords());
  // Around the limits of 32-bit integers, and many of ordinary size.
  for (float at : {0x1p31f, 0x1p32f, -0x1p31f, 0.5f, 1.5f, 2.5f, 255.0f, 32767.0f, 65535.0f}) {
    for (float x : {std::nextafter(at, 0.0f), at, std::nextafter(at, at * 2)}) {
      inputs.push_back({std::bit_cast<uint32_t>(x), 0, 0});
    }
  }
  Draw draw(7);
  for (int i = 0; i < 4096; ++i) {
    const uint64_t bits = draw.Next();
    inputs.push_back({(bits & 0x807fffff) | ((100 + (bits >> 40) % 70) << 23), 0, 0});
  }
  return inputs;
}

class ConversionsTest : public InstructionTest {};

TEST_P(ConversionsTest, FloatToInteger) {
  ExpectEach("v_cvt_i32_f32 v0, v1", Floats(), [](Values v) { return ToI32(F(v.a)); });
  ExpectEach("v_cvt_u32_f32 v0, v1", Floats(), [](Values v) { return ToU32(F(v.a)); });
  ExpectEach("v_cvt_flr_i32_f32 v0, v1", Floats(),
             [](Values v) { return ToI32(std::floor(F(v.a))); });
  ExpectEach("v_cvt_rpi_i32_f32 v0, v1", Floats(),
             [](Values v) { return ToI32(std::floor(F(v.a) + 0.5f)); });
  std::vector<Values> doubles = Combine(EdgeLongs());
  for (double x :
       {0x1p31 - 1, 0x1p31 - 0.5, -0x1p31 - 0.5, 0x1p32 - 1, 0x1p32 - 0.25, -0.75, 3.9}) {
    doubles.push_back({std::bit_cast<uint64_t>(x), 0, 0});
  }
  ExpectEach("v_cvt_i32_f64 v0, v[2:3]", doubles, [](Values v) { return ToI32(D(v.a)); });
  ExpectEach("v_cvt_u32_f64 v0, v[2:3]", doubles, [](Values v) { return ToU32(D(v.a)); });
  const auto halves = Combine(AllHalves());
  ExpectEach("v_cvt_i16_f16 v0, v1", halves,
             [](Values v) { return ToInteger(H(v.a), INT16_MIN, INT16_MAX) & 0xffff; });
  ExpectEach("v_cvt_u16_f16 v0, v1", halves,
             [](Values v) { return ToInteger(H(v.a), 0, UINT16_MAX) & 0xffff; });
}

TEST_P(ConversionsTest, IntegerToFloat) {
  auto inputs = Combine(EdgeWords());
  for (Values v : Random(4096, 8)) inputs.push_back({v.a & 0xffffffffu, 0, 0});
  ExpectEachFloat("v_cvt_f32_i32 v0, v1", inputs,
                  [](Values v) { return static_cast<float>(static_cast<int32_t>(v.a)); });
  ExpectEachFloat("v_cvt_f32_u32 v0, v1", inputs,
                  [](Values v) { return static_cast<float>(static_cast<uint32_t>(v.a)); });
  ExpectEachDouble("v_cvt_f64_i32 v[8:9], v1", inputs,
                   [](Values v) { return static_cast<double>(static_cast<int32_t>(v.a)); });
  ExpectEachDouble("v_cvt_f64_u32 v[8:9], v1", inputs,
                   [](Values v) { return static_cast<double>(static_cast<uint32_t>(v.a)); });
  for (int byte = 0; byte < 4; ++byte) {
    ExpectEachFloat("v_cvt_f32_ubyte" + std::to_string(byte) + " v0, v1", inputs,
                    [byte](Values v) { return static_cast<float>((v.a >> (8 * byte)) & 255); });
  }
  ExpectEachFloat("v_cvt_off_f32_i4 v0, v1", inputs, [](Values v) {
    const int low = static_cast<int>(v.a & 15);
    return static_cast<float>(low >= 8 ? low - 16 : low) / 16.0f;
  });
  const auto halves = Combine(AllHalves());
  ExpectEach("v_cvt_f16_u16 v0, v1", halves,
             [](Values v) { return F16::FromDouble(static_cast<double>(v.a)).bits(); });
  ExpectEach("v_cvt_f16_i16 v0, v1", halves, [](Values v) {
    return F16::FromDouble(static_cast<double>(static_cast<int16_t>(v.a))).bits();
  });
}

TEST_P(ConversionsTest, FloatToFloat) {
  ExpectEachFloat("v_cvt_f32_f16 v0, v1", Combine(AllHalves()),
                  [](Values v) { return static_cast<float>(H(v.a)); });
  auto inputs = Floats();
  // Every half, halfway to the next, and a little to each side.
  for (uint64_t half = 0; half < 0x7c00; half += 7) {
    const double middle = (H(half) + H(half + 1)) / 2;
    const float at = static_cast<float>(middle);
    for (float x : {at, std::nextafter(at, 0.0f), std::nextafter(at, 1e9f), -at}) {
      inputs.push_back({std::bit_cast<uint32_t>(x), 0, 0});
    }
  }
  ForEach("v_cvt_f16_f32 v0, v1", inputs, [&](Values v, int lane) {
    const uint32_t want = F16::FromFloat(F(v.a)).bits();
    if (std::isnan(F(v.a)) && std::isnan(H(Get(0, lane)))) return;
    ASSERT_EQ(Get(0, lane), want) << std::hexfloat << F(v.a);
  });
  // Toward zero, at most the largest.
  ForEach("v_cvt_pkrtz_f16_f32 v0, v1, -v1", inputs, [&](Values v, int lane) {
    const float x = F(v.a);
    if (std::isnan(x)) return;
    uint32_t want = F16::FromFloat(std::fabs(x)).bits();
    if (H(want) > std::fabs(x)) --want;
    const uint32_t sign = std::signbit(x) ? 0x8000 : 0;
    ASSERT_EQ(Get(0, lane), (want | sign) | (want | (sign ^ 0x8000)) << 16) << std::hexfloat << x;
  });
  ExpectEachDouble("v_cvt_f64_f32 v[8:9], v1", inputs, [](Values v) { return double{F(v.a)}; });
  ExpectEachFloat("v_cvt_f32_f64 v0, v[2:3]", Combine(EdgeLongs()),
                  [](Values v) { return static_cast<float>(D(v.a)); });
  if (IsGfx950()) {
    ForEach("v_cvt_pk_f16_f32 v0, v1, -v1", inputs, [&](Values v, int lane) {
      if (std::isnan(F(v.a))) return;
      const uint32_t want = F16::FromFloat(F(v.a)).bits();
      ASSERT_EQ(Get(0, lane), want | (want ^ 0x8000u) << 16) << std::hexfloat << F(v.a);
    });
  }
}

TEST_P(ConversionsTest, RoundingModes) {
  struct {
    uint32_t mode, positive, negative;
  } const kCases[] = {
      {0, 0x3c00, 0xbc00}, {1, 0x3c01, 0xbc00}, {2, 0x3c00, 0xbc01}, {3, 0x3c00, 0xbc00}};
  SetF32(1, 0, 1 + 0x1p-12f);
  SetF32(1, 1, -1 - 0x1p-12f);
  for (const auto& test : kCases) {
    wave_->mode.bits = 0x3f0 | test.mode << 2;
    Run("v_cvt_f16_f32 v0, v1");
    EXPECT_EQ(Get(0, 0), test.positive) << test.mode;
    EXPECT_EQ(Get(0, 1), test.negative) << test.mode;
  }
}

TEST_P(ConversionsTest, PackedIntegers) {
  ExpectEach("v_cvt_pk_i16_i32 v0, v1, v4", Combine(EdgeWords(), EdgeWords()), [](Values v) {
    const auto clamp = [](uint64_t x) {
      return static_cast<uint64_t>(std::clamp(static_cast<int32_t>(x), -32768, 32767)) & 0xffff;
    };
    return clamp(v.a) | clamp(v.b) << 16;
  });
  ExpectEach("v_cvt_pk_u16_u32 v0, v1, v4", Combine(EdgeWords(), EdgeWords()), [](Values v) {
    return std::min<uint64_t>(v.a, 0xffff) | std::min<uint64_t>(v.b, 0xffff) << 16;
  });
}

uint64_t Normalized(double value, double low, double scale) {
  if (std::isnan(value)) return 0;
  const double clamped = std::min(std::max(value, low), 1.0);
  return static_cast<uint64_t>(static_cast<int64_t>(std::nearbyint(clamped * scale))) & 0xffff;
}

TEST_P(ConversionsTest, NormalizedIntegers) {
  ExpectEach("v_cvt_pknorm_i16_f32 v0, v1, -v1", Floats(), [](Values v) {
    return Normalized(F(v.a), -1, 32767) | Normalized(-F(v.a), -1, 32767) << 16;
  });
  ExpectEach("v_cvt_pknorm_u16_f32 v0, v1, -v1", Floats(), [](Values v) {
    return Normalized(F(v.a), 0, 65535) | Normalized(-F(v.a), 0, 65535) << 16;
  });
  const auto halves = Combine(AllHalves());
  ExpectEach("v_cvt_pknorm_i16_f16 v0, v1, v1", halves,
             [](Values v) { return Normalized(H(v.a), -1, 32767) * 0x10001; });
  ExpectEach("v_cvt_pknorm_u16_f16 v0, v1, v1", halves,
             [](Values v) { return Normalized(H(v.a), 0, 65535) * 0x10001; });
  ExpectEach("v_cvt_norm_i16_f16 v0, v1", halves,
             [](Values v) { return Normalized(H(v.a), -1, 32767); });
  ExpectEach("v_cvt_norm_u16_f16 v0, v1", halves,
             [](Values v) { return Normalized(H(v.a), 0, 65535); });
  for (uint32_t byte = 0; byte < 4; ++byte) {
    wave_->scalar[2] = byte + 8;  // two bits count
    ExpectEach(
        "v_cvt_pk_u8_f32 v0, v1, s2, v6",
        [] {
          auto inputs = Floats();
          for (Values& v : inputs) v.c = 0xaabbccdd;
          return inputs;
        }(),
        [byte](Values v) {
          const float x = F(v.a);
          const auto value = static_cast<uint64_t>(
              std::isnan(x) ? 0 : std::nearbyint(std::min(255.0f, std::max(0.0f, x))));
          return (0xaabbccddu & ~(255u << (8 * byte))) | value << (8 * byte);
        });
  }
}

TEST_P(ConversionsTest, AccumulatesBytes) {
  Set(0, 0, 0x11223344u);
  SetF32(1, 0, 171.5f);  // a tie, to the even 172
  Set(4, 0, 2);
  Run("v_cvt_pkaccum_u8_f32 v0, v1, v4");
  EXPECT_EQ(Get(0, 0), 0x11ac3344u);
}

INSTANTIATE_TEST_SUITE_P(Chips, ConversionsTest, testing::Values(Arch::kGfx942, Arch::kGfx950),
                         ChipName);

}  // namespace
}  // namespace lanewise::emulator
