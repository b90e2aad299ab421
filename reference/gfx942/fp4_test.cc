#include "reference/gfx942/fp4.h"

#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape2 = std::array<std::int64_t, 2>;
using Shape3 = std::array<std::int64_t, 3>;
using Bytes = Tensor<std::uint8_t, 2>;

// Where byte `b` of a row of `bytes` goes within the row, from the prose of the seed: byte b
// belongs to the 16-byte block b / 16 and in it to the dword of lane group (b / 4) % 4; a step has
// four blocks, or two if only 32 bytes are left.
struct LaneByte {
  std::int64_t step, group, byte, group_bytes;
};
LaneByte LaneByteOf(std::int64_t b, std::int64_t bytes) {
  const std::int64_t step = b / 64;
  const std::int64_t group_bytes = bytes - 64 * step >= 64 ? 16 : 8;
  const std::int64_t block = b % 64 / 16, group = b / 4 % 4;
  return {step, group, 4 * block + b % 4, group_bytes};
}

std::int64_t LaneMajorByte(std::int64_t b, std::int64_t bytes) {
  const LaneByte at = LaneByteOf(b, bytes);
  return 64 * at.step + at.group_bytes * at.group + at.byte;
}

std::int64_t TileMajorByte(std::int64_t row, std::int64_t b, std::int64_t bytes) {
  const LaneByte at = LaneByteOf(b, bytes);
  const std::int64_t lane = 16 * at.group + row % 16;
  return row / 16 * 16 * bytes + 1024 * at.step + at.group_bytes * lane + at.byte;
}

// 4, 2 or 6 blocks, several steps, with and without a last step of 32 bytes, which may be all there
// is.
constexpr std::int64_t kRowBytes[] = {32, 64, 96, 128, 160, 288, 320};

TEST(Fp4LaneMajor, PutsEveryByteWhereTheSeedSays) {
  for (const std::int64_t bytes : kRowBytes) {
    for (const std::int64_t rows : {1, 3, 16}) {
      const Bytes w = RandomBytes(Shape2{rows, bytes}, 1);
      const auto out = Fp4LaneMajor(w);
      ASSERT_TRUE(out.ok()) << out.status();
      Bytes expected(rows, bytes);
      expected.setZero();
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t b = 0; b < bytes; ++b) {
          expected(row, LaneMajorByte(b, bytes)) = w(row, b);
        }
      }
      ASSERT_TRUE(Same(expected, *out)) << rows << " x " << bytes;
      const auto back = UndoFp4LaneMajor(*out);
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_TRUE(Same(w, *back)) << rows << " x " << bytes;
    }
  }
}

TEST(Fp4TileMajor, PutsEveryByteWhereTheSeedSays) {
  for (const std::int64_t bytes : kRowBytes) {
    for (const std::int64_t rows : {16, 48}) {
      const Bytes w = RandomBytes(Shape2{rows, bytes}, 2);
      const auto out = Fp4TileMajor(w);
      ASSERT_TRUE(out.ok()) << out.status();
      Bytes expected(rows, bytes);
      expected.setZero();
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t b = 0; b < bytes; ++b) {
          expected.data()[TileMajorByte(row, b, bytes)] = w(row, b);
        }
      }
      ASSERT_TRUE(Same(expected, *out)) << rows << " x " << bytes;
      const auto back = UndoFp4TileMajor(*out);
      ASSERT_TRUE(back.ok()) << back.status();
      ASSERT_TRUE(Same(w, *back)) << rows << " x " << bytes;
    }
  }
}

TEST(Fp4TileMajor, HoldsTheLaneMajorBytesOfEachLane) {
  const Bytes w = RandomBytes(Shape2{32, 192}, 3);
  const auto lanes = Fp4LaneMajor(w);
  const auto tiles = Fp4TileMajor(w);
  ASSERT_TRUE(lanes.ok() && tiles.ok());
  for (std::int64_t tile = 0; tile < 2; ++tile) {
    for (std::int64_t step = 0; step < 3; ++step) {
      for (std::int64_t lane = 0; lane < 64; ++lane) {
        for (std::int64_t byte = 0; byte < 16; ++byte) {
          ASSERT_EQ(tiles->data()[tile * 16 * 192 + 1024 * step + 16 * lane + byte],
                    (*lanes)(16 * tile + lane % 16, 64 * step + 16 * (lane / 16) + byte));
        }
      }
    }
  }
}

TEST(Fp4Orders, TakeExpertsAsRowsOneAfterTheOther) {
  const Tensor<std::uint8_t, 3> w = RandomBytes(Shape3{3, 32, 96}, 4);
  Bytes flat(96, 96);
  std::copy(w.data(), w.data() + w.size(), flat.data());
  const auto tiles = Fp4TileMajor(w);
  const auto flat_tiles = Fp4TileMajor(flat);
  const auto lanes = Fp4LaneMajor(w);
  const auto flat_lanes = Fp4LaneMajor(flat);
  ASSERT_TRUE(tiles.ok() && flat_tiles.ok() && lanes.ok() && flat_lanes.ok());
  EXPECT_TRUE(std::equal(tiles->data(), tiles->data() + tiles->size(), flat_tiles->data()));
  EXPECT_TRUE(std::equal(lanes->data(), lanes->data() + lanes->size(), flat_lanes->data()));
  EXPECT_EQ(ShapeText(*tiles), "[3, 32, 96]");
  const auto tiles_back = UndoFp4TileMajor(*tiles);
  const auto lanes_back = UndoFp4LaneMajor(*lanes);
  ASSERT_TRUE(tiles_back.ok() && lanes_back.ok());
  EXPECT_TRUE(Same(w, *tiles_back));
  EXPECT_TRUE(Same(w, *lanes_back));
}

TEST(Fp4Orders, RefuseShapesThatDoNotDivide) {
  const auto odd_bytes = Fp4LaneMajor(Bytes(4, 48));
  EXPECT_EQ(odd_bytes.status().message(), "w [4, 48]: 48 is not a multiple of 32 (dimension 1)");
  EXPECT_FALSE(UndoFp4LaneMajor(Bytes(4, 48)).ok());
  EXPECT_FALSE(Fp4TileMajor(Bytes(16, 16)).ok());
  EXPECT_FALSE(Fp4TileMajor(Bytes(16, 0)).ok());
  // 2 x 24 rows are 3 tiles, but no expert's rows are whole tiles.
  const auto experts = Fp4TileMajor(Tensor<std::uint8_t, 3>(2, 24, 64));
  EXPECT_EQ(experts.status().message(), "w [2, 24, 64]: 24 is not a multiple of 16 (dimension 1)");
  EXPECT_FALSE(UndoFp4TileMajor(Tensor<std::uint8_t, 3>(2, 24, 64)).ok());
}

TEST(Fp4Orders, TakeNoRows) {
  EXPECT_TRUE(Fp4LaneMajor(Bytes(0, 64)).ok());
  EXPECT_TRUE(Fp4TileMajor(Bytes(0, 64)).ok());
  EXPECT_TRUE(Fp4LaneMajor(Bytes(4, 0)).ok());
}

TEST(Fp4DropNegativeZero, RewritesNibble8OfEveryByte) {
  Bytes w(1, 256);
  for (int byte = 0; byte < 256; ++byte) w(0, byte) = static_cast<std::uint8_t>(byte);
  EXPECT_EQ(Fp4CountNegativeZero(w), 32);
  EXPECT_EQ(Fp4DropNegativeZero(&w), 32);  // 16 bytes with a low 8, 16 with a high 8.
  for (int byte = 0; byte < 256; ++byte) {
    const int low = byte % 16, high = byte / 16;
    EXPECT_EQ(w(0, byte), (high == 8 ? 0 : high) * 16 + (low == 8 ? 0 : low)) << byte;
  }
  EXPECT_EQ(Fp4DropNegativeZero(&w), 0);
}

}  // namespace
}  // namespace lanewise::reference::gfx942
