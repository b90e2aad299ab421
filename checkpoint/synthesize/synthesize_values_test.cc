#include "checkpoint/synthesize/synthesize_values.h"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

constexpr SyntheticValues kAll[] = {SyntheticValues::kE4m3,  SyntheticValues::kE2m1,
                                    SyntheticValues::kCodes, SyntheticValues::kFoldingCodes,
                                    SyntheticValues::kBf16,  SyntheticValues::kF32};

std::vector<std::uint8_t> Bytes(SyntheticValues values, std::size_t size,
                                std::int64_t row_bytes = 96, std::uint64_t key = 5) {
  std::vector<std::uint8_t> bytes(size, 0xA5);
  FillSynthetic(values, key, row_bytes, 0, bytes);
  return bytes;
}

std::array<int, 256> Counts(const std::vector<std::uint8_t>& bytes) {
  std::array<int, 256> counts = {};
  for (const std::uint8_t byte : bytes) ++counts[byte];
  return counts;
}

// SplitMix64's published outputs for the states 1234567 and 0.
TEST(SyntheticValuesTest, WordsAreSplitMix64) {
  const auto words = [](std::uint64_t key) {
    std::array<std::uint64_t, 3> words;
    const std::vector<std::uint8_t> bytes = Bytes(SyntheticValues::kE2m1, 24, 1, key);
    std::memcpy(words.data(), bytes.data(), 24);
    return words;
  };
  EXPECT_EQ(words(1234567), (std::array<std::uint64_t, 3>{6457827717110365317, 3203168211198807973,
                                                          9817491932198370423u}));
  EXPECT_EQ(words(0)[0], 0xE220A8397B1DCDAF);
}

TEST(SyntheticValuesTest, E4m3IsEveryByteButNan) {
  const std::array<int, 256> counts = Counts(Bytes(SyntheticValues::kE4m3, 1 << 16));
  for (int byte = 0; byte < 256; ++byte) {
    if ((byte & 0x7F) == 0x7F) {
      EXPECT_EQ(counts[byte], 0) << "NaN byte " << byte;
    } else {
      EXPECT_GT(counts[byte], 100) << "byte " << byte << " of 65536, 256 expected";
    }
  }
}

TEST(SyntheticValuesTest, E2m1IsEveryByte) {
  const std::array<int, 256> counts = Counts(Bytes(SyntheticValues::kE2m1, 1 << 16));
  for (int byte = 0; byte < 256; ++byte) EXPECT_GT(counts[byte], 100) << "byte " << byte;
}

TEST(SyntheticValuesTest, CodesAreInAPlausibleRange) {
  for (const SyntheticValues values : {SyntheticValues::kCodes, SyntheticValues::kFoldingCodes}) {
    const std::array<int, 256> counts = Counts(Bytes(values, 1 << 16));
    for (int code = 0; code < 256; ++code) {
      EXPECT_EQ(counts[code] > 0, code >= 110 && code <= 125) << "code " << code;
    }
  }
}

TEST(SyntheticValuesTest, FloatsAreFiniteOfBothSigns) {
  const std::vector<std::uint8_t> bytes = Bytes(SyntheticValues::kF32, 1 << 14);
  int negative = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 4) {
    float value;
    std::memcpy(&value, &bytes[i], 4);
    ASSERT_GE(std::abs(value), 0x1p-9F) << "float " << i / 4;
    ASSERT_LT(std::abs(value), 0x1p-1F) << "float " << i / 4;
    negative += value < 0;
  }
  EXPECT_GT(negative, 1500);
  EXPECT_LT(negative, 2500);

  const std::vector<std::uint8_t> halves = Bytes(SyntheticValues::kBf16, 1 << 14);
  negative = 0;
  for (std::size_t i = 0; i < halves.size(); i += 2) {
    const std::uint32_t bits = static_cast<std::uint32_t>(halves[i] | halves[i + 1] << 8) << 16;
    float value;
    std::memcpy(&value, &bits, 4);
    ASSERT_GE(std::abs(value), 0x1p-9F) << "bf16 " << i / 2;
    ASSERT_LT(std::abs(value), 0x1p-1F) << "bf16 " << i / 2;
    negative += value < 0;
  }
  EXPECT_GT(negative, 3500);
  EXPECT_LT(negative, 4700);
}

TEST(SyntheticValuesTest, FoldingCodesAreEqualForThirtyTwoRows) {
  constexpr std::int64_t kRows = 96, kColumns = 7;
  const std::vector<std::uint8_t> codes =
      Bytes(SyntheticValues::kFoldingCodes, kRows * kColumns, kColumns);
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t column = 0; column < kColumns; ++column) {
      ASSERT_EQ(codes[row * kColumns + column], codes[row / 32 * 32 * kColumns + column])
          << "row " << row << ", column " << column;
    }
  }
  const auto block = [&](std::int64_t row) {
    return std::vector(codes.begin() + row * kColumns, codes.begin() + (row + 1) * kColumns);
  };
  EXPECT_NE(block(0), block(32));
  EXPECT_NE(block(32), block(64));
}

// Any cut of a tensor into pieces gives the same bytes.
TEST(SyntheticValuesTest, PiecesAreTheWhole) {
  constexpr std::size_t kSize = 4096;
  for (const SyntheticValues values : kAll) {
    const std::vector<std::uint8_t> whole = Bytes(values, kSize);
    for (const std::size_t piece : {1, 3, 8, 13, 1000}) {
      std::vector<std::uint8_t> parts(kSize, 0xA5);
      for (std::size_t begin = 0; begin < kSize; begin += piece) {
        const std::size_t size = std::min(piece, kSize - begin);
        FillSynthetic(values, 5, 96, static_cast<std::int64_t>(begin),
                      std::span(parts).subspan(begin, size));
      }
      ASSERT_EQ(whole, parts) << SyntheticValuesName(values) << " in pieces of " << piece;
    }
  }
}

TEST(SyntheticValuesTest, KeysFollowSeedAndName) {
  EXPECT_EQ(SyntheticKey(1, "a"), SyntheticKey(1, "a"));
  EXPECT_NE(SyntheticKey(1, "a"), SyntheticKey(2, "a"));
  EXPECT_NE(SyntheticKey(1, "a"), SyntheticKey(1, "b"));
}

TEST(SyntheticValuesTest, NamesComeBack) {
  for (const SyntheticValues values : kAll) {
    EXPECT_EQ(SyntheticValuesFromName(SyntheticValuesName(values)), values);
  }
  EXPECT_EQ(SyntheticValuesFromName("e5m2"), std::nullopt);
}

TEST(SyntheticValuesTest, DefaultsCanBeHeld) {
  for (const DType dtype : AllDTypes()) {
    if (const auto values = DefaultSyntheticValues(dtype)) {
      EXPECT_TRUE(CanHold(dtype, *values)) << DTypeName(dtype);
    }
  }
  EXPECT_FALSE(CanHold(DType::kF8E4m3, SyntheticValues::kE2m1)) << "its bytes may be NaN";
}

}  // namespace
}  // namespace lanewise
