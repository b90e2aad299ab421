#include "reference/gfx942/dense.h"

#include <array>

#include "absl/strings/match.h"
#include "base/text.h"
#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Bytes = Tensor<std::uint8_t, 2>;

constexpr ChunkOrder kOrders[] = {ChunkOrder::kNatural, ChunkOrder::kChunkQ};

// Where byte k of row n goes, from the prose of the seed: within the 2 KiB of a tile and a step,
// lane 16 j + r has 16 bytes (blocks 0, 1) in the first KiB and 16 bytes (blocks 2, 3) in the
// second.
std::int64_t CopyOffset(std::int64_t n, std::int64_t k, std::int64_t padded_k, ChunkOrder order) {
  constexpr int kEvenFirst[] = {0, 4, 1, 5, 2, 6, 3, 7};
  const std::int64_t block = k % 128 / 32, j = k % 32 / 8, r = n % 16;
  const std::int64_t byte = order == ChunkOrder::kChunkQ ? kEvenFirst[k % 8] : k % 8;
  const std::int64_t step_base = (n / 16 * (padded_k / 128) + k / 128) * 2048;
  return step_base + block / 2 * 1024 + (16 * j + r) * 16 + block % 2 * 8 + byte;
}

TEST(DenseCopy, PutsEveryByteWhereTheSeedSays) {
  for (const ChunkOrder order : kOrders) {
    for (const std::int64_t rows : {32, 96}) {
      for (const std::int64_t k : {32, 64, 96, 128, 160, 256, 288}) {
        const std::int64_t padded_k = (k + 127) / 128 * 128;
        const Bytes w8 = RandomBytes(Shape2{rows, k}, 21);
        const Bytes scale = RandomBytes(Shape2{rows / 32, k / 32}, 22, 250);
        const auto copy = DenseCopy(w8, scale, order);
        ASSERT_TRUE(copy.ok()) << copy.status();

        Bytes bytes(rows, padded_k);
        bytes.setZero();
        std::int64_t negative_zeros = 0;
        for (std::int64_t n = 0; n < rows; ++n) {
          for (std::int64_t c = 0; c < k; ++c) {
            const bool negative_zero = w8(n, c) == 0x80;
            negative_zeros += negative_zero;
            bytes.data()[CopyOffset(n, c, padded_k, order)] = negative_zero ? 0 : w8(n, c);
          }
        }
        Bytes codes(rows / 32, padded_k / 32);
        for (std::int64_t block = 0; block < codes.size(); ++block) {
          const std::int64_t row = block / (padded_k / 32), column = block % (padded_k / 32);
          codes(row, column) =
              column < k / 32 ? static_cast<std::uint8_t>(scale(row, column) + 1) : 128;
        }
        ASSERT_TRUE(Same(bytes, copy->bytes)) << rows << " x " << k;
        ASSERT_TRUE(Same(codes, copy->codes)) << rows << " x " << k;
        ASSERT_EQ(copy->negative_zeros, negative_zeros);

        const auto back = UndoDenseCopy(copy->bytes, copy->codes, k, order);
        ASSERT_TRUE(back.ok()) << back.status();
        Bytes unsigned_zeros = w8;
        for (std::int64_t i = 0; i < w8.size(); ++i) {
          if (w8.data()[i] == 0x80) unsigned_zeros.data()[i] = 0;
        }
        ASSERT_TRUE(Same(unsigned_zeros, back->bytes)) << rows << " x " << k;
        ASSERT_TRUE(Same(scale, back->codes)) << rows << " x " << k;
      }
    }
  }
}

TEST(DenseCopy, KeepsEveryByteButNegativeZero) {
  Bytes w8(32, 256);
  for (std::int64_t n = 0; n < 32; ++n) {
    for (std::int64_t k = 0; k < 256; ++k) w8(n, k) = static_cast<std::uint8_t>(k);
  }
  const auto copy = DenseCopy(w8, Bytes(1, 8).setConstant(127), ChunkOrder::kNatural);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->negative_zeros, 32);
  for (std::int64_t n = 0; n < 32; ++n) {
    for (std::int64_t k = 0; k < 256; ++k) {
      ASSERT_EQ(copy->bytes.data()[CopyOffset(n, k, 256, ChunkOrder::kNatural)], k == 0x80 ? 0 : k);
    }
  }
}

TEST(DenseCopy, RaisesEveryCodeBelow250AndRefusesTheRest) {
  const Bytes w8 = RandomBytes(Shape2{64, 32}, 23);
  for (int code = 0; code < 256; ++code) {
    Bytes scale(2, 1);
    scale(0, 0) = 3;
    scale(1, 0) = static_cast<std::uint8_t>(code);
    const auto copy = DenseCopy(w8, scale, ChunkOrder::kNatural);
    if (code < 250) {
      ASSERT_TRUE(copy.ok()) << copy.status();
      EXPECT_EQ(copy->codes(1, 0), code + 1);
    } else {
      ASSERT_FALSE(copy.ok()) << code;
      EXPECT_TRUE(absl::StrContains(copy.status().message(), absl::StrCat("scale[1, 0] is ", code)))
          << copy.status();
    }
  }
}

TEST(DenseCopy, RefusesNanBytesWhenAsked) {
  for (const int nan : {0x7F, 0xFF}) {
    Bytes w8 = RandomBytes(Shape2{32, 64}, 24, 0x7F);
    const Bytes scale = Bytes(1, 2).setConstant(127);
    ASSERT_TRUE(DenseCopy(w8, scale, ChunkOrder::kChunkQ, Checks::All()).ok());
    w8(17, 42) = static_cast<std::uint8_t>(nan);
    EXPECT_TRUE(DenseCopy(w8, scale, ChunkOrder::kChunkQ).ok());
    const absl::Status status =
        DenseCopy(w8, scale, ChunkOrder::kChunkQ, Checks{.nan_bytes = true}).status();
    EXPECT_TRUE(absl::StrContains(status.message(), "w8[17, 42]")) << status;
  }
}

TEST(DenseCopy, RefusesShapesThatDoNotBelongTogether) {
  const auto refusal = [](std::int64_t n, std::int64_t k, std::int64_t code_rows,
                          std::int64_t code_columns) {
    Bytes w8(n, k), scale(code_rows, code_columns);
    w8.setZero();
    scale.setZero();
    return std::string(StdView(DenseCopy(w8, scale, ChunkOrder::kNatural).status().message()));
  };
  EXPECT_EQ(refusal(33, 32, 1, 1), "w8 [33, 32]: 33 is not a multiple of 32 (dimension 0)");
  EXPECT_EQ(refusal(32, 48, 1, 1), "w8 [32, 48]: 48 is not a multiple of 32 (dimension 1)");
  EXPECT_EQ(refusal(32, 64, 32, 2), "scale [32, 2]: expected [1, 2] beside w8 [32, 64]");
  EXPECT_EQ(refusal(0, 32, 0, 1), "w8 [0, 32] is empty");
}

TEST(UndoDenseCopy, RefusesWhatNoCopyHolds) {
  const auto undo = [](int byte, std::int64_t column, int code, std::int64_t code_column) {
    const auto copy = DenseCopy(Bytes(32, 160).setConstant(1), Bytes(1, 5).setConstant(127),
                                ChunkOrder::kNatural);
    Bytes bytes = copy->bytes, codes = copy->codes;
    bytes.data()[CopyOffset(5, column, 256, ChunkOrder::kNatural)] =
        static_cast<std::uint8_t>(byte);
    codes(0, code_column) = static_cast<std::uint8_t>(code);
    return UndoDenseCopy(bytes, codes, 160, ChunkOrder::kNatural).status();
  };
  EXPECT_TRUE(undo(1, 0, 128, 0).ok());
  EXPECT_TRUE(undo(1, 159, 250, 4).ok());
  EXPECT_TRUE(absl::StrContains(undo(0x80, 3, 128, 0).message(), "[5, 3] is 128 (0x80)"));
  EXPECT_TRUE(absl::StrContains(undo(1, 160, 128, 0).message(), "[5, 160] is 1 (0x01)"));
  EXPECT_TRUE(absl::StrContains(undo(1, 0, 0, 2).message(), "codes[0, 2] is 0"));
  EXPECT_TRUE(absl::StrContains(undo(1, 0, 251, 4).message(), "codes[0, 4] is 251"));
  EXPECT_TRUE(absl::StrContains(undo(1, 0, 127, 5).message(), "codes[0, 5] is 127"));
}

TEST(UndoDenseCopy, RefusesOtherShapes) {
  const Bytes bytes = Bytes(32, 256).setZero(), codes = Bytes(1, 8).setConstant(128);
  EXPECT_TRUE(UndoDenseCopy(bytes, codes, 256, ChunkOrder::kNatural).ok());
  for (const std::int64_t k : {-32, 0, 33, 128, 288}) {
    EXPECT_FALSE(UndoDenseCopy(bytes, codes, k, ChunkOrder::kNatural).ok()) << k;
  }
  EXPECT_FALSE(UndoDenseCopy(bytes, Bytes(32, 8).setConstant(128), 256, ChunkOrder::kNatural).ok());
  EXPECT_FALSE(UndoDenseCopy(Bytes(16, 256).setZero(), codes, 256, ChunkOrder::kNatural).ok());
}

}  // namespace
}  // namespace lanewise::reference::gfx942
