#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "gtest/gtest.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/tile.h"

namespace lanewise::reference {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A block of these values, then zeros.
Tensor<float, 2> OneBlock(std::initializer_list<float> values) {
  Tensor<float, 2> x(1, kBlockSize);
  x.setZero();
  std::int64_t i = 0;
  for (const float value : values) x(0, i++) = value;
  return x;
}

// The table of what the sources' own quantizers make of zeros, infinities and NaN.
TEST(NonFinite, ElementsAsTheSourcesKernelsHaveThem) {
  struct Source {
    const char* name;
    NonFinite policy;
    ElementFormat format;
    float maximum, floor;
    BlockRule rule;
    int smallest, zero_code, code_with_nan;
  };
  constexpr int kOfOne = 119;  // The code of a block whose largest finite magnitude is 1, of 448.
  const Source sources[] = {
      {"Triton", NonFinite::kNanElements, ElementFormat::kE4m3Fn, 448, 0x1p-126f,
       BlockRule::kRoundedLog2, 0, 0, kOfOne},
      {"dense, gfx942", NonFinite::kNanTopCode, ElementFormat::kE4m3Fnuz, 224, 0x1p-126f,
       BlockRule::kExact, 1, 1, 254},
      {"dense, gfx950", NonFinite::kNanTopCode, ElementFormat::kE4m3Fn, 448, 0x1p-126f,
       BlockRule::kExact, 1, 1, 254},
      {"routed, gfx942", NonFinite::kNanTopCode, ElementFormat::kE4m3Fnuz, 224, 1e-10f,
       BlockRule::kRoundUp, 1, 86, 254},
      {"routed, gfx950", NonFinite::kNanTopCode, ElementFormat::kE4m3Fn, 448, 1e-10f,
       BlockRule::kRoundUp, 1, 85, 254},
  };
  for (const Source& source : sources) {
    QuantizeOptions options;
    options.non_finite = source.policy;
    options.format = source.format;
    options.maximum = source.maximum;
    options.amax_floor = source.floor;
    options.rule = source.rule;
    options.smallest_code = source.smallest;
    const std::uint8_t nan_byte = source.format == ElementFormat::kE4m3Fnuz ? 0x80 : 0x7F;
    const std::uint8_t minus_zero = source.format == ElementFormat::kE4m3Fnuz ? 0x00 : 0x80;
    const TileExtent tile = {0, 0, 1, 32};

    const Tensor<float, 2> zeros = OneBlock({0.0f, -0.0f});
    const Quantized of_zeros = *Quantize(zeros, options);
    EXPECT_EQ(of_zeros.codes(0, 0), source.zero_code) << source.name;
    EXPECT_EQ(of_zeros.elements(0, 0), 0x00) << source.name;
    EXPECT_EQ(of_zeros.elements(0, 1), minus_zero) << source.name;

    // Finite numbers beside it, however large, are zeros of their signs.
    const Tensor<float, 2> infinite =
        OneBlock({1.0f, kInfinity, -std::numeric_limits<float>::max(), -kInfinity});
    const Quantized of_infinite = *Quantize(infinite, options);
    EXPECT_EQ(of_infinite.codes(0, 0), 254) << source.name;
    EXPECT_EQ(of_infinite.elements(0, 0), 0x00) << source.name;
    EXPECT_EQ(of_infinite.elements(0, 1), nan_byte) << source.name;
    EXPECT_EQ(of_infinite.elements(0, 2), minus_zero) << source.name;
    EXPECT_EQ(of_infinite.elements(0, 3), nan_byte) << source.name;

    const Tensor<float, 2> nan = OneBlock({1.0f, kNan, -1.0f});
    const Quantized of_nan = *Quantize(nan, options);
    EXPECT_EQ(of_nan.codes(0, 0), source.code_with_nan) << source.name;
    EXPECT_EQ(of_nan.elements(0, 1), nan_byte) << source.name;
    const bool counts = source.policy == NonFinite::kNanTopCode;
    // 1 * 2^(127 - 119) = 256.
    EXPECT_EQ(DecodeElement(source.format, of_nan.elements(0, 0)), counts ? 0.0f : 256.0f);
    EXPECT_EQ(DecodeElement(source.format, of_nan.elements(0, 2)), counts ? 0.0f : -256.0f);

    for (const Tensor<float, 2>& x : {zeros, infinite, nan}) {
      const Quantized apart = *Quantize(x, options), inside = *QuantizeTile(x, tile, options);
      EXPECT_EQ(inside.codes(0, 0), apart.codes(0, 0)) << source.name;
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(inside.elements(0, i), apart.elements(0, i)) << source.name << " " << i;
      }
    }
  }
  QuantizeOptions fp4 = DefaultQuantizeOptions(ElementFormat::kE2m1);
  fp4.non_finite = NonFinite::kNanTopCode;
  EXPECT_EQ(ValidateQuantizeOptions(fp4).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::reference
