// Plans of linears against the reference: every form of weight and codes, whole and in
// tensor-parallel parts, and back to the sources.

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/formats.h"
#include "gtest/gtest.h"
#include "reference/block_codes.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/linear.h"
#include "reference/gfx950/linear.h"
#include "reference/testing/tensors.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx950/linear.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Shape = std::array<std::int64_t, 2>;
using reference::RandomBytes;
using reference::Same;

std::span<const std::uint8_t> View(const Bytes& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.size())};
}
std::span<const std::uint8_t> View(const Tensor<Bf16, 2>& tensor) {
  return {reinterpret_cast<const std::uint8_t*>(tensor.data()),
          static_cast<std::size_t>(2 * tensor.size())};
}

Bytes RunOver(const TensorPlan& plan, const Sources& sources, Shape shape) {
  Bytes memory(shape);
  memory.setConstant(0xA5);
  EXPECT_EQ(memory.size(), plan.bytes());
  const auto run = RunPlan(plan, sources, {.threads = 2},
                           {memory.data(), static_cast<std::size_t>(memory.size())});
  EXPECT_TRUE(run.ok()) << run.status().message();
  return memory;
}

// One draw: an [n, k] weight whose NaN bytes are gone, codes below 250 of code_rows x code_columns.
struct Draw {
  std::int64_t n, k, code_rows, code_columns;
  Bytes e4m3;
  Bytes codes;      // as stored
  Bytes row_codes;  // [n, k / 32], what they stand for

  Draw(std::int64_t n_, std::int64_t k_, std::int64_t code_rows_, std::int64_t code_columns_,
       std::uint64_t seed)
      : n(n_),
        k(k_),
        code_rows(code_rows_),
        code_columns(code_columns_),
        e4m3(RandomBytes(Shape{n_, k_}, seed)) {
    for (std::int64_t i = 0; i < e4m3.size(); ++i) {
      if ((e4m3.data()[i] & 0x7F) == 0x7F) e4m3.data()[i] ^= 1;
      if (i % 7 == 0) e4m3.data()[i] &= 0x80;  // zeros of both signs
    }
    // Codes for which bf16 has room for every value.
    codes =
        RandomBytes(Shape{(n + code_rows - 1) / code_rows, (k + code_columns - 1) / code_columns},
                    seed + 1, 200);
    for (std::int64_t i = 0; i < codes.size(); ++i) codes.data()[i] += 30;
    row_codes = Bytes(n, k / 32);
    for (std::int64_t row = 0; row < n; ++row) {
      for (std::int64_t c = 0; c < k / 32; ++c) {
        row_codes(row, c) = codes(row / code_rows, 32 * c / code_columns);
      }
    }
  }

  LinearSource Source(LinearSource::WeightForm form) const {
    return LinearSource::Whole(n, k, form, code_rows, code_columns);
  }
};

Bytes Part(const Bytes& tensor, std::int64_t row, std::int64_t rows, std::int64_t column,
           std::int64_t columns) {
  return tensor.slice(Shape{row, column}, Shape{rows, columns});
}

// Restores codes, then weight, into poisoned sources and compares the wanted part of the weight.
void CheckRestored(const WeightPlans& plans, const Bytes& weight, const Bytes& codes,
                   const Sources& sources, const LinearSource& part) {
  std::vector<std::vector<std::uint8_t>> restored;
  for (const auto& source : sources) restored.emplace_back(source.size(), 0x5A);
  const Sinks sinks = {restored[0], restored[1]};
  absl::Status status = RestorePlan(plans.codes, View(codes), 2, sinks);
  ASSERT_TRUE(status.ok()) << status.message();
  status = RestorePlan(plans.weight, View(weight), 2, sinks);
  ASSERT_TRUE(status.ok()) << status.message();
  status = ApplyZeroSigns(plans.weight, ZeroSigns(plans.weight, sources), sinks);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::int64_t element = part.weight == LinearSource::WeightForm::kBf16 ? 2 : 1;
  for (std::int64_t row = 0; row < part.n; ++row) {
    for (std::int64_t column = 0; column < part.k; ++column) {
      const bool wanted = row >= part.row_begin && row < part.row_begin + part.rows &&
                          column >= part.k_begin && column < part.k_begin + part.columns;
      for (std::int64_t b = 0; b < element; ++b) {
        const std::int64_t at = (row * part.k + column) * element + b;
        ASSERT_EQ(restored[0][at], wanted ? sources[0][at] : 0x5A)
            << "weight [" << row << ", " << column << "], byte " << b;
      }
    }
  }
}

TEST(LinearPlans, DenseOfEveryFormAndPartEqualsTheReference) {
  const std::uint64_t seed = std::random_device()();
  std::uint64_t draw_seed = seed;
  for (const auto& [code_rows, code_columns] :
       {std::pair<std::int64_t, std::int64_t>{32, 32}, {1, 32}, {128, 128}, {64, 32}}) {
    for (const auto& [n, k] :
         {std::pair<std::int64_t, std::int64_t>{128, 256}, {64, 160}, {256, 384}}) {
      for (const auto form : {LinearSource::WeightForm::kE4m3, LinearSource::WeightForm::kBf16}) {
        for (const std::int64_t split : {1, 2}) {
          Draw draw(n, k, code_rows, code_columns, ++draw_seed);
          SCOPED_TRACE(absl::StrCat("[", n, ", ", k, "], codes ", code_rows, " x ", code_columns,
                                    ", form ", static_cast<int>(form), ", split ", split, ", seed ",
                                    draw_seed));
          if (code_rows == 1) {  // rows that fold
            for (std::int64_t row = 0; row < n; ++row) {
              for (std::int64_t c = 0; c < k / 32; ++c) {
                draw.codes(row, c) = draw.row_codes(row, c) = draw.codes(row / 32 * 32, c);
              }
            }
          }
          LinearSource part = draw.Source(form);
          if (split == 2) {  // the last half of the rows, and of the columns where they divide
            part.row_begin = part.rows = n / 2;
            if (k / 2 % code_columns == 0) part.k_begin = part.columns = k / 2;
          }
          const Tensor<Bf16, 2> bf16 = *reference::gfx950::Dequantize(draw.e4m3, draw.row_codes);
          const Sources sources = {
              form == LinearSource::WeightForm::kBf16 ? View(bf16) : View(draw.e4m3),
              View(draw.codes)};
          const Bytes wanted =
              Part(draw.e4m3, part.row_begin, part.rows, part.k_begin, part.columns);
          const Bytes wanted_codes = *reference::FoldRowCodes(Part(
              draw.row_codes, part.row_begin, part.rows, part.k_begin / 32, part.columns / 32));
          for (const bool chunk_q : {false, true}) {
            const auto plans = gfx942::PlanDense(part, {.chunk_q = chunk_q, .refuse_nans = true});
            ASSERT_TRUE(plans.ok()) << plans.status().message();
            const auto expected =
                reference::gfx942::DenseCopy(wanted, wanted_codes,
                                             chunk_q ? reference::gfx942::ChunkOrder::kChunkQ
                                                     : reference::gfx942::ChunkOrder::kNatural);
            ASSERT_TRUE(expected.ok()) << expected.status().message();
            const Bytes codes =
                RunOver(plans->codes, sources, {part.rows / 32, expected->codes.dimension(1)});
            const Bytes weight =
                RunOver(plans->weight, sources, {part.rows, expected->bytes.dimension(1)});
            ASSERT_TRUE(Same(expected->codes, codes));
            ASSERT_TRUE(Same(expected->bytes, weight));
            CheckRestored(*plans, weight, codes, sources, part);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// Larger than what restoring takes back at a time, with an end that is less than a whole such
// piece.
TEST(LinearPlans, LargeWeightsOfBf16ComeBack) {
  const Draw draw(5 * 32, 4096 + 32, 32, 32, 20260);
  const Tensor<Bf16, 2> bf16 = *reference::gfx950::Dequantize(draw.e4m3, draw.row_codes);
  const Sources sources = {View(bf16), View(draw.codes)};
  const LinearSource whole = draw.Source(LinearSource::WeightForm::kBf16);
  for (const bool chunk_q : {false, true}) {
    const auto plans = gfx942::PlanDense(whole, {.chunk_q = chunk_q, .refuse_nans = true});
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    const Bytes codes = RunOver(plans->codes, sources, {5, 132});
    const Bytes weight = RunOver(plans->weight, sources, {5 * 32, 4224});
    CheckRestored(*plans, weight, codes, sources, whole);
  }
}

TEST(LinearPlans, Gfx950KindsEqualTheReference) {
  for (const std::int64_t k : {128, 160}) {
    for (const bool fold : {true, false}) {
      for (const bool batch_invariant : {false, true}) {
        Draw draw(64, k, fold ? 32 : 1, 32, 7 + static_cast<std::uint64_t>(k));
        const auto expected =
            reference::gfx950::ProcessLinear(draw.e4m3, draw.row_codes, batch_invariant);
        ASSERT_TRUE(expected.ok());
        // Row codes, as a loader hands them over.
        draw.codes = draw.row_codes;
        draw.code_rows = 1;
        const LinearSource source = draw.Source(LinearSource::WeightForm::kE4m3);
        const bool folds = RowCodesFold(View(draw.codes), 64, k / 32);
        EXPECT_EQ(folds, fold);
        const gfx950::LinearKind kind = gfx950::ChooseKind(folds, k, batch_invariant);
        const auto plans = gfx950::PlanLinear(source, kind);
        ASSERT_TRUE(plans.ok()) << plans.status().message();
        const Sources sources = {View(draw.e4m3), View(draw.codes)};
        const Bytes codes = RunOver(plans->codes, sources,
                                    {expected->codes.dimension(0), expected->codes.dimension(1)});
        ASSERT_TRUE(Same(expected->codes, codes));
        if (expected->kind == reference::gfx950::LinearKind::kBf16) {
          ASSERT_EQ(kind, gfx950::LinearKind::kBf16);
          const Bytes weight = RunOver(plans->weight, sources, {64, 2 * k});
          const auto view = View(std::get<Tensor<Bf16, 2>>(expected->weight));
          ASSERT_TRUE(std::equal(view.begin(), view.end(), weight.data()));
          CheckRestored(*plans, weight, codes, sources, source);
        } else {
          const Bytes weight = RunOver(plans->weight, sources, {64, k});
          ASSERT_TRUE(Same(std::get<Bytes>(expected->weight), weight));
          CheckRestored(*plans, weight, codes, sources, source);
        }
      }
    }
  }
}

TEST(LinearPlans, FusedLayoutsOfBlockCodesEqualTheReferenceOnRowCodes) {
  const Draw draw(4 * 64, 128, 32, 32, 3);
  const Sources sources = {View(draw.e4m3), View(draw.codes)};
  const LinearSource source = draw.Source(LinearSource::WeightForm::kE4m3);
  const auto wq_b = flashmla::PlanWqB(source, 4);
  ASSERT_TRUE(wq_b.ok()) << wq_b.status().message();
  const auto fused = reference::flashmla::PermuteWqB(draw.e4m3, draw.row_codes, 4);
  ASSERT_TRUE(fused.ok());
  EXPECT_TRUE(Same(fused->weight, RunOver(wq_b->weight, sources, {256, 128})));
  EXPECT_TRUE(Same(fused->codes, RunOver(wq_b->codes, sources, {256, 4})));

  const auto wo_a = flashmla::PlanWoA(source, 2);
  ASSERT_TRUE(wo_a.ok()) << wo_a.status().message();
  const auto fused_o = reference::flashmla::PermuteWoA(draw.e4m3, draw.codes, 2);
  ASSERT_TRUE(fused_o.ok()) << fused_o.status().message();
  EXPECT_TRUE(Same(fused_o->weight, RunOver(wo_a->weight, sources, {256, 128})));
  EXPECT_TRUE(Same(fused_o->codes, RunOver(wo_a->codes, sources, {8, 4})));
}

TEST(LinearPlans, RefuseWithTheCoordinate) {
  Draw draw(64, 128, 32, 32, 5);
  const auto message = [&](const TensorPlan& plan, const Sources& sources) {
    std::vector<std::uint8_t> memory(static_cast<std::size_t>(plan.bytes()));
    const auto run = RunPlan(plan, sources, {.threads = 2}, memory);
    return run.ok() ? std::string("accepted") : std::string(run.status().message());
  };
  const Sources sources = {View(draw.e4m3), View(draw.codes)};
  const auto plans =
      gfx942::PlanDense(draw.Source(LinearSource::WeightForm::kE4m3), {.refuse_nans = true});
  ASSERT_TRUE(plans.ok());
  draw.e4m3(37, 90) = 0xFF;
  EXPECT_NE(message(plans->weight, sources).find("byte 0xFF at row 37, column 90"),
            std::string::npos);
  draw.codes(1, 2) = 250;
  EXPECT_NE(message(plans->codes, sources).find("scale code 250 (0xFA) at row 1, column 2"),
            std::string::npos);
  draw.codes(1, 2) = 249;
  EXPECT_EQ(message(plans->codes, sources), "accepted");
  // Sources that are too short are refused, not read.
  EXPECT_NE(message(plans->weight, {View(draw.e4m3).subspan(1), View(draw.codes)}).find("row 63"),
            std::string::npos);

  Draw rows(64, 128, 1, 32, 6);
  const auto row_plans = gfx942::PlanDense(rows.Source(LinearSource::WeightForm::kE4m3), {});
  ASSERT_TRUE(row_plans.ok());
  EXPECT_NE(message(row_plans->codes, {View(rows.e4m3), View(rows.codes)})
                .find("row scales (64, 4) are not 32 x 32 blocks"),
            std::string::npos);

  for (const auto& [n, k] : {std::pair<std::int64_t, std::int64_t>{48, 128}, {64, 100}}) {
    EXPECT_FALSE(
        gfx942::PlanDense(LinearSource::Whole(n, k, LinearSource::WeightForm::kE4m3, 32), {}).ok());
  }
  LinearSource outside = draw.Source(LinearSource::WeightForm::kE4m3);
  outside.row_begin = 32;
  EXPECT_FALSE(gfx942::PlanDense(outside, {}).ok());
}

}  // namespace
}  // namespace lanewise
