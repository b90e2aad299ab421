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

// Longer than it takes to be read ahead of, and at an end that is no whole line.
TEST(AddToCodes, LongRuns) {
  constexpr std::int64_t kCount = 200'000 + 77;
  std::vector<std::uint8_t> from(kCount), to(kCount + 128);
  for (std::int64_t i = 0; i < kCount; ++i) from[i] = static_cast<std::uint8_t>(i % 251);
  ForEachInstructionSet([&] {
    for (const int offset : {0, 5}) {
      std::fill(to.begin(), to.end(), 0xA5);
      EXPECT_TRUE(AddToCodes(from.data(), kCount, 4, 0, 250, /*streaming=*/true, &to[offset]));
      for (std::int64_t i = 0; i < std::ssize(to); ++i) {
        const bool inside = i >= offset && i < offset + kCount;
        ASSERT_EQ(to[i], inside ? (i - offset) % 251 + 4 : 0xA5) << "at " << i;
      }
      for (const std::int64_t wrong : {std::int64_t{0}, kCount / 2, kCount - 1}) {
        const std::uint8_t was = from[wrong];
        from[wrong] = 251;
        EXPECT_FALSE(AddToCodes(from.data(), kCount, 4, 0, 250, /*streaming=*/true, &to[offset]));
        from[wrong] = was;
      }
    }
  });
}

// The rows that follow each other from `row` on, where `at` says where each lies; -1: nowhere.
template <class Byte>
CodeRun<Byte> RunFrom(Byte* begin, const std::vector<std::int64_t>& at, std::int64_t row_bytes,
                      std::int64_t row, std::int64_t end) {
  std::int64_t rows = 1;
  if (at[row] < 0) {
    while (row + rows < end && at[row + rows] < 0) ++rows;
    return {nullptr, rows};
  }
  while (row + rows < end && at[row + rows] == at[row] + rows * row_bytes) ++rows;
  return {begin + at[row], rows};
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
      const auto runs = [&](std::int64_t row, std::int64_t end) {
        return RunFrom<const std::uint8_t>(source.data(), at, rows.row_bytes, row, end);
      };
      ASSERT_TRUE(RaiseCodeRows(rows, 1, 250, random() % 2 == 0, runs, array.data()));
      for (std::int64_t row = 0; row < rows.rows; ++row) {
        for (std::int64_t i = 0; i < rows.memory_row_bytes; ++i) {
          const int expected = at[row] < 0 || i >= rows.row_bytes ? 128 : source[at[row] + i] + 1;
          ASSERT_EQ(array[row * rows.memory_row_bytes + i], expected)
              << "row " << row << ", code " << i;
        }
      }
      std::vector<std::uint8_t> back(source.size(), 0x5A);
      const auto sinks = [&](std::int64_t row, std::int64_t end) {
        return RunFrom<std::uint8_t>(back.data(), at, rows.row_bytes, row, end);
      };
      ASSERT_TRUE(LowerCodeRows(rows, 1, random() % 2 == 0, array.data(), sinks));
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
  const auto place = [&](std::int64_t row, std::int64_t end) {
    return CodeRun<std::uint8_t>{source.data() + 160 * row, end - row};
  };
  const auto const_place = [&](std::int64_t row, std::int64_t end) {
    return CodeRun<const std::uint8_t>{source.data() + 160 * row, end - row};
  };
  EXPECT_TRUE(RaiseCodeRows(rows, 1, 250, false, const_place, array.data()));
  source[5000] = 250;
  EXPECT_FALSE(RaiseCodeRows(rows, 1, 250, false, const_place, array.data()));
  EXPECT_TRUE(RaiseCodeRows(rows, 1, 256, false, const_place, array.data()));
  EXPECT_TRUE(LowerCodeRows(rows, 1, false, array.data(), place));
  array[9999] = 0;
  EXPECT_FALSE(LowerCodeRows(rows, 1, false, array.data(), place));
}

TEST(CodeRows, LoweredIntoOnePlaceAreTheLast) {
  std::vector<std::uint8_t> array(100 * 32), shared(32);
  for (std::int64_t i = 0; i < std::ssize(array); ++i) {
    array[i] = static_cast<std::uint8_t>(1 + i / 32);
  }
  EXPECT_TRUE(LowerCodeRows(
      {100, 32, 32, 0, 4}, 1, false, array.data(),
      [&](std::int64_t, std::int64_t) { return CodeRun<std::uint8_t>{shared.data(), 1}; }));
  EXPECT_EQ(shared, std::vector<std::uint8_t>(32, 99));
}

}  // namespace
}  // namespace lanewise
