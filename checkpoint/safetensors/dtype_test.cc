#include "checkpoint/safetensors/dtype.h"

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// The names and sizes as the format's own documentation lists them.
TEST(DType, NamesAndBitsAreTheFormats) {
  const std::vector<std::pair<std::string, int64_t>> expected = {
      {"BOOL", 8},        {"U8", 8},         {"I8", 8},   {"U16", 16},    {"I16", 16},
      {"F16", 16},        {"BF16", 16},      {"U32", 32}, {"I32", 32},    {"F32", 32},
      {"U64", 64},        {"I64", 64},       {"F64", 64}, {"C64", 64},    {"F8_E4M3", 8},
      {"F8_E5M2", 8},     {"F8_E8M0", 8},    {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6},
      {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};
  EXPECT_EQ(AllDTypes().size(), expected.size());
  std::set<DType> seen;
  for (const auto& [name, bits] : expected) {
    const std::optional<DType> dtype = DTypeFromName(name);
    ASSERT_TRUE(dtype.has_value()) << name;
    EXPECT_EQ(DTypeName(*dtype), name);
    EXPECT_EQ(BitsPerElement(*dtype), bits) << name;
    EXPECT_TRUE(seen.insert(*dtype).second) << name;
  }
}

TEST(DType, OtherSpellingsAreUnknown) {
  for (const char* name : {"", "f32", "F32 ", "F8_E4M3FN", "F8", "F4_E2M1", "BFLOAT16"}) {
    EXPECT_FALSE(DTypeFromName(name).has_value()) << name;
  }
}

TEST(ElementCount, IsTheProduct) {
  EXPECT_EQ(*ElementCount({}), 1);
  EXPECT_EQ(*ElementCount(std::vector<int64_t>{3, 5, 7}), 105);
  EXPECT_EQ(*ElementCount(std::vector<int64_t>{3, 0, 7}), 0);
  EXPECT_EQ(*ElementCount(std::vector<int64_t>{kMax}), kMax);
  // 385 experts of 4096 x 7168: beyond 2^32.
  EXPECT_EQ(*ElementCount(std::vector<int64_t>{385, 4096, 7168}), int64_t{11303649280});
}

TEST(ElementCount, RefusesNegativeAndOverflowingShapes) {
  EXPECT_THAT(std::string(ElementCount(std::vector<int64_t>{4, -1}).status().message()),
              HasSubstr("[4, -1]"));
  EXPECT_FALSE(ElementCount(std::vector<int64_t>{kMax, 2}).ok());
  EXPECT_FALSE(ElementCount(std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 31}).ok());
  EXPECT_TRUE(ElementCount(std::vector<int64_t>{int64_t{1} << 32, int64_t{1} << 30}).ok());
  // A zero dimension excuses nothing, wherever it stands.
  EXPECT_FALSE(ElementCount(std::vector<int64_t>{0, kMax, 2}).ok());
  EXPECT_FALSE(ElementCount(std::vector<int64_t>{kMax, 2, 0}).ok());
}

TEST(ByteCount, CountsBits) {
  EXPECT_EQ(*ByteCount(DType::kF32, {}), 4);
  EXPECT_EQ(*ByteCount(DType::kF4, std::vector<int64_t>{2, 32}), 32);
  EXPECT_EQ(*ByteCount(DType::kF6E2m3, std::vector<int64_t>{4}), 3);
  EXPECT_EQ(*ByteCount(DType::kF4, std::vector<int64_t>{0, 3}), 0);
  EXPECT_EQ(*ByteCount(DType::kU8, std::vector<int64_t>{kMax / 8}), kMax / 8);
}

TEST(ByteCount, RefusesPartsOfBytesAndOverflow) {
  EXPECT_THAT(std::string(ByteCount(DType::kF4, std::vector<int64_t>{3}).status().message()),
              HasSubstr("12 bits"));
  EXPECT_FALSE(ByteCount(DType::kF6E3m2, std::vector<int64_t>{2}).ok());
  EXPECT_FALSE(ByteCount(DType::kU8, std::vector<int64_t>{kMax / 8 + 1}).ok());
  EXPECT_FALSE(ByteCount(DType::kF64, std::vector<int64_t>{kMax / 16}).ok());
}

}  // namespace
}  // namespace lanewise
