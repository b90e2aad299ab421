#include "reference/quantize/mx.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "gtest/gtest.h"
#include "reference/quantize/block_code.h"
#include "reference/quantize/tile.h"

namespace lanewise::reference {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr ElementFormat kFormats[] = {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz,
                                      ElementFormat::kE5m2, ElementFormat::kE5m2Fnuz,
                                      ElementFormat::kE2m1};
constexpr BlockRule kRules[] = {BlockRule::kExact, BlockRule::kRoundedLog2, BlockRule::kFloor,
                                BlockRule::kEven, BlockRule::kRoundUp};

// Rows with magnitudes from 2^-150 to 2^127, zeros of both signs among them.
Tensor<float, 2> RandomRows(std::int64_t rows, std::int64_t columns, unsigned seed) {
  std::mt19937 random(seed);
  Tensor<float, 2> x(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t block = 0; block < columns / kBlockSize; ++block) {
      const int exponent = static_cast<int>(random() % 270) - 145;
      for (std::int64_t i = 0; i < kBlockSize; ++i) {
        const float fraction = static_cast<float>(random() % 0x1000000) * 0x1p-24f;
        const float sign = random() % 2 == 0 ? 1.0f : -1.0f;
        const int spread = static_cast<int>(random() % 12);
        const float value = std::ldexp(sign * (1.0f + fraction), std::min(exponent, 126) - spread);
        x(row, block * kBlockSize + i) = random() % 16 == 0 ? sign * 0.0f : value;
      }
    }
  }
  return x;
}

Tensor<float, 2> OneBlock(std::vector<float> values) {
  Tensor<float, 2> x(1, kBlockSize);
  x.setZero();
  for (std::size_t i = 0; i < values.size(); ++i) x(0, static_cast<std::int64_t>(i)) = values[i];
  return x;
}

std::uint8_t ElementBitsAt(const Quantized& quantized, ElementFormat format, std::int64_t row,
                           std::int64_t k) {
  if (ElementBits(format) == 8) return quantized.elements(row, k);
  const std::uint8_t byte = quantized.elements(row, k / 2);
  return k % 2 == 0 ? byte & 0xF : byte >> 4;
}

// The nearest value of the format by a search over all of them, ties to the even code.
float NearestByBruteForce(ElementFormat format, double x) {
  float best = kNan;
  for (int bits = 0; bits < (1 << (ElementBits(format) - 1)); ++bits) {
    const float value = DecodeElement(format, static_cast<std::uint8_t>(bits));
    if (!std::isfinite(value)) continue;
    const double distance = std::fabs(std::fabs(x) - value);
    const double best_distance = std::fabs(std::fabs(x) - best);
    const bool tie = distance == best_distance && bits % 2 == 0;
    if (std::isnan(best) || distance < best_distance || tie) best = value;
  }
  return std::copysign(best, static_cast<float>(x));
}

TEST(Mx, ElementsAreTheNearestOfTheScaledValues) {
  for (const ElementFormat format : kFormats) {
    const Tensor<float, 2> x = RandomRows(8, 96, 11);
    for (const BlockRule rule : kRules) {
      QuantizeOptions options = DefaultQuantizeOptions(format);
      options.rule = rule;
      const absl::StatusOr<Quantized> quantized = Quantize(x, options);
      ASSERT_TRUE(quantized.ok()) << quantized.status();
      for (std::int64_t row = 0; row < x.dimension(0); ++row) {
        for (std::int64_t k = 0; k < x.dimension(1); ++k) {
          const int code = quantized->codes(row, k / kBlockSize);
          const double scaled = std::ldexp(static_cast<double>(x(row, k)), 127 - code);
          const double maximum = options.maximum;
          const float expected =
              NearestByBruteForce(format, std::min(std::max(scaled, -maximum), maximum));
          ASSERT_EQ(DecodeElement(format, ElementBitsAt(*quantized, format, row, k)), expected)
              << AbslView(ElementFormatName(format)) << " row " << row << " k " << k << " of "
              << x(row, k) << " code " << code;
        }
      }
    }
  }
}

TEST(Mx, Bf16RowsAreTheSameAsTheirFloats) {
  Tensor<float, 2> x = RandomRows(16, 64, 12);
  Tensor<Bf16, 2> narrow(16, 64);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    narrow.data()[i] = Bf16::FromFloat(x.data()[i]);
    x.data()[i] = narrow.data()[i].ToFloat();
  }
  for (const ElementFormat format : kFormats) {
    const absl::StatusOr<Quantized> wide = Quantize(x, DefaultQuantizeOptions(format));
    const absl::StatusOr<Quantized> quantized = Quantize(narrow, DefaultQuantizeOptions(format));
    ASSERT_TRUE(wide.ok() && quantized.ok());
    for (std::int64_t i = 0; i < wide->elements.size(); ++i) {
      ASSERT_EQ(wide->elements.data()[i], quantized->elements.data()[i]) << i;
    }
    for (std::int64_t i = 0; i < wide->codes.size(); ++i) {
      ASSERT_EQ(wide->codes.data()[i], quantized->codes.data()[i]) << i;
    }
  }
}

// Scaled by the rounded scale, not by amax / maximum: each error is at most half a step.
TEST(Mx, ErrorIsHalfAStepOfTheStoredScale) {
  for (int k = -60; k <= 60; ++k) {
    const float amax = std::ldexp(1.1f, k);
    const Tensor<float, 2> x = OneBlock({amax, -amax * 0.37f, amax * 0.011f});
    const absl::StatusOr<Quantized> quantized =
        Quantize(x, DefaultQuantizeOptions(ElementFormat::kE4m3Fn));
    ASSERT_TRUE(quantized.ok());
    const absl::StatusOr<Tensor<float, 2>> back =
        DequantizeToFloat(*quantized, ElementFormat::kE4m3Fn);
    ASSERT_TRUE(back.ok());
    const float scale = std::ldexp(1.0f, quantized->codes(0, 0) - 127);
    for (int i = 0; i < 3; ++i) {
      const float step = std::ldexp(1.0f, std::max(std::ilogb(x(0, i) / scale), -6) - 3) * scale;
      EXPECT_LE(std::fabs((*back)(0, i) - x(0, i)), step / 2) << "k " << k << " element " << i;
    }
  }
}

TEST(Mx, E2m1TiesAndPacking) {
  // amax 6, so code 127 and the elements are the values themselves.
  const Tensor<float, 2> x = OneBlock({6.0f, 0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, -0.25f,
                                       -5.0f, -0.0f, 0.2500001f, 4.9999995f, -6.0f});
  const std::vector<float> expected = {6.0f, 0.0f, 1.0f,  1.0f, 2.0f, 2.0f, 4.0f,
                                       4.0f, 0.0f, -4.0f, 0.0f, 0.5f, 4.0f, -6.0f};
  const absl::StatusOr<Quantized> quantized =
      Quantize(x, DefaultQuantizeOptions(ElementFormat::kE2m1));
  ASSERT_TRUE(quantized.ok());
  EXPECT_EQ(quantized->codes(0, 0), 127);
  EXPECT_EQ(ShapeText(quantized->elements), "[1, 16]");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::uint8_t bits =
        ElementBitsAt(*quantized, ElementFormat::kE2m1, 0, static_cast<std::int64_t>(i));
    EXPECT_EQ(DecodeElement(ElementFormat::kE2m1, bits), expected[i]) << i;
  }
  EXPECT_EQ(quantized->elements(0, 0), 0x07);  // 6 in the low nibble, 0 in the high one.
  EXPECT_EQ(ElementBitsAt(*quantized, ElementFormat::kE2m1, 0, 8), 0x8);   // -0.25 keeps its sign,
  EXPECT_EQ(ElementBitsAt(*quantized, ElementFormat::kE2m1, 0, 10), 0x8);  // as does -0.
}

TEST(Mx, NegativeUnderflowIsZeroInFnuz) {
  const Tensor<float, 2> x = OneBlock({224.0f, -1e-9f, -0.0f});
  QuantizeOptions options = DefaultQuantizeOptions(ElementFormat::kE4m3Fnuz);
  options.maximum = 224.0f;
  const absl::StatusOr<Quantized> quantized = Quantize(x, options);
  ASSERT_TRUE(quantized.ok());
  EXPECT_EQ(quantized->elements(0, 1), 0x00);
  EXPECT_EQ(quantized->elements(0, 2), 0x00);
}

// A rule that lets elements exceed the maximum saturates them there, not at the format's own
// largest value.
TEST(Mx, ElementsSaturateAtTheMaximum) {
  QuantizeOptions options = DefaultQuantizeOptions(ElementFormat::kE4m3Fnuz);
  options.maximum = 224.0f;
  options.rule = BlockRule::kFloor;
  const absl::StatusOr<Quantized> quantized =
      Quantize(OneBlock({255.0f, -240.0f, 208.0f}), options);
  ASSERT_TRUE(quantized.ok());
  EXPECT_EQ(quantized->codes(0, 0), 127);
  const float expected[] = {224.0f, -224.0f, 208.0f};
  for (std::int64_t k = 0; k < 3; ++k) {
    EXPECT_EQ(DecodeElement(options.format, quantized->elements(0, k)), expected[k]) << k;
  }
}

TEST(Mx, ZeroBlock) {
  for (const ElementFormat format : kFormats) {
    const absl::StatusOr<Quantized> quantized =
        Quantize(OneBlock({}), DefaultQuantizeOptions(format));
    ASSERT_TRUE(quantized.ok());
    EXPECT_EQ(quantized->codes(0, 0), 0);
    for (std::int64_t i = 0; i < quantized->elements.size(); ++i) {
      EXPECT_EQ(quantized->elements.data()[i], 0);
    }
  }
}

TEST(Mx, NonFiniteBlocks) {
  for (const ElementFormat format : kFormats) {
    QuantizeOptions options = DefaultQuantizeOptions(format);
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      const absl::StatusOr<Quantized> quantized = Quantize(OneBlock({1.0f, bad}), options);
      ASSERT_TRUE(quantized.ok());
      EXPECT_EQ(quantized->codes(0, 0), 255);
      for (std::int64_t k = 0; k < kBlockSize; ++k) {
        EXPECT_EQ(ElementBitsAt(*quantized, format, 0, k), NanBits(format));
      }
      const absl::StatusOr<Tensor<float, 2>> back = DequantizeToFloat(*quantized, format);
      ASSERT_TRUE(back.ok());
      for (std::int64_t k = 0; k < kBlockSize; ++k) EXPECT_TRUE(std::isnan((*back)(0, k))) << k;
    }
    options.non_finite = NonFinite::kSaturate;
    const Tensor<float, 2> x =
        OneBlock({1.0f, kInfinity, -kInfinity, std::numeric_limits<float>::max()});
    const absl::StatusOr<Quantized> quantized = Quantize(x, options);
    ASSERT_TRUE(quantized.ok());
    EXPECT_EQ(quantized->codes(0, 0), 254);
    const float expected[] = {0.0f, options.maximum, -options.maximum, 2.0f};
    for (std::int64_t k = 0; k < 4; ++k) {
      EXPECT_EQ(DecodeElement(format, ElementBitsAt(*quantized, format, 0, k)), expected[k]) << k;
    }
    const absl::StatusOr<Quantized> nan = Quantize(OneBlock({kInfinity, kNan}), options);
    ASSERT_TRUE(nan.ok());
    EXPECT_EQ(nan->codes(0, 0), 255);
  }
}

// Every element with every code, against double arithmetic, in which the product is exact.
TEST(Mx, DequantizeEveryElementWithEveryCode) {
  for (const ElementFormat format : kFormats) {
    const int elements = 1 << ElementBits(format);
    Quantized quantized;
    quantized.elements.resize(256, elements == 16 ? 16 : 256);
    quantized.codes.resize(256, elements == 16 ? 1 : 8);
    for (std::int64_t code = 0; code < 256; ++code) {
      for (std::int64_t i = 0; i < quantized.elements.dimension(1); ++i) {
        quantized.elements(code, i) = static_cast<std::uint8_t>(elements == 16 ? i * 0x11 : i);
      }
      for (std::int64_t b = 0; b < quantized.codes.dimension(1); ++b) {
        quantized.codes(code, b) = static_cast<std::uint8_t>(code);
      }
    }
    const absl::StatusOr<Tensor<float, 2>> floats = DequantizeToFloat(quantized, format);
    const absl::StatusOr<Tensor<Bf16, 2>> bf16 = DequantizeToBf16(quantized, format);
    ASSERT_TRUE(floats.ok() && bf16.ok());
    for (std::int64_t code = 0; code < 256; ++code) {
      for (std::int64_t k = 0; k < floats->dimension(1); ++k) {
        const std::uint8_t bits = ElementBitsAt(quantized, format, code, k);
        const double element = DecodeElement(format, bits);
        const double product =
            code == 255 ? kNan : std::ldexp(element, static_cast<int>(code) - 127);
        if (std::isnan(product)) {
          ASSERT_TRUE(std::isnan((*floats)(code, k)));
          ASSERT_EQ((*bf16)(code, k).bits(), 0x7FC0);
          continue;
        }
        ASSERT_EQ((*floats)(code, k), static_cast<float>(product)) << code << " " << k;
        if (std::isfinite(product) && std::fabs(product) < 0x1p128) {
          ASSERT_EQ(static_cast<double>((*floats)(code, k)), product);
        }
        ASSERT_EQ((*bf16)(code, k).bits(), Bf16::FromDouble(product).bits()) << code << " " << k;
      }
    }
  }
}

// Quantizing inside a GEMM's tile gives the bytes of quantizing apart, wherever the tile is cut.
TEST(Mx, FusedTileEqualsSeparateQuantization) {
  Tensor<float, 2> x = RandomRows(21, 256, 13);
  x(3, 40) = kNan;
  x(4, 70) = kInfinity;
  for (const ElementFormat format : kFormats) {
    for (const BlockRule rule : kRules) {
      QuantizeOptions options = DefaultQuantizeOptions(format);
      options.rule = rule;
      const absl::StatusOr<Quantized> whole = Quantize(x, options);
      ASSERT_TRUE(whole.ok());
      for (const TileExtent extent :
           {TileExtent{0, 0, 16, 128}, {16, 128, 16, 128}, {5, 224, 3, 32}, {0, 192, 32, 128}}) {
        const absl::StatusOr<Quantized> tile = QuantizeTile(x, extent, options);
        ASSERT_TRUE(tile.ok()) << tile.status();
        ASSERT_EQ(tile->codes.dimension(1), extent.columns / kBlockSize);
        for (std::int64_t row = 0; row < extent.rows; ++row) {
          for (std::int64_t k = 0; k < extent.columns; ++k) {
            const std::int64_t m = extent.row0 + row;
            const std::int64_t column = extent.column0 + k;
            const bool inside = m < x.dimension(0) && column < x.dimension(1);
            ASSERT_EQ(ElementBitsAt(*tile, format, row, k),
                      inside ? ElementBitsAt(*whole, format, m, column) : 0)
                << "row " << m << " k " << column;
            ASSERT_EQ(tile->codes(row, k / kBlockSize),
                      inside ? whole->codes(m, column / kBlockSize) : BlockCode(0.0f, options))
                << "row " << m << " block " << column / kBlockSize;
          }
        }
      }
    }
  }
}

// One code for 32 x 32: that of the largest row's block; the elements are those it gives.
TEST(Mx, SquareBlocksShareTheCodeOfTheirLargestRow) {
  Tensor<float, 2> x = RandomRows(96, 128, 14);
  x(70, 100) = kNan;
  for (const ElementFormat format : {ElementFormat::kE4m3Fn, ElementFormat::kE2m1}) {
    const QuantizeOptions options = DefaultQuantizeOptions(format);
    const absl::StatusOr<Quantized> rows = Quantize(x, options);
    const absl::StatusOr<Quantized> square = QuantizeSquareBlocks(x, options);
    ASSERT_TRUE(rows.ok() && square.ok());
    ASSERT_EQ(ShapeText(square->codes), "[3, 4]");
    const absl::StatusOr<Tensor<float, 2>> back = DequantizeToFloat(*square, format);
    ASSERT_TRUE(back.ok()) << back.status();
    for (std::int64_t row = 0; row < 96; ++row) {
      for (std::int64_t k = 0; k < 128; ++k) {
        int largest = 0;
        for (std::int64_t r = row / 32 * 32; r < row / 32 * 32 + 32; ++r) {
          largest = std::max<int>(largest, rows->codes(r, k / 32));
        }
        const std::uint8_t code = square->codes(row / 32, k / 32);
        ASSERT_EQ(code, largest) << row << " " << k;
        if (code == 255) {
          ASSERT_TRUE(std::isnan((*back)(row, k)));
          continue;
        }
        const float element = NearestByBruteForce(
            format, std::ldexp(static_cast<double>(x(row, k)), 127 - static_cast<int>(code)));
        ASSERT_EQ((*back)(row, k), std::ldexp(element, static_cast<int>(code) - 127))
            << row << " " << k;
      }
    }
  }
}

void ExpectRefused(const absl::Status& status, const std::string& part) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(StdView(status.message()).find(part), std::string_view::npos) << status;
}

TEST(Mx, BadInputIsRefusedByName) {
  const QuantizeOptions options = DefaultQuantizeOptions(ElementFormat::kE4m3Fn);
  Tensor<float, 2> x(3, 40);
  x.setZero();
  ExpectRefused(Quantize(x, options).status(), "x is [3, 40]: K = 40 is not a multiple");
  ExpectRefused(QuantizeTile(x, {0, 8, 1, 32}, options).status(), "tile columns 8 .. 40");
  ExpectRefused(QuantizeTile(x, {-1, 0, 1, 32}, options).status(), "at (-1, 0)");

  QuantizeOptions bad = options;
  bad.maximum = 449.0f;
  ExpectRefused(Quantize(x, bad).status(), "maximum is 449, expected above 0 and at most 448");
  bad = options;
  bad.maximum = kNan;
  ExpectRefused(Quantize(x, bad).status(), "maximum is nan");
  bad = options;
  bad.amax_floor = -1.0f;
  ExpectRefused(Quantize(x, bad).status(), "amax_floor is -1");
  bad = options;
  bad.smallest_code = 2;
  ExpectRefused(Quantize(x, bad).status(), "smallest_code is 2");

  Quantized quantized;
  quantized.elements.resize(2, 48);
  quantized.codes.resize(2, 1);
  ExpectRefused(DequantizeToFloat(quantized, ElementFormat::kE4m3Fn).status(), "K = 48");
  ExpectRefused(DequantizeToBf16(quantized, ElementFormat::kE2m1).status(),
                "codes are [2, 1], expected [2, 3]");
  ExpectRefused(QuantizeSquareBlocks(Tensor<float, 2>(40, 32), options).status(),
                "x is [40, 32]: 40 rows are not a multiple of 32");
}

TEST(Mx, NoRowsAndNoColumns) {
  const QuantizeOptions options = DefaultQuantizeOptions(ElementFormat::kE2m1);
  const absl::StatusOr<Quantized> rows = Quantize(Tensor<float, 2>(0, 64), options);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(ShapeText(rows->codes), "[0, 2]");
  const absl::StatusOr<Quantized> columns = Quantize(Tensor<float, 2>(4, 0), options);
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(ShapeText(columns->elements), "[4, 0]");
}

}  // namespace
}  // namespace lanewise::reference
