#include "reference/aiter/shuffle.h"

#include <array>

#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::aiter {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Shape3 = std::array<std::int64_t, 3>;
using Bytes = Tensor<std::uint8_t, 2>;

// Seed 002, weight_loads: 16-row group g's step st is at byte g * 16 * B + st * 1024; lane l's 16
// bytes hold row l % 16, bytes 16 (l / 16) .. + 16 of the step's 64.
TEST(ShuffleWeight16x16, GivesEachLaneItsSixteenBytes) {
  for (const std::int64_t bytes : {64, 128, 192}) {
    for (const std::int64_t rows : {16, 32, 80}) {
      const Bytes w = RandomBytes(Shape2{rows, bytes}, 7);
      const auto out = ShuffleWeight16x16(w);
      ASSERT_TRUE(out.ok()) << out.status();
      std::int64_t checked = 0;
      for (std::int64_t group = 0; group < rows / 16; ++group) {
        for (std::int64_t step = 0; step < bytes / 64; ++step) {
          for (std::int64_t lane = 0; lane < 64; ++lane) {
            for (std::int64_t byte = 0; byte < 16; ++byte, ++checked) {
              ASSERT_EQ(out->data()[group * 16 * bytes + step * 1024 + lane * 16 + byte],
                        w(16 * group + lane % 16, 64 * step + 16 * (lane / 16) + byte))
                  << "group " << group << " step " << step << " lane " << lane;
            }
          }
        }
      }
      ASSERT_EQ(checked, w.size());
      const auto back = UndoShuffleWeight16x16(*out);
      ASSERT_TRUE(back.ok());
      ASSERT_TRUE(Same(w, *back));
    }
  }
}

TEST(ShuffleWeight16x16, TakesHalfASteps32Bytes) {
  const Bytes w = RandomBytes(Shape2{32, 32}, 8);
  const auto out = ShuffleWeight16x16(w);
  ASSERT_TRUE(out.ok());
  for (std::int64_t n = 0; n < 32; ++n) {
    for (std::int64_t b = 0; b < 32; ++b) {
      ASSERT_EQ(out->data()[n / 16 * 512 + b / 16 * 256 + n % 16 * 16 + b % 16], w(n, b));
    }
  }
}

// Seed 002, scale_loads and scale_f32: lane l's dword at (row block * C8 + step / 2) * 64 + l has
// in byte (step % 2) * 2 + row group % 2 the code of its row, l % 16, and its block, l / 16, of
// that step.
TEST(E8m0Shuffle, GivesEachLaneTheCodesOfItsSteps) {
  for (const std::int64_t columns : {8, 16, 40}) {
    for (const std::int64_t rows : {32, 96, 256}) {
      const Bytes codes = RandomBytes(Shape2{rows, columns}, 9);
      const auto out = E8m0Shuffle(codes);
      ASSERT_TRUE(out.ok()) << out.status();
      std::int64_t checked = 0;
      for (std::int64_t group = 0; group < rows / 16; ++group) {
        for (std::int64_t step = 0; step < columns / 4; ++step) {
          for (std::int64_t lane = 0; lane < 64; ++lane, ++checked) {
            const std::int64_t dword = (group / 2 * (columns / 8) + step / 2) * 64 + lane;
            const std::int64_t byte = step % 2 * 2 + group % 2;
            ASSERT_EQ(out->data()[4 * dword + byte],
                      codes(16 * group + lane % 16, 4 * step + lane / 16))
                << "group " << group << " step " << step << " lane " << lane;
          }
        }
      }
      ASSERT_EQ(checked, codes.size());
      const auto back = UndoE8m0Shuffle(*out);
      ASSERT_TRUE(back.ok());
      ASSERT_TRUE(Same(codes, *back));
    }
  }
}

TEST(Shuffles, CountRowsOverTheExperts) {
  const Tensor<std::uint8_t, 3> w = RandomBytes(Shape3{4, 16, 64}, 10);
  Bytes w_flat(64, 64);
  std::copy(w.data(), w.data() + w.size(), w_flat.data());
  // 4 x 16 rows are two blocks of 32, each over two experts.
  const Tensor<std::uint8_t, 3> codes = RandomBytes(Shape3{4, 16, 8}, 11);
  Bytes codes_flat(64, 8);
  std::copy(codes.data(), codes.data() + codes.size(), codes_flat.data());
  const auto w_out = ShuffleWeight16x16(w);
  const auto w_flat_out = ShuffleWeight16x16(w_flat);
  const auto codes_out = E8m0Shuffle(codes);
  const auto codes_flat_out = E8m0Shuffle(codes_flat);
  ASSERT_TRUE(w_out.ok() && w_flat_out.ok() && codes_out.ok() && codes_flat_out.ok());
  EXPECT_TRUE(std::equal(w_out->data(), w_out->data() + w_out->size(), w_flat_out->data()));
  EXPECT_TRUE(
      std::equal(codes_out->data(), codes_out->data() + codes_out->size(), codes_flat_out->data()));
  const auto w_back = UndoShuffleWeight16x16(*w_out);
  const auto codes_back = UndoE8m0Shuffle(*codes_out);
  ASSERT_TRUE(w_back.ok() && codes_back.ok());
  EXPECT_TRUE(Same(w, *w_back));
  EXPECT_TRUE(Same(codes, *codes_back));
}

TEST(Shuffles, PadNothingAndRefuseWhatDoesNotDivide) {
  EXPECT_EQ(ShuffleWeight16x16(Bytes(24, 64)).status().message(),
            "w [24, 64]: 24 is not a multiple of 16 (dimension 0)");
  EXPECT_FALSE(ShuffleWeight16x16(Tensor<std::uint8_t, 3>(2, 24, 64)).ok());
  EXPECT_FALSE(ShuffleWeight16x16(Bytes(16, 48)).ok());
  EXPECT_EQ(E8m0Shuffle(Bytes(48, 8)).status().message(),
            "codes as rows [48, 8]: 48 is not a multiple of 32 (dimension 0)");
  EXPECT_EQ(E8m0Shuffle(Bytes(32, 4)).status().message(),
            "codes [32, 4]: 4 is not a multiple of 8 (dimension 1)");
  EXPECT_FALSE(UndoE8m0Shuffle(Bytes(48, 8)).ok());
  EXPECT_FALSE(UndoShuffleWeight16x16(Bytes(24, 64)).ok());
}

TEST(PadE8m0, PadsWithZeroBytesOnly) {
  for (const auto& [rows, columns, padded_rows, padded_columns] :
       {std::array<std::int64_t, 4>{1, 1, 256, 8}, std::array<std::int64_t, 4>{256, 8, 256, 8},
        std::array<std::int64_t, 4>{257, 12, 512, 16}, std::array<std::int64_t, 4>{0, 9, 0, 16}}) {
    Bytes codes = RandomBytes(Shape2{rows, columns}, 12);
    for (std::int64_t i = 0; i < codes.size(); ++i) codes.data()[i] |= 1;  // None is 0.
    const Bytes padded = PadE8m0(codes);
    ASSERT_EQ(padded.dimension(0), padded_rows);
    ASSERT_EQ(padded.dimension(1), padded_columns);
    for (std::int64_t row = 0; row < padded_rows; ++row) {
      for (std::int64_t column = 0; column < padded_columns; ++column) {
        const int expected = row < rows && column < columns ? codes(row, column) : 0;
        ASSERT_EQ(padded(row, column), expected) << row << ", " << column;
      }
    }
    const auto back = UndoPadE8m0(padded, rows, columns);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(Same(codes, *back));
  }
}

TEST(PadE8m0, UndoRefusesOtherShapesAndDirtyPadding) {
  Bytes padded = PadE8m0(Bytes(5, 3).setZero());
  EXPECT_FALSE(UndoPadE8m0(padded, 257, 3).ok());
  EXPECT_FALSE(UndoPadE8m0(padded, 5, 9).ok());
  EXPECT_FALSE(UndoPadE8m0(padded, -1, 3).ok());
  padded(4, 3) = 0xFF;
  EXPECT_EQ(UndoPadE8m0(padded, 5, 3).status().message(),
            "padded codes [4, 3] is 0xFF: expected padding 0x00");
  EXPECT_TRUE(UndoPadE8m0(padded, 5, 4).ok());
}

}  // namespace
}  // namespace lanewise::reference::aiter
