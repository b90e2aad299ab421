#include "reference/flashmla/fused_layout.h"

#include <array>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::flashmla {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Shape3 = std::array<std::int64_t, 3>;
using Bytes = Tensor<std::uint8_t, 2>;
using Permutation = Tensor<std::int64_t, 1>;

// The formulas of the seed's summaries: where element d of head h stands in the fused order.
std::int64_t QFused(std::int64_t h, std::int64_t d, std::int64_t heads) {
  return d / 16 * (heads * 16) + h * 16 + d % 16;
}
std::int64_t OFused(std::int64_t h, std::int64_t d, std::int64_t heads) {
  return (d / 32 * heads + h) * 32 + d % 32;
}

struct Heads {
  std::int64_t count, dim;
};
constexpr Heads kHeads[] = {{1, 32}, {1, 512}, {2, 32}, {3, 64}, {8, 512}, {16, 96}};

TEST(Permutations, AreTheFormulasOfTheSeed) {
  for (const auto [heads, dim] : kHeads) {
    const auto q = QFusedPermutation(heads, dim);
    const auto o = OFusedPermutation(heads, dim);
    const auto chunks = OFusedChunkPermutation(heads, dim);
    ASSERT_TRUE(q.ok() && o.ok() && chunks.ok());
    ASSERT_EQ(q->size(), heads * dim);
    ASSERT_EQ(o->size(), heads * dim);
    ASSERT_EQ(chunks->size(), heads * dim / 32);
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t d = 0; d < dim; ++d) {
        ASSERT_EQ((*q)(QFused(h, d, heads)), h * dim + d);
        ASSERT_EQ((*o)(OFused(h, d, heads)), h * dim + d);
      }
    }
    // o_fused_permutation[::32] // 32.
    for (std::int64_t i = 0; i < chunks->size(); ++i) {
      ASSERT_EQ((*chunks)(i), (*o)(32 * i) / 32);
    }
    const Permutation inverse = InversePermutation(*o);
    for (std::int64_t i = 0; i < o->size(); ++i) ASSERT_EQ(inverse((*o)(i)), i);
  }
}

TEST(Permutations, HaveTheDefaultsOfTheSeed) {
  EXPECT_EQ(QFusedPermutation(2)->size(), 2 * 512);
  EXPECT_EQ(OFusedPermutation()->size(), 8 * 512);
  EXPECT_EQ(OFusedChunkPermutation()->size(), 128);
}

TEST(Permutations, RefuseSizesThatDoNotDivide) {
  EXPECT_EQ(QFusedPermutation(2, 24).status().message(),
            "a head_dim of 24 is not a multiple of 16");
  EXPECT_EQ(OFusedPermutation(2, 48).status().message(),
            "a head_dim of 48 is not a multiple of 32");
  EXPECT_FALSE(OFusedChunkPermutation(2, 48).ok());
  EXPECT_FALSE(OFusedPermutation(1, 48).ok());
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_FALSE(QFusedPermutation(bad, 32).ok());
    EXPECT_FALSE(QFusedPermutation(1, bad).ok());
    EXPECT_FALSE(OFusedPermutation(bad, 32).ok());
    EXPECT_FALSE(OFusedChunkPermutation(4, bad).ok());
  }
  EXPECT_FALSE(QFusedPermutation(std::int64_t{1} << 40, std::int64_t{1} << 40).ok());
}

TEST(Permutations, LeaveOneHeadAsItIs) {
  const auto perm = QFusedPermutation(1, 24);
  ASSERT_TRUE(perm.ok()) << perm.status();
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ((*perm)(i), i);
}

template <class T>
class PermuteQ : public testing::Test {};
using ElementTypes = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(PermuteQ, ElementTypes);

TYPED_TEST(PermuteQ, GathersByThePermutationAndBack) {
  for (const auto [heads, dim] : kHeads) {
    Tensor<TypeParam, 3> q(5, heads, dim);
    for (std::int64_t i = 0; i < q.size(); ++i) {
      q.data()[i] = static_cast<TypeParam>(0x9E3779B97F4A7C15u * static_cast<std::uint64_t>(i + 1));
    }
    const auto fused = PermuteQToFused(q);
    ASSERT_TRUE(fused.ok()) << fused.status();
    for (std::int64_t token = 0; token < 5; ++token) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < dim; ++d) {
          ASSERT_EQ(fused->data()[token * heads * dim + QFused(h, d, heads)], q(token, h, d));
        }
      }
    }
    const auto back = UndoPermuteQToFused(*fused);
    ASSERT_TRUE(back.ok());
    ASSERT_TRUE(Same(q, *back));
  }
}

TEST(PermuteQRefusals, NameTheSize) {
  EXPECT_EQ(PermuteQToFused(Tensor<std::uint8_t, 3>(2, 2, 24)).status().message(),
            "a head_dim of 24 is not a multiple of 16");
  EXPECT_FALSE(UndoPermuteQToFused(Tensor<std::uint8_t, 3>(2, 0, 32)).ok());
  EXPECT_TRUE(PermuteQToFused(Tensor<std::uint8_t, 3>(0, 2, 32)).ok());
}

TEST(PermuteWqB, MovesRowsAndTheirCodes) {
  for (const auto [heads, dim] : kHeads) {
    const std::int64_t rows = heads * dim;
    const Bytes weight = RandomBytes(Shape2{rows, 7}, 13), codes = RandomBytes(Shape2{rows, 3}, 14);
    const auto out = PermuteWqB(weight, codes, heads);
    ASSERT_TRUE(out.ok()) << out.status();
    Bytes expected_weight(rows, 7), expected_codes(rows, 3);
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t to = QFused(row / dim, row % dim, heads);
      expected_weight.chip(to, 0) = weight.chip(row, 0);
      expected_codes.chip(to, 0) = codes.chip(row, 0);
    }
    ASSERT_TRUE(Same(expected_weight, out->weight));
    ASSERT_TRUE(Same(expected_codes, out->codes));
    const auto back = UndoPermuteWqB(out->weight, out->codes, heads);
    ASSERT_TRUE(back.ok());
    ASSERT_TRUE(Same(weight, back->weight));
    ASSERT_TRUE(Same(codes, back->codes));
  }
}

TEST(PermuteWoA, MovesColumnsAndTheirChunksCodes) {
  for (const auto [heads, dim] : kHeads) {
    const std::int64_t columns = heads * dim;
    // Codes of row blocks: three rows beside 96.
    const Bytes weight = RandomBytes(Shape2{96, columns}, 15);
    const Bytes codes = RandomBytes(Shape2{3, columns / 32}, 16);
    const auto out = PermuteWoA(weight, codes, heads);
    ASSERT_TRUE(out.ok()) << out.status();
    Bytes expected_weight(96, columns), expected_codes(3, columns / 32);
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t to = OFused(column / dim, column % dim, heads);
      expected_weight.chip(to, 1) = weight.chip(column, 1);
      // A code goes where its 32 columns go.
      expected_codes.chip(to / 32, 1) = codes.chip(column / 32, 1);
    }
    ASSERT_TRUE(Same(expected_weight, out->weight));
    ASSERT_TRUE(Same(expected_codes, out->codes));
    const auto back = UndoPermuteWoA(out->weight, out->codes, heads);
    ASSERT_TRUE(back.ok());
    ASSERT_TRUE(Same(weight, back->weight));
    ASSERT_TRUE(Same(codes, back->codes));
  }
}

TEST(PermuteWeights, RefuseWhatDoesNotBelongTogether) {
  const Bytes weight = Bytes(64, 256).setZero();
  EXPECT_EQ(PermuteWqB(weight, Bytes(2, 8), 2).status().message(),
            "codes [2, 8]: expected [64, 8] beside weight [64, 256]");
  EXPECT_EQ(PermuteWqB(weight, Bytes(64, 8), 3).status().message(),
            "weight [64, 256]: 64 is not a multiple of 3 (dimension 0)");
  EXPECT_FALSE(PermuteWqB(weight, Bytes(64, 8), 8).ok());  // Heads of 8.
  EXPECT_FALSE(PermuteWqB(weight, Bytes(64, 8), 0).ok());
  EXPECT_FALSE(PermuteWqB(weight, Bytes(64, 8), -2).ok());
  EXPECT_EQ(PermuteWoA(weight, Bytes(64, 4), 4).status().message(),
            "codes [64, 4]: expected [64, 8] beside weight [64, 256]");
  EXPECT_EQ(PermuteWoA(weight, Bytes(64, 8), 16).status().message(),
            "a head_dim of 16 is not a multiple of 32");
  EXPECT_FALSE(PermuteWoA(weight, Bytes(64, 8), 3).ok());
  EXPECT_FALSE(PermuteWoA(weight, Bytes(64, 8), 0).ok());
  EXPECT_FALSE(UndoPermuteWoA(weight, Bytes(64, 4), 4).ok());
  EXPECT_FALSE(UndoPermuteWqB(weight, Bytes(2, 8), 2).ok());
}

}  // namespace
}  // namespace lanewise::reference::flashmla
