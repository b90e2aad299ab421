// Preparations on random shapes: their inverses give the input back (but for what they discard),
// and a byte order holds every input byte once. LANEWISE_SEED chooses the first draw's seed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reference/aiter/shuffle.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx942/codes.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/fp4.h"
#include "reference/gfx942/moe.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference {
namespace {

using Bytes2 = Tensor<std::uint8_t, 2>;
using Bytes3 = Tensor<std::uint8_t, 3>;
using Shape2 = std::array<std::int64_t, 2>;
using Shape3 = std::array<std::int64_t, 3>;

// How often each byte value occurs.
template <int kRank>
std::array<std::int64_t, 256> Histogram(const Tensor<std::uint8_t, kRank>& bytes) {
  std::array<std::int64_t, 256> counts = {};
  for (std::int64_t i = 0; i < bytes.size(); ++i) ++counts[bytes.data()[i]];
  return counts;
}

class RandomShapes : public testing::Test {
 protected:
  // Runs `draw` with a number generator for each draw; a failure names the draw's seed.
  template <class Draw>
  void Repeat(Draw draw) {
    const char* const chosen = std::getenv("LANEWISE_SEED");
    const std::uint64_t first = chosen == nullptr ? 1 : std::strtoull(chosen, nullptr, 10);
    const int draws = std::getenv("LANEWISE_NIGHTLY") == nullptr ? 40 : 1000;
    for (int i = 0; i < draws && !HasFailure(); ++i) {
      seed_ = first + static_cast<std::uint64_t>(i);
      SCOPED_TRACE(absl::StrCat("LANEWISE_SEED=", seed_));
      random_.seed(seed_);
      draw();
    }
  }

  // A multiple of `step` from `step` to `most` steps.
  std::int64_t Multiple(std::int64_t step, std::int64_t most) {
    return step * std::uniform_int_distribution<std::int64_t>(1, most)(random_);
  }

  template <int kRank>
  void ExpectInverse(const Tensor<std::uint8_t, kRank>& in,
                     const absl::StatusOr<Tensor<std::uint8_t, kRank>>& out,
                     const absl::StatusOr<Tensor<std::uint8_t, kRank>>& back) {
    ASSERT_TRUE(out.ok()) << out.status();
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(Histogram(in), Histogram(*out)) << ShapeText(in);
    ASSERT_TRUE(Same(in, *back)) << ShapeText(in);
  }

  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
};

TEST_F(RandomShapes, ByteOrdersAreUndone) {
  Repeat([this] {
    const Bytes3 w = RandomBytes(Shape3{Multiple(1, 3), Multiple(16, 4), Multiple(32, 9)}, seed_);
    const auto lanes = gfx942::Fp4LaneMajor(w);
    ExpectInverse(w, lanes, gfx942::UndoFp4LaneMajor(*lanes));
    const auto tiles = gfx942::Fp4TileMajor(w);
    ExpectInverse(w, tiles, gfx942::UndoFp4TileMajor(*tiles));
    const auto shuffled = aiter::ShuffleWeight16x16(w);
    ExpectInverse(w, shuffled, aiter::UndoShuffleWeight16x16(*shuffled));

    const std::int64_t blocks = Multiple(1, 9);
    const Bytes3 codes =
        RandomBytes(Shape3{Multiple(1, 3), Multiple(16, 4), Multiple(blocks, 5)}, seed_);
    const auto rounds = gfx942::CodesTileRounds(codes, blocks);
    ExpectInverse(codes, rounds, gfx942::UndoCodesTileRounds(*rounds, blocks));

    // Any shape of codes, padded for AITER.
    const Bytes2 unpadded = RandomBytes(Shape2{Multiple(1, 300), Multiple(1, 20)}, seed_);
    const Bytes2 padded = aiter::PadE8m0(unpadded);
    const auto e8m0 = aiter::E8m0Shuffle(padded);
    ExpectInverse(padded, e8m0, aiter::UndoE8m0Shuffle(*e8m0));
    const auto cut = aiter::UndoPadE8m0(padded, unpadded.dimension(0), unpadded.dimension(1));
    ASSERT_TRUE(cut.ok()) << cut.status();
    ASSERT_TRUE(Same(unpadded, *cut));

    const Bytes3 q = RandomBytes(Shape3{Multiple(1, 5), Multiple(1, 20), Multiple(16, 6)}, seed_);
    const auto fused = flashmla::PermuteQToFused(q);
    ExpectInverse(q, fused, flashmla::UndoPermuteQToFused(*fused));
  });
}

TEST_F(RandomShapes, DenseCopiesAreUndone) {
  Repeat([this] {
    const Shape2 shape = {Multiple(32, 4), Multiple(32, 12)};
    Bytes2 w8 = RandomBytes(shape, seed_);
    const Bytes2 scale = RandomBytes(Shape2{shape[0] / 32, shape[1] / 32}, seed_ + 1, 250);
    const auto order =
        Multiple(1, 2) == 1 ? gfx942::ChunkOrder::kNatural : gfx942::ChunkOrder::kChunkQ;
    const auto copy = gfx942::DenseCopy(w8, scale, order);
    ASSERT_TRUE(copy.ok()) << copy.status();
    const auto back = gfx942::UndoDenseCopy(copy->bytes, copy->codes, shape[1], order);
    ASSERT_TRUE(back.ok()) << back.status();
    std::replace(w8.data(), w8.data() + w8.size(), std::uint8_t{0x80}, std::uint8_t{0});
    ASSERT_TRUE(Same(w8, back->bytes));
    ASSERT_TRUE(Same(scale, back->codes));
  });
}

TEST_F(RandomShapes, ExpertCopiesAreUndone) {
  Repeat([this] {
    const std::int64_t experts = Multiple(1, 3), inter = Multiple(64, 3);
    const std::int64_t padded = inter + Multiple(32, 4) - 32, k = Multiple(256, 3);
    const std::int64_t hidden = Multiple(16, 4);
    // Plain tensors are made by padding unpadded ones, gate and up apart.
    Bytes3 rows = RandomBytes(Shape3{experts, 2 * inter, k / 2}, seed_);
    Bytes3 down = RandomBytes(Shape3{experts, hidden, padded / 2}, seed_ + 1);
    Bytes3 codes = RandomBytes(Shape3{experts, 2 * inter, k / 32}, seed_ + 2);
    Bytes3 down_codes = RandomBytes(Shape3{experts, hidden, padded / 32}, seed_ + 3);
    gfx942::Fp4DropNegativeZero(&rows);
    gfx942::Fp4DropNegativeZero(&down);
    for (std::int64_t i = 0; i < down.size(); ++i) {
      if (i % (padded / 2) >= inter / 2) down.data()[i] = 0;
    }
    for (std::int64_t i = 0; i < down_codes.size(); ++i) {
      if (i % (padded / 32) >= inter / 32) down_codes.data()[i] = 0;
    }
    const auto w13 = gfx942::UndoInterleaveGateUp(rows, padded);
    const auto w13_codes = gfx942::UndoInterleaveGateUp(codes, padded);
    ASSERT_TRUE(w13.ok() && w13_codes.ok());
    const gfx942::Experts plain{*w13, *w13_codes, down, down_codes};
    const auto copied = gfx942::MoeCopies(plain, inter, Checks{});
    ASSERT_TRUE(copied.ok()) << copied.status();
    EXPECT_EQ(copied->negative_zeros, 0);
    EXPECT_EQ(copied->discarded_codes, 0);
    const auto back = gfx942::UndoMoeCopies(copied->experts, padded);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_TRUE(Same(plain.w13, back->w13));
    ASSERT_TRUE(Same(plain.w13_codes, back->w13_codes));
    ASSERT_TRUE(Same(plain.w2, back->w2));
    ASSERT_TRUE(Same(plain.w2_codes, back->w2_codes));
  });
}

TEST_F(RandomShapes, FusedWeightsAreUndone) {
  Repeat([this] {
    const std::int64_t heads = Multiple(1, 12), dim = Multiple(32, 5);
    const Bytes2 q = RandomBytes(Shape2{heads * dim, Multiple(1, 9)}, seed_);
    const Bytes2 q_codes = RandomBytes(Shape2{heads * dim, Multiple(1, 3)}, seed_ + 1);
    const auto wq_b = flashmla::PermuteWqB(q, q_codes, heads);
    ASSERT_TRUE(wq_b.ok()) << wq_b.status();
    const auto q_back = flashmla::UndoPermuteWqB(wq_b->weight, wq_b->codes, heads);
    ASSERT_TRUE(q_back.ok());
    ASSERT_TRUE(Same(q, q_back->weight));
    ASSERT_TRUE(Same(q_codes, q_back->codes));

    const Bytes2 o = RandomBytes(Shape2{Multiple(1, 40), heads * dim}, seed_ + 2);
    const Bytes2 o_codes = RandomBytes(Shape2{Multiple(1, 40), heads * dim / 32}, seed_ + 3);
    const auto wo_a = flashmla::PermuteWoA(o, o_codes, heads);
    ASSERT_TRUE(wo_a.ok()) << wo_a.status();
    const auto o_back = flashmla::UndoPermuteWoA(wo_a->weight, wo_a->codes, heads);
    ASSERT_TRUE(o_back.ok());
    ASSERT_TRUE(Same(o, o_back->weight));
    ASSERT_TRUE(Same(o_codes, o_back->codes));
  });
}

}  // namespace
}  // namespace lanewise::reference
