#include "weights/code_rows.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "weights/each_instruction_set.h"

namespace lanewise {
namespace {

TEST(AddToCodes, FindsOneCodeOutOfRangeWhereverItIs) {
  ForEachInstructionSet([&] {
    for (const std::int64_t count : {1, 15, 16, 63, 64, 65, 130, 200}) {
      for (const bool streaming : {false, true}) {
        for (const int offset : {0, 1, 63}) {
          std::vector<std::uint8_t> from(count, 100), to(count + 128, 0xA5);
          // What `to` is aligned to decides where the vectors begin.
          std::uint8_t* const begin =
              to.data() + (64 - reinterpret_cast<std::uintptr_t>(to.data()) % 64) % 64 + offset;
          EXPECT_TRUE(AddToCodes(from.data(), count, 3, 100, 100, streaming, begin));
          EXPECT_TRUE(std::all_of(begin, begin + count, [](int code) { return code == 103; }));
          EXPECT_EQ(std::count(to.begin(), to.end(), 0xA5), 128);
          for (std::int64_t i = 0; i < count; ++i) {
            for (const int wrong : {0, 99, 101, 255}) {
              from[i] = static_cast<std::uint8_t>(wrong);
              ASSERT_FALSE(AddToCodes(from.data(), count, 3, 100, 100, streaming, begin))
                  << wrong << " at " << i << " of " << count;
              from[i] = 100;
            }
          }
        }
      }
    }
  });
}

TEST(AddToCodes, MovesEveryCodeAround) {
  std::vector<std::uint8_t> from(256), to(256);
  for (int i = 0; i < 256; ++i) from[i] = static_cast<std::uint8_t>(i);
  ForEachInstructionSet([&] {
    EXPECT_TRUE(AddToCodes(from.data(), 256, -1, 0, 255, false, to.data()));
    for (int i = 0; i < 256; ++i) ASSERT_EQ(to[i], (i + 255) % 256);
  });
}

// Rows in one piece, apart, out of order, shared and missing; with padding and without.
TEST(CodeRows, RaisedAndLoweredAreWhereTheyBelong) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  ForEachInstructionSet([&] {
    for (int round = 0; round < 60; ++round) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round));
      CodeRows rows;
      rows.rows = static_cast<std::int64_t>(random() % 40);
      rows.row_bytes = 1 + static_cast<std::int64_t>(random() % 100);
      rows.memory_row_bytes = rows.row_bytes + (random() % 2 == 0 ? 0 : random() % 40);
      rows.padding = 128;
      rows.threads = 1 + static_cast<int>(random() % 3);
      const std::int64_t stride = rows.row_bytes + (random() % 2 == 0 ? 0 : random() % 40);
      std::vector<std::int64_t> at(rows.rows);
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        at[row] = random() % 8 == 0 ? -1 : row * stride;
      }
      if (random() % 3 == 0) std::shuffle(at.begin(), at.end(), random);
      std::vector<std::uint8_t> source(rows.rows * stride);
      for (std::uint8_t& code : source) code = static_cast<std::uint8_t>(random() % 250);
      std::vector<std::uint8_t> array(rows.rows * rows.memory_row_bytes, 0xA5);
      const auto place = [&](std::int64_t row) -> const std::uint8_t* {
        return at[row] < 0 ? nullptr : source.data() + at[row];
      };
      ASSERT_TRUE(RaiseCodeRows(rows, 1, 250, random() % 2 == 0, place, array.data()));
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        for (std::int64_t i = 0; i < rows.memory_row_bytes; ++i) {
          const int expected = at[row] < 0 || i >= rows.row_bytes ? 128 : source[at[row] + i] + 1;
          ASSERT_EQ(array[row * rows.memory_row_bytes + i], expected)
              << "row " << row << ", code " << i;
        }
      }
      std::vector<std::uint8_t> back(source.size(), 0x5A);
      const auto sink = [&](std::int64_t row) -> std::uint8_t* {
        return at[row] < 0 ? nullptr : back.data() + at[row];
      };
      ASSERT_TRUE(LowerCodeRows(rows, 1, random() % 2 == 0, array.data(), sink));
      std::vector<std::uint8_t> expected(source.size(), 0x5A);
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        if (at[row] < 0) continue;
        std::copy_n(source.begin() + at[row], rows.row_bytes, expected.begin() + at[row]);
      }
      ASSERT_EQ(back, expected);
    }
  });
}

TEST(CodeRows, RefuseOneCode) {
  std::vector<std::uint8_t> source(64 * 160, 249), array(source.size());
  const CodeRows rows = {64, 160, 160, 0, 2};
  const auto place = [&](std::int64_t row) { return source.data() + 160 * row; };
  EXPECT_TRUE(RaiseCodeRows(rows, 1, 250, false, place, array.data()));
  source[5000] = 250;
  EXPECT_FALSE(RaiseCodeRows(rows, 1, 250, false, place, array.data()));
  EXPECT_TRUE(RaiseCodeRows(rows, 1, 256, false, place, array.data()));
  EXPECT_TRUE(LowerCodeRows(rows, 1, false, array.data(), place));
  array[9999] = 0;
  EXPECT_FALSE(LowerCodeRows(rows, 1, false, array.data(), place));
}

TEST(CodeRows, LoweredIntoOnePlaceAreTheLast) {
  std::vector<std::uint8_t> array(100 * 32), shared(32);
  for (std::int64_t i = 0; i < std::ssize(array); ++i) {
    array[i] = static_cast<std::uint8_t>(1 + i / 32);
  }
  EXPECT_TRUE(LowerCodeRows({100, 32, 32, 0, 4}, 1, false, array.data(),
                            [&](std::int64_t) { return shared.data(); }));
  EXPECT_EQ(shared, std::vector<std::uint8_t>(32, 99));
}

}  // namespace
}  // namespace lanewise
