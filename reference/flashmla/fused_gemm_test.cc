#include "reference/flashmla/fused_gemm.h"

#include <cstdint>
#include <random>

#include "gtest/gtest.h"
#include "reference/block_codes.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gemm/test_matrices.h"

namespace lanewise::reference::flashmla {
namespace {

constexpr std::int64_t kTokens = 3;
constexpr std::int64_t kHeadDim = 64;
constexpr std::int64_t kHeadsPerGroup = 8;

// The seed's formula for Q, spelled out: where (h, d) stands.
std::int64_t FusedQ(std::int64_t heads, std::int64_t h, std::int64_t d) {
  return d / 16 * (heads * 16) + h * 16 + d % 16;
}

TEST(FusedGemm, PermutedWqBGivesTheFusedOrder) {
  std::mt19937 random(101);
  constexpr std::int64_t kHeads = 4, kRank = 96;
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, kTokens, kRank, kTokens, 120, 130, &random);
  Mx plain = RandomMx(ElementFormat::kE4m3Fn, kHeads * kHeadDim, kRank, kHeads * kHeadDim / 32, 120,
                      130, &random);
  plain.codes = ExpandBlockCodes(plain.codes);
  const absl::StatusOr<ScaledWeight> fused = PermuteWqB(plain.elements, plain.codes, kHeads);
  ASSERT_TRUE(fused.ok()) << fused.status();
  const absl::StatusOr<Tensor<float, 2>> q = ExactQProjection<float>(x.view(), plain.view());
  const absl::StatusOr<Tensor<float, 2>> q_fused =
      ExactQProjection<float>(x.view(), {ElementFormat::kE4m3Fn, fused->weight, fused->codes});
  ASSERT_TRUE(q.ok() && q_fused.ok());
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t d = 0; d < kHeadDim; ++d) {
        ASSERT_EQ((*q_fused)(t, FusedQ(kHeads, h, d)), (*q)(t, h * kHeadDim + d))
            << "token " << t << " head " << h << " d " << d;
      }
    }
  }
}

// o in the fused order, as the attention kernel writes it, by the permuted wo_a.
TEST(FusedGemm, PermutedWoAReadsTheFusedOrder) {
  std::mt19937 random(102);
  constexpr std::int64_t kGroups = 2, kRows = 64;
  constexpr std::int64_t kColumns = kHeadsPerGroup * kHeadDim;
  const Mx o =
      RandomMx(ElementFormat::kE4m3Fn, kTokens, kGroups * kColumns, kTokens, 120, 130, &random);
  Mx o_fused = o;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t g = 0; g < kGroups; ++g) {
      for (std::int64_t h = 0; h < kHeadsPerGroup; ++h) {
        for (std::int64_t c = 0; c < kHeadDim / 32; ++c) {
          const std::int64_t from = g * kColumns + h * kHeadDim + c * 32;
          const std::int64_t to = g * kColumns + (c * kHeadsPerGroup + h) * 32;
          for (std::int64_t j = 0; j < 32; ++j) {
            o_fused.elements(t, to + j) = o.elements(t, from + j);
          }
          o_fused.codes(t, to / 32) = o.codes(t, from / 32);
        }
      }
    }
  }
  for (const std::int64_t code_rows : {kGroups * kRows, kGroups * kRows / 32}) {
    const Mx plain =
        RandomMx(ElementFormat::kE4m3Fn, kGroups * kRows, kColumns, code_rows, 120, 130, &random);
    const absl::StatusOr<ScaledWeight> fused =
        PermuteWoA(plain.elements, plain.codes, kHeadsPerGroup);
    ASSERT_TRUE(fused.ok()) << fused.status();
    const absl::StatusOr<Tensor<Bf16, 2>> z =
        ExactOProjection<Bf16>(o.view(), plain.view(), kGroups);
    const absl::StatusOr<Tensor<Bf16, 2>> z_fused = ExactOProjection<Bf16>(
        o_fused.view(), {ElementFormat::kE4m3Fn, fused->weight, fused->codes}, kGroups);
    ASSERT_TRUE(z.ok()) << z.status();
    ASSERT_TRUE(z_fused.ok()) << z_fused.status();
    EXPECT_TRUE(SameNumbers(*z, *z_fused));
    // The wrong pair is not the same: the test above can fail.
    EXPECT_FALSE(SameNumbers(
        *z, *ExactOProjection<Bf16>(o.view(), {ElementFormat::kE4m3Fn, fused->weight, fused->codes},
                                    kGroups)));
  }
}

TEST(FusedGemm, GroupsAreApart) {
  std::mt19937 random(103);
  Mx o = RandomMx(ElementFormat::kE4m3Fn, 1, 64, 1, 127, 127, &random);
  const Mx w = RandomMx(ElementFormat::kE4m3Fn, 4, 32, 4, 127, 127, &random);
  const Tensor<float, 2> before = *ExactOProjection<float>(o.view(), w.view(), 2);
  for (std::int64_t k = 32; k < 64; ++k) o.elements(0, k) = 0;
  const Tensor<float, 2> after = *ExactOProjection<float>(o.view(), w.view(), 2);
  EXPECT_EQ(before(0, 0), after(0, 0));
  EXPECT_EQ(before(0, 1), after(0, 1));
  EXPECT_EQ(after(0, 2), 0.0f);
  EXPECT_EQ(after(0, 3), 0.0f);
}

TEST(FusedGemm, BadInputIsRefusedByName) {
  std::mt19937 random(104);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 1, 64, 1, 127, 127, &random);
  const Mx blocks = RandomMx(ElementFormat::kE4m3Fn, 64, 64, 2, 127, 127, &random);
  EXPECT_TRUE(Refused(ExactQProjection<float>(x.view(), blocks.view()).status(),
                      "wq_b's codes are [2, 2], expected one row for each of 64"));
  EXPECT_TRUE(Refused(ExactOProjection<float>(x.view(), blocks.view(), 2).status(),
                      "o is [1, 64] and wo_a [64, 64]"));
  EXPECT_TRUE(Refused(ExactOProjection<float>(x.view(), blocks.view(), 0).status(), "0 groups"));
}

}  // namespace
}  // namespace lanewise::reference::flashmla
