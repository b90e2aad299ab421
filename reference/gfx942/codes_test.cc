#include "reference/gfx942/codes.h"

#include <array>

#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Shape3 = std::array<std::int64_t, 3>;
using Codes = Tensor<std::uint8_t, 2>;

TEST(CodesTileRounds, StoresTheRowsOfARoundTogether) {
  for (const std::int64_t blocks : {1, 2, 3, 4, 8, 16}) {
    for (const std::int64_t rounds : {1, 2, 5}) {
      for (const std::int64_t rows : {16, 64}) {
        const std::int64_t columns = blocks * rounds;
        const Codes codes = RandomBytes(Shape2{rows, columns}, 5);
        const auto out = CodesTileRounds(codes, blocks);
        ASSERT_TRUE(out.ok()) << out.status();
        Codes expected(rows, columns);
        expected.setZero();
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t column = 0; column < columns; ++column) {
            const std::int64_t tile_base = row / 16 * 16 * columns;
            const std::int64_t round_base = column / blocks * 16 * blocks;
            expected.data()[tile_base + round_base + row % 16 * blocks + column % blocks] =
                codes(row, column);
          }
        }
        ASSERT_TRUE(Same(expected, *out)) << blocks << " blocks, " << rounds << " rounds";
        const auto back = UndoCodesTileRounds(*out, blocks);
        ASSERT_TRUE(back.ok()) << back.status();
        ASSERT_TRUE(Same(codes, *back)) << blocks << " blocks, " << rounds << " rounds";
      }
    }
  }
}

TEST(CodesTileRounds, TakesExpertsAsRowsOneAfterTheOther) {
  const Tensor<std::uint8_t, 3> codes = RandomBytes(Shape3{2, 48, 16}, 6);
  Codes flat(96, 16);
  std::copy(codes.data(), codes.data() + codes.size(), flat.data());
  const auto out = CodesTileRounds(codes);
  const auto flat_out = CodesTileRounds(flat, 8);
  ASSERT_TRUE(out.ok() && flat_out.ok());
  EXPECT_TRUE(std::equal(out->data(), out->data() + out->size(), flat_out->data()));
  const auto back = UndoCodesTileRounds(*out);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(Same(codes, *back));
}

TEST(CodesTileRounds, RefusesWhatDoesNotDivide) {
  EXPECT_EQ(CodesTileRounds(Codes(16, 12)).status().message(),
            "codes [16, 12]: 12 is not a multiple of 8 (dimension 1)");
  EXPECT_EQ(CodesTileRounds(Tensor<std::uint8_t, 3>(2, 8, 8)).status().message(),
            "codes [2, 8, 8]: 8 is not a multiple of 16 (dimension 1)");
  EXPECT_EQ(CodesTileRounds(Codes(16, 8), 0).status().message(), "a round of 0 blocks");
  EXPECT_FALSE(CodesTileRounds(Codes(16, 8), -8).ok());
  EXPECT_FALSE(UndoCodesTileRounds(Codes(16, 12)).ok());
}

}  // namespace
}  // namespace lanewise::reference::gfx942
