#include "tools/inspect/element_counts.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::tools {
namespace {

std::vector<std::uint8_t> EveryByte() {
  std::vector<std::uint8_t> bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(static_cast<std::uint8_t>(byte));
  return bytes;
}

// What the formats' definitions say of all 256 bytes.
TEST(CountElementsTest, EightBitFormats) {
  const struct {
    DType dtype;
    int nans, infs, negative_zeros;
  } kCases[] = {
      {DType::kF8E4m3, 2, 0, 1},      // 0x7F, 0xFF; 0x80
      {DType::kF8E5m2, 6, 2, 1},      // three mantissas under the top exponent; S.11111.00; 0x80
      {DType::kF8E4m3Fnuz, 1, 0, 0},  // 0x80 is the NaN
      {DType::kF8E5m2Fnuz, 1, 0, 0},
      {DType::kF4, 0, 0, 32},  // nibble 8, low in 16 bytes and high in 16
  };
  for (const auto& expected : kCases) {
    const ElementCounts counts = CountElements(expected.dtype, EveryByte());
    EXPECT_EQ(counts.nans, expected.nans) << DTypeName(expected.dtype);
    EXPECT_EQ(counts.infs, expected.infs) << DTypeName(expected.dtype);
    EXPECT_EQ(counts.negative_zeros, expected.negative_zeros) << DTypeName(expected.dtype);
    EXPECT_FALSE(counts.least_code.has_value()) << DTypeName(expected.dtype);
  }
}

TEST(CountElementsTest, Codes) {
  const ElementCounts counts =
      CountElements(DType::kF8E8m0, std::vector<std::uint8_t>{130, 255, 7, 120, 255});
  EXPECT_EQ(counts.least_code, 7);
  EXPECT_EQ(counts.greatest_code, 130);
  EXPECT_EQ(counts.nan_codes, 2);
  EXPECT_EQ(counts.nans, 0);

  const ElementCounts only_nans = CountElements(DType::kF8E8m0, std::vector<std::uint8_t>{255});
  EXPECT_FALSE(only_nans.least_code.has_value());
  EXPECT_FALSE(only_nans.greatest_code.has_value());
  EXPECT_EQ(only_nans.nan_codes, 1);
}

// -0 is code 32; elements 0 .. 3 of 6 bits are 32, 1, 32, 63 from the lowest bit on.
TEST(CountElementsTest, SixBits) {
  const int packed = 32 | 1 << 6 | 32 << 12 | 63 << 18;
  const std::vector<std::uint8_t> bytes = {static_cast<std::uint8_t>(packed),
                                           static_cast<std::uint8_t>(packed >> 8),
                                           static_cast<std::uint8_t>(packed >> 16)};
  for (const DType dtype : {DType::kF6E2m3, DType::kF6E3m2}) {
    EXPECT_EQ(CountElements(dtype, bytes).negative_zeros, 2) << DTypeName(dtype);
    EXPECT_EQ(CountElements(dtype, bytes).nans, 0) << DTypeName(dtype);
  }
}

// Little-endian, at an odd address.
TEST(CountElementsTest, WideFormats) {
  const struct {
    DType dtype;
    std::vector<std::uint8_t> bytes;  // NaN, -Inf, -0, 1
  } kCases[] = {
      {DType::kBf16, {0xC1, 0x7F, 0x80, 0xFF, 0x00, 0x80, 0x80, 0x3F}},
      {DType::kF16, {0x01, 0x7E, 0x00, 0xFC, 0x00, 0x80, 0x00, 0x3C}},
      {DType::kF32, {1, 0, 0xC0, 0x7F, 0, 0, 0x80, 0xFF, 0, 0, 0, 0x80, 0, 0, 0x80, 0x3F}},
      {DType::kF64, {1, 0, 0, 0, 0, 0, 0xF8, 0x7F, 0, 0, 0, 0, 0, 0, 0xF0, 0xFF,
                     0, 0, 0, 0, 0, 0, 0,    0x80, 0, 0, 0, 0, 0, 0, 0xF0, 0x3F}},
  };
  for (const auto& expected : kCases) {
    std::vector<std::uint8_t> shifted = {0xFF};
    shifted.insert(shifted.end(), expected.bytes.begin(), expected.bytes.end());
    const ElementCounts counts =
        CountElements(expected.dtype, std::span<const std::uint8_t>(shifted).subspan(1));
    EXPECT_EQ(counts.nans, 1) << DTypeName(expected.dtype);
    EXPECT_EQ(counts.infs, 1) << DTypeName(expected.dtype);
    EXPECT_EQ(counts.negative_zeros, 1) << DTypeName(expected.dtype);
  }
}

TEST(CountElementsTest, IntegersAreNotCounted) {
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI64}) {
    EXPECT_FALSE(IsCounted(dtype)) << DTypeName(dtype);
  }
  for (const DType dtype : {DType::kF4, DType::kF8E8m0, DType::kBf16, DType::kF64}) {
    EXPECT_TRUE(IsCounted(dtype)) << DTypeName(dtype);
  }
}

}  // namespace
}  // namespace lanewise::tools
