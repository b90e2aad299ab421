#include "reference/gfx950/linear.h"

#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "reference/block_codes.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx950 {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Bytes = Tensor<std::uint8_t, 2>;

const Bytes& AsBytes(const LinearWeight& linear) { return std::get<Bytes>(linear.weight); }

TEST(AsBlock32Scale, FoldsOnlyWhatIsBlocks) {
  const Bytes blocks = RandomBytes(Shape2{2, 4}, 111);
  Bytes rows = ExpandBlockCodes(blocks);
  ASSERT_TRUE(AsBlock32Scale(rows).has_value());
  EXPECT_TRUE(Same(blocks, *AsBlock32Scale(rows)));
  rows(63, 3) ^= 0x80;
  EXPECT_FALSE(AsBlock32Scale(rows).has_value());
  EXPECT_FALSE(AsBlock32Scale(Bytes(48, 4).setZero()).has_value());
}

TEST(ProcessLinear, DecidesAsTheSeed) {
  struct {
    std::int64_t n, k;
    bool folds, batch_invariant;
    LinearKind kind;
  } const kCases[] = {
      {64, 128, true, false, LinearKind::kBlockCodes},
      {64, 160, true, false, LinearKind::kBlockCodes},
      {64, 128, true, true, LinearKind::kRowCodes},
      {64, 160, true, true, LinearKind::kBf16},
      {64, 256, false, false, LinearKind::kRowCodes},
      {64, 96, false, false, LinearKind::kBf16},
      {48, 128, true, false, LinearKind::kRowCodes},
      {48, 32, true, false, LinearKind::kBf16},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(absl::StrCat(c.n, " x ", c.k, c.folds ? " folds" : "",
                              c.batch_invariant ? " batch invariant" : ""));
    const Bytes weight = RandomBytes(Shape2{c.n, c.k}, 112);
    Bytes scale(c.n, c.k / 32);
    for (std::int64_t row = 0; row < c.n; ++row) {
      for (std::int64_t column = 0; column < c.k / 32; ++column) {
        scale(row, column) = static_cast<std::uint8_t>(100 + row / 32 + 5 * column);
      }
    }
    if (!c.folds) scale(1, 0) += 1;
    const auto linear = ProcessLinear(weight, scale, c.batch_invariant);
    ASSERT_TRUE(linear.ok()) << linear.status();
    ASSERT_EQ(linear->kind, c.kind);
    switch (c.kind) {
      case LinearKind::kBlockCodes:
        EXPECT_TRUE(Same(weight, AsBytes(*linear)));
        EXPECT_TRUE(Same(scale, ExpandBlockCodes(linear->codes)));
        break;
      case LinearKind::kRowCodes:
        EXPECT_TRUE(Same(weight, AsBytes(*linear)));
        EXPECT_TRUE(Same(scale, linear->codes));
        break;
      case LinearKind::kBf16: {
        EXPECT_TRUE(Same(scale, linear->codes));
        const auto& w = std::get<Tensor<Bf16, 2>>(linear->weight);
        const auto back = UndoDequantize(w, linear->codes);
        ASSERT_TRUE(back.ok()) << back.status();
        EXPECT_TRUE(Same(weight, *back));
        break;
      }
    }
  }
}

TEST(ProcessLinear, CutsALargerScaleAndLooksAtTheRestWhenAsked) {
  const Bytes weight = RandomBytes(Shape2{32, 128}, 113);
  Bytes scale(40, 6);
  scale.setZero();
  for (std::int64_t row = 0; row < 32; ++row) {
    for (std::int64_t column = 0; column < 4; ++column) {
      scale(row, column) = static_cast<std::uint8_t>(120 + column);
    }
  }
  const auto linear = ProcessLinear(weight, scale, false, Checks::All());
  ASSERT_TRUE(linear.ok()) << linear.status();
  EXPECT_EQ(linear->kind, LinearKind::kBlockCodes);
  EXPECT_EQ(ShapeText(linear->codes), "[1, 4]");
  EXPECT_EQ(linear->codes(0, 3), 123);
  scale(39, 0) = 7;
  EXPECT_TRUE(ProcessLinear(weight, scale).ok());
  EXPECT_TRUE(
      absl::StrContains(ProcessLinear(weight, scale, false, Checks::All()).status().message(),
                        "scale[39, 0] is 7 (0x07): expected 0"));
  EXPECT_EQ(ProcessLinear(weight, Bytes(32, 3)).status().message(),
            "scale [32, 3]: expected [32, 4] or more beside weight [32, 128]");
  EXPECT_FALSE(ProcessLinear(weight, Bytes(1, 4)).ok());
  EXPECT_FALSE(ProcessLinear(Bytes(32, 48), Bytes(32, 1)).ok());
}

// From the definitions of the formats: value * 2^(code - 127), rounded to 8 significant bits or to
// bf16's subnormal spacing, 2^-133.
TEST(Dequantize, IsTheNearestBf16OfEveryByteUnderEveryCode) {
  Bytes weight(256, 32), codes(256, 1);
  for (int high = 0; high < 8; ++high) {
    for (int code = 0; code < 256; ++code) {
      codes(code, 0) = static_cast<std::uint8_t>(code);
      for (int low = 0; low < 32; ++low) {
        weight(code, low) = static_cast<std::uint8_t>(32 * high + low);
      }
    }
    const auto w = Dequantize(weight, codes);
    ASSERT_TRUE(w.ok()) << w.status();
    const auto back = UndoDequantize(*w, codes);
    ASSERT_TRUE(back.ok()) << back.status();
    const auto again = Dequantize(*back, codes);
    ASSERT_TRUE(again.ok());
    for (int code = 0; code < 256; ++code) {
      for (int low = 0; low < 32; ++low) {
        const int byte = weight(code, low);
        SCOPED_TRACE(absl::StrCat("byte ", byte, " code ", code));
        const Bf16 actual = (*w)(code, low);
        ASSERT_TRUE((*again)(code, low).bits() == actual.bits() || actual.IsNan());
        if (byte % 128 == 127 || code == 255) {
          ASSERT_TRUE(actual.IsNan());
          continue;
        }
        const int exponent = byte / 8 % 16, mantissa = byte % 8;
        const double magnitude = std::ldexp(exponent == 0 ? mantissa : 8 + mantissa,
                                            std::max(exponent, 1) - 10 + code - 127);
        const double spacing =
            std::ldexp(1.0, std::max(magnitude == 0 ? -200 : std::ilogb(magnitude), -126) - 7);
        const double rounded = std::nearbyint(magnitude / spacing) * spacing;
        ASSERT_EQ(actual.IsNegative(), byte >= 128);
        ASSERT_EQ(std::fabs(actual.ToFloat()), static_cast<float>(rounded));
        if (rounded == magnitude && rounded < std::ldexp(1.0, 128)) {
          ASSERT_EQ((*back)(code, low), byte);
        }
      }
    }
  }
}

TEST(Dequantize, UndoRefusesOtherValues) {
  Tensor<Bf16, 2> w(1, 64);
  w.setConstant(Bf16::FromFloat(1.0f));
  w(0, 40) = Bf16::FromFloat(1.0625f);
  w(0, 41) = Bf16::FromFloat(512.0f);
  EXPECT_EQ(UndoDequantize(w, Bytes(1, 2).setConstant(127)).status().message(),
            "2 of 64 values are not e4m3 x scale; the first: w[0, 40] is 1.0625 (bf16 0x3F88) "
            "under code 127");
  EXPECT_FALSE(UndoDequantize(w, Bytes(1, 1)).ok());
  EXPECT_FALSE(Dequantize(Bytes(1, 64), Bytes(2, 2)).ok());
}

}  // namespace
}  // namespace lanewise::reference::gfx950
