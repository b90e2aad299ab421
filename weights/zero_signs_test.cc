#include "weights/zero_signs.h"

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/catalogue.h"
#include "weights/tensor_plan.h"

namespace lanewise {
namespace {

// The signs of a row's zeros as the header says them, element by element.
std::vector<int> SignsOf(Conversion conversion, std::span<const std::uint8_t> row) {
  std::vector<int> signs;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (conversion == Conversion::kE4m3ToFnuz) {
      if (row[i] == 0x00 || row[i] == 0x80) signs.push_back(row[i] == 0x80);
    } else if (conversion == Conversion::kE2m1DropNegativeZero) {
      for (const int nibble : {row[i] & 15, row[i] >> 4}) {
        if (nibble == 0 || nibble == 8) signs.push_back(nibble == 8);
      }
    } else if (i % 2 == 0) {
      const int bf16 = row[i] | row[i + 1] << 8;
      if (bf16 == 0 || bf16 == 0x8000) signs.push_back(bf16 == 0x8000);
    }
  }
  return signs;
}

class ZeroSignsOf : public testing::TestWithParam<Conversion> {};

TEST_P(ZeroSignsOf, RowsAreThoseOfTheirElementsAndComeBack) {
  const Conversion conversion = GetParam();
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const std::int64_t row_bytes : {2, 6, 8, 14, 16, 54, 2050}) {
    SCOPED_TRACE(std::to_string(row_bytes) + " bytes a row");
    const std::int64_t rows = 9, pitch = row_bytes + 3;  // rows need not be aligned
    // All bytes where zeros are rare, and hardly anything but zeros.
    for (const bool zeros : {false, true}) {
      std::vector<std::uint8_t> bytes(rows * pitch + 1);
      for (std::uint8_t& byte : bytes) {
        byte = static_cast<std::uint8_t>(zeros && random() % 8 != 0 ? random() % 4 << 7 : random());
      }
      absl::StatusOr<TensorPlan> plan = MakePlan(CatalogueLayout("plain"), rows, row_bytes);
      ASSERT_TRUE(plan.ok()) << plan.status();
      plan->conversion = conversion;
      // The third row is padding.
      plan->place = [pitch](std::int64_t row) {
        return row == 2 ? RowPlace::Padding() : RowPlace{0, row * pitch + 1};
      };
      const std::int64_t begin = 1, end = 8;
      std::vector<int> expected;
      std::vector<std::uint8_t> without = bytes;
      for (std::int64_t row = begin; row < end; ++row) {
        if (row == 2) continue;
        const std::span<std::uint8_t> at(without.data() + row * pitch + 1, row_bytes);
        for (const int sign : SignsOf(conversion, at)) expected.push_back(sign);
        for (std::int64_t i = 0; i < row_bytes; ++i) {
          if (conversion == Conversion::kE4m3ToFnuz && at[i] == 0x80) at[i] = 0;
          if (conversion == Conversion::kE2m1DropNegativeZero) {
            if (at[i] % 16 == 8) at[i] = static_cast<std::uint8_t>(at[i] - 8);
            if (at[i] / 16 == 8) at[i] = static_cast<std::uint8_t>(at[i] - 128);
          }
          if (conversion == Conversion::kBf16ToFnuz && i % 2 == 1 && at[i] == 0x80 &&
              at[i - 1] == 0) {
            at[i] = 0;
          }
        }
      }
      const Sources sources = {bytes};
      EXPECT_EQ(CountZeros(*plan, sources, begin, end), std::ssize(expected));
      const ZeroSignBits bits = ZeroSignsOfRows(*plan, sources, begin, end);
      ASSERT_EQ(bits.count, std::ssize(expected));
      ASSERT_EQ(std::ssize(bits.bytes), (bits.count + 7) / 8);
      for (std::int64_t i = 0; i < 8 * std::ssize(bits.bytes); ++i) {
        ASSERT_EQ(bits.bytes[i / 8] >> (i % 8) & 1, i < bits.count ? expected[i] : 0)
            << "bit " << i;
      }
      EXPECT_EQ(ApplyZeroSignsToRows(*plan, bits.bytes, 0, begin, end, {without}), bits.count);
      EXPECT_EQ(without, bytes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EachConversion, ZeroSignsOf,
                         testing::Values(Conversion::kE4m3ToFnuz, Conversion::kE2m1DropNegativeZero,
                                         Conversion::kBf16ToFnuz),
                         [](const auto& info) -> std::string {
                           if (info.param == Conversion::kE4m3ToFnuz) return "e4m3_to_fnuz";
                           if (info.param == Conversion::kBf16ToFnuz) return "bf16_to_fnuz";
                           return "e2m1_drop_negative_zero";
                         });

TEST(ZeroSigns, NothingIsDiscardedByOtherConversions) {
  absl::StatusOr<TensorPlan> plan = MakePlan(CatalogueLayout("plain"), 1, 16);
  ASSERT_TRUE(plan.ok());
  plan->place = [](std::int64_t) { return RowPlace{0, 0}; };
  const std::vector<std::uint8_t> zeros(16);
  EXPECT_EQ(CountZeros(*plan, {zeros}, 0, 1), 0);
  EXPECT_TRUE(ZeroSigns(*plan, {zeros}).empty());
}

}  // namespace
}  // namespace lanewise
