#include "layouts/bound_layout.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

TEST(BoundLayout, LawsHoldForEveryCoordinateOfEveryCatalogueCase) {
  std::int64_t coordinates = 0;
  for (const BoundCase& test : CatalogueCases()) {
    SCOPED_TRACE(test.name);
    const BoundLayout& bound = test.bound;
    ASSERT_EQ(bound.axes(), std::ssize(test.extents));
    std::int64_t units = 1;
    for (const std::int64_t extent : test.extents) units *= extent;
    ASSERT_EQ(bound.units(), units);
    std::vector<bool> taken(units, false);
    std::vector<std::int64_t> coordinate(bound.axes(), 0);
    for (std::int64_t index = 0; index < units; ++index) {
      ASSERT_EQ(bound.LogicalIndex(coordinate.data()), index);
      const std::int64_t offset = bound.Offset(coordinate.data());
      ASSERT_GE(offset, 0);
      ASSERT_LT(offset, units);
      ASSERT_FALSE(taken[offset]) << "offset " << offset << " is taken twice";
      taken[offset] = true;
      std::vector<std::int64_t> back(bound.axes(), -1);
      bound.Coordinate(offset, back.data());
      ASSERT_EQ(back, coordinate) << "at offset " << offset;
      // The next coordinate in row-major order.
      for (int axis = bound.axes() - 1; axis >= 0; --axis) {
        if (++coordinate[axis] < test.extents[axis]) break;
        coordinate[axis] = 0;
      }
      ++coordinates;
    }
  }
  EXPECT_GT(coordinates, 500'000);
}

// Offsets of the catalogue by the words of its sources, each formula written out by hand.
struct Formula {
  std::string_view tag;
  std::int64_t parameter;  // 0: none
  std::vector<std::int64_t> extents;
  std::int64_t (*offset)(const std::vector<std::int64_t>& e, std::int64_t i, std::int64_t k);
};

std::vector<Formula> Formulas() {
  const auto row_major = [](const auto& e, std::int64_t i, std::int64_t k) { return i * e[1] + k; };
  return {
      {"plain", 0, {3, 5}, row_major},
      {"gfx942/dense_codes", 0, {4, 12}, row_major},
      {"gfx942/row_codes", 0, {16, 18}, row_major},
      {"gfx942/dense",
       0,
       {48, 384},
       [](const auto& e, std::int64_t n, std::int64_t k) {
         const std::int64_t lane = 16 * (k % 32 / 8) + n % 16;
         const std::int64_t block = k % 128 / 32;
         return n / 16 * 16 * e[1] + k / 128 * 2048 + block / 2 * 1024 + lane * 16 + block % 2 * 8 +
                k % 8;
       }},
      {"gfx942/dense_chunk_q",
       0,
       {32, 256},
       [](const auto& e, std::int64_t n, std::int64_t k) {
         const std::int64_t lane = 16 * (k % 32 / 8) + n % 16;
         const std::int64_t block = k % 128 / 32;
         return n / 16 * 16 * e[1] + k / 128 * 2048 + block / 2 * 1024 + lane * 16 + block % 2 * 8 +
                (k % 8 % 2) * 4 + k % 8 / 2;
       }},
      {"gfx942/codes_tile_rounds",
       8,
       {48, 24},
       [](const auto& e, std::int64_t n, std::int64_t k) {
         return n / 16 * 16 * e[1] + k / 8 * 128 + n % 16 * 8 + k % 8;
       }},
      {"gfx942/fp4_lane_major",
       0,
       {3, 288},
       [](const auto& e, std::int64_t n, std::int64_t b) {
         if (b < 256) return n * e[1] + b / 64 * 64 + b % 16 / 4 * 16 + b % 64 / 16 * 4 + b % 4;
         return n * e[1] + 256 + b % 16 / 4 * 8 + (b - 256) / 16 * 4 + b % 4;
       }},
      {"gfx942/fp4_tile_major",
       0,
       {32, 288},
       [](const auto& e, std::int64_t n, std::int64_t b) {
         const std::int64_t lane = 16 * (b % 16 / 4) + n % 16;
         const std::int64_t tile = n / 16 * 16 * e[1];
         if (b < 256) return tile + b / 64 * 1024 + lane * 16 + b % 64 / 16 * 4 + b % 4;
         return tile + 16 * 256 + lane * 8 + (b - 256) / 16 * 4 + b % 4;
       }},
      {"gfx942/fp4_tile_major",
       0,
       {32, 32},
       [](const auto&, std::int64_t n, std::int64_t b) {
         return n / 16 * 512 + (16 * (b % 16 / 4) + n % 16) * 8 + b / 16 * 4 + b % 4;
       }},
      {"aiter/shuffle_weight_16x16",
       0,
       {48, 96},
       [](const auto& e, std::int64_t n, std::int64_t b) {
         return n / 16 * 16 * e[1] + b / 16 * 256 + n % 16 * 16 + b % 16;
       }},
      {"aiter/e8m0_shuffle",
       0,
       {96, 24},
       [](const auto& e, std::int64_t m, std::int64_t n) {
         return (((m / 32 * (e[1] / 8) + n / 8) * 4 + n % 4) * 16 + m % 16) * 4 + n % 8 / 4 * 2 +
                m / 16 % 2;
       }},
      {"flashmla/q_fused",
       4,
       {5 * 64, 3},  // 5 heads of 64
       [](const auto& e, std::int64_t row, std::int64_t b) {
         const std::int64_t h = row / 64, d = row % 64;
         return (d / 16 * (5 * 16) + h * 16 + d % 16) * e[1] + b;
       }},
      {"flashmla/o_fused",
       3,
       {7, 2 * 96},  // 2 heads of 96
       [](const auto& e, std::int64_t row, std::int64_t column) {
         const std::int64_t h = column / 96, c = column % 96 / 32, j = column % 32;
         return row * e[1] + (c * 2 + h) * 32 + j;
       }},
      {"flashmla/o_fused_chunk",
       16,
       {2, 8 * 16},
       [](const auto& e, std::int64_t row, std::int64_t code) {
         return row * e[1] + code % 16 * 8 + code / 16;
       }},
      // Matrix-core operands: lane * (units a lane) + position.
      {"mfma/gfx942_16x16x32_fp8",
       0,
       {16, 32},
       [](const auto&, std::int64_t i, std::int64_t k) { return (16 * (k / 8) + i) * 8 + k % 8; }},
      {"mfma/gfx942_32x32x16_fp8",
       0,
       {32, 16},
       [](const auto&, std::int64_t i, std::int64_t k) { return (32 * (k / 8) + i) * 8 + k % 8; }},
      {"mfma/gfx942_16x16x16_bf16",
       0,
       {16, 16},
       [](const auto&, std::int64_t i, std::int64_t k) { return (16 * (k / 4) + i) * 4 + k % 4; }},
      {"mfma/gfx942_32x32x8_bf16",
       0,
       {32, 8},
       [](const auto&, std::int64_t i, std::int64_t k) { return (32 * (k / 4) + i) * 4 + k % 4; }},
      {"mfma/gfx950_16x16x32_bf16",
       0,
       {16, 32},
       [](const auto&, std::int64_t i, std::int64_t k) { return (16 * (k / 8) + i) * 8 + k % 8; }},
      {"mfma/gfx950_16x16x128_fp8",
       0,
       {16, 128},
       [](const auto&, std::int64_t i, std::int64_t k) {
         return (16 * (k / 16 % 4) + i) * 32 + 16 * (k / 64) + k % 16;
       }},
      {"mfma/gfx950_16x16x128_fp4",
       0,
       {16, 128},
       [](const auto&, std::int64_t i, std::int64_t k) {
         return (16 * (k / 32) + i) * 32 + k % 32;
       }},
      {"mfma/gfx950_32x32x64_fp8",
       0,
       {32, 64},
       [](const auto&, std::int64_t i, std::int64_t k) {
         return (32 * (k / 16 % 2) + i) * 32 + 16 * (k / 32) + k % 16;
       }},
      {"mfma/gfx950_32x32x64_fp4",
       0,
       {32, 64},
       [](const auto&, std::int64_t i, std::int64_t k) {
         return (32 * (k / 32) + i) * 32 + k % 32;
       }},
  };
}

Layout WithAnyParameter(const Layout& layout, std::int64_t size) {
  return layout.WithParameter("blocks", size).WithParameter("chunks", size);
}

TEST(BoundLayout, FollowsTheFormulasOfItsSources) {
  for (const Formula& formula : Formulas()) {
    SCOPED_TRACE(formula.tag);
    const Layout* layout = FindLayout(formula.tag);
    ASSERT_NE(layout, nullptr);
    const auto bound = Bind(WithAnyParameter(*layout, formula.parameter), formula.extents);
    ASSERT_TRUE(bound.ok()) << bound.status().message();
    for (std::int64_t i = 0; i < formula.extents[0]; ++i) {
      for (std::int64_t k = 0; k < formula.extents[1]; ++k) {
        const std::int64_t coordinate[] = {i, k};
        ASSERT_EQ(bound->Offset(coordinate), formula.offset(formula.extents, i, k))
            << "at [" << i << ", " << k << "], " << FactorText(*bound, coordinate);
      }
    }
  }
}

TEST(BoundLayout, AccumulatorsAndGateUpFollowTheirFormulas) {
  const auto d16 = Bind(CatalogueLayout("mfma/d_16x16"), std::vector<std::int64_t>{16, 16});
  const auto d32 = Bind(CatalogueLayout("mfma/d_32x32"), std::vector<std::int64_t>{32, 32});
  ASSERT_TRUE(d16.ok() && d32.ok());
  for (std::int64_t lane = 0; lane < 64; ++lane) {
    for (std::int64_t r = 0; r < 4; ++r) {
      const std::int64_t coordinate[] = {4 * (lane / 16) + r, lane % 16};
      EXPECT_EQ(d16->Offset(coordinate), lane * 4 + r);
    }
    for (std::int64_t r = 0; r < 16; ++r) {
      const std::int64_t coordinate[] = {8 * (r / 4) + 4 * (lane / 32) + r % 4, lane % 32};
      EXPECT_EQ(d32->Offset(coordinate), lane * 16 + r);
    }
  }
  const auto gate_up =
      Bind(CatalogueLayout("gfx942/gate_up_interleave"), std::vector<std::int64_t>{3, 2, 5, 7});
  ASSERT_TRUE(gate_up.ok());
  for (std::int64_t e = 0; e < 3; ++e) {
    for (std::int64_t half = 0; half < 2; ++half) {
      for (std::int64_t i = 0; i < 5; ++i) {
        for (std::int64_t b = 0; b < 7; ++b) {
          const std::int64_t coordinate[] = {e, half, i, b};
          EXPECT_EQ(gate_up->Offset(coordinate), (e * 10 + 2 * i + half) * 7 + b);
        }
      }
    }
  }
}

TEST(BoundLayout, EveryCatalogueEntryHasAFormula) {
  for (const Layout& layout : kCatalogue) {
    bool found = layout.tag == "mfma/d_16x16" || layout.tag == "mfma/d_32x32" ||
                 layout.tag == "gfx942/gate_up_interleave";
    for (const Formula& formula : Formulas()) found = found || formula.tag == layout.tag;
    EXPECT_TRUE(found) << layout.tag << " has no formula in this test";
    EXPECT_FALSE(layout.purpose.empty() || layout.source.empty()) << layout.tag;
  }
}

struct Refusal {
  std::string_view tag;
  std::vector<std::int64_t> extents;
  std::string_view words;
};

TEST(BoundLayout, RefusesExtentsThatDoNotFitAndSaysWhich) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max() / 128 * 128;
  for (const Refusal& refusal : {
           Refusal{"gfx942/dense", {16}, "it has 2 axes, 1 extents were given"},
           Refusal{"gfx942/dense", {24, 128}, "axis row has 24 units, expected a multiple of 16"},
           Refusal{"gfx942/dense", {16, 96}, "axis k has 96 units, expected a multiple of 128"},
           Refusal{"gfx942/dense", {-16, 128}, "axis row has -16 units"},
           Refusal{"gfx942/dense", {1 << 20, kHuge}, "more than 2^63 - 1"},
           Refusal{"gfx942/fp4_tile_major",
                   {16, 80},
                   "axis byte has 80 units, expected a multiple of 64, or such a multiple plus 32"},
           Refusal{"gfx942/codes_tile_rounds", {16, 8}, "its parameter blocks has no value"},
           Refusal{
               "mfma/gfx942_16x16x32_fp8", {16, 64}, "axis k has 64 units, expected exactly 32"},
       }) {
    const auto bound = Bind(*FindLayout(refusal.tag), refusal.extents);
    ASSERT_FALSE(bound.ok()) << refusal.words;
    const std::string message(bound.status().message());
    EXPECT_NE(message.find(refusal.words), std::string::npos) << message;
    EXPECT_NE(message.find(refusal.tag), std::string::npos) << message;
  }
}

TEST(BoundLayout, OffsetsBeyond32BitsAreExact) {
  // 385 experts of 4096 x 7168 e2m1 pairs: more than 2^32 units, no memory needed.
  const std::vector<std::int64_t> extents = {385LL * 4096, 7168 / 2};
  const auto bound = Bind(CatalogueLayout("gfx942/fp4_tile_major"), extents);
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(bound->units(), 385LL * 4096 * 3584);
  const std::int64_t last[] = {extents[0] - 1, extents[1] - 1};
  EXPECT_EQ(bound->Offset(last), bound->units() - 1);
  std::int64_t back[2];
  bound->Coordinate(bound->units() - 1, back);
  EXPECT_EQ(back[0], last[0]);
  EXPECT_EQ(back[1], last[1]);
}

TEST(BoundLayout, CheckedAccessRefusesOutOfRange) {
  const auto bound = Bind(CatalogueLayout("gfx942/dense"), std::vector<std::int64_t>{16, 128});
  ASSERT_TRUE(bound.ok());
  EXPECT_FALSE(OffsetOf(*bound, std::vector<std::int64_t>{16, 0}).ok());
  EXPECT_FALSE(OffsetOf(*bound, std::vector<std::int64_t>{0, -1}).ok());
  EXPECT_FALSE(OffsetOf(*bound, std::vector<std::int64_t>{0}).ok());
  EXPECT_FALSE(LogicalIndexAt(*bound, 2048).ok());
  EXPECT_FALSE(LogicalIndexAt(*bound, -1).ok());
  EXPECT_EQ(*OffsetOf(*bound, std::vector<std::int64_t>{1, 0}), 16);
  EXPECT_EQ(*LogicalIndexAt(*bound, 16), 128);
  EXPECT_EQ(FactorText(*bound, std::vector<std::int64_t>{5, 77}),
            "tile=0 step=0 half=1 group=1 r=5 block=0 byte=5");
}

}  // namespace
}  // namespace lanewise
