#include "tests/golden/compare.h"

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanewise::golden {
namespace {

// Elements as little-endian bytes.
template <class T>
std::vector<std::uint8_t> Raw(const std::vector<T>& elements) {
  std::vector<std::uint8_t> bytes(elements.size() * sizeof(T));
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

// A case that expects 'D', and the comparison with another tensor of that role.
absl::Status Compare(DType dtype, const std::vector<std::int64_t>& shape,
                     const std::vector<std::uint8_t>& expected, const OutputTensor& actual) {
  const Case golden_case(0, "op", nlohmann::json::object(), {},
                         {{"D", TensorView{dtype, shape, expected}}});
  return CompareResults(golden_case, Results{{{"D", actual}}, {}});
}

TEST(CompareResults, NamesTheFirstWrongElement) {
  const std::vector<std::uint8_t> expected = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<std::uint8_t> actual = expected;
  EXPECT_TRUE(Compare(DType::kU8, {2, 3, 2}, expected, {DType::kU8, {2, 3, 2}, actual}).ok());
  actual[9] = 0x1F;
  actual[11] = 0;
  EXPECT_EQ(Compare(DType::kU8, {2, 3, 2}, expected, {DType::kU8, {2, 3, 2}, actual}).message(),
            "'D'[1, 1, 1] is 0x1F, expected 0x09; 2 of 12 elements of [2, 3, 2] differ");
}

TEST(CompareResults, ComparesFloatsAsNumbersAndTheRestAsBits) {
  const float nan = std::bit_cast<float>(0x7FC00001u);
  const auto expected = Raw<float>({-0.0f, nan, 1.0f});
  const auto actual = Raw<float>({0.0f, std::bit_cast<float>(0xFFC00000u), 1.0f});
  // The file may hold the bits under another name; the operation's dtype counts.
  EXPECT_TRUE(Compare(DType::kU32, {3}, expected, {DType::kF32, {3}, actual}).ok());
  EXPECT_FALSE(Compare(DType::kF32, {3}, expected, {DType::kU32, {3}, actual}).ok());
  EXPECT_EQ(Compare(DType::kU32, {3}, expected, {DType::kF32, {3}, Raw<float>({0.0f, nan, 1.5f})})
                .message(),
            "'D'[2] is 0x3FC00000 (1.5), expected 0x3F800000 (1); 1 of 3 elements of [3] differ");
  // NaN is not 0, and -0 not the smallest subnormal.
  EXPECT_FALSE(
      Compare(DType::kU32, {1}, Raw<float>({0.0f}), {DType::kF32, {1}, Raw<float>({nan})}).ok());
  EXPECT_FALSE(Compare(DType::kU16, {1}, Raw<std::uint16_t>({0x8000}),
                       {DType::kBf16, {1}, Raw<std::uint16_t>({0x8001})})
                   .ok());
  // e4m3fnuz has no -0: 0x80 is its NaN. In e4m3fn it is a zero.
  EXPECT_FALSE(Compare(DType::kU8, {1}, {0x80}, {DType::kF8E4m3Fnuz, {1}, {0x00}}).ok());
  EXPECT_TRUE(Compare(DType::kU8, {1}, {0x80}, {DType::kF8E4m3, {1}, {0x00}}).ok());
}

TEST(CompareResults, RefusesAnotherShapeOrWidth) {
  const std::vector<std::uint8_t> bytes(8, 1);
  EXPECT_EQ(Compare(DType::kU8, {2, 4}, bytes, {DType::kU8, {8}, bytes}).message(),
            "'D' has shape [8], expected [2, 4]");
  EXPECT_EQ(Compare(DType::kU16, {4}, bytes, {DType::kU32, {4}, bytes}).message(),
            "'D' is U32 of 8 bytes, expected U16 of 8 bytes");
  // An operation that gives too few bytes for its shape.
  EXPECT_FALSE(Compare(DType::kU16, {4}, bytes, {DType::kU16, {4}, {1, 1}}).ok());
}

TEST(CompareResults, WantsExactlyTheExpectedTensorsAndCounts) {
  const std::vector<std::uint8_t> bytes = {1, 2};
  const OutputTensor tensor{DType::kU8, {2}, bytes};
  const Case expects(0, "op", nlohmann::json::parse(R"({"changed": 3})"), {},
                     {{"D", TensorView{DType::kU8, {2}, bytes}}});
  EXPECT_TRUE(CompareResults(expects, {{{"D", tensor}}, {{"changed", 3}, {"other", 9}}}).ok());
  EXPECT_EQ(CompareResults(expects, {{}, {}}).message(), "gives no 'D', expected [2]");
  EXPECT_EQ(CompareResults(expects, {{{"D", tensor}, {"E", tensor}}, {}}).message(),
            "gives 'E' [2], expected none");
  EXPECT_EQ(CompareResults(expects, {{{"D", tensor}}, {{"changed", 4}}}).message(),
            "'changed' is 4, expected 3");
}

}  // namespace
}  // namespace lanewise::golden
