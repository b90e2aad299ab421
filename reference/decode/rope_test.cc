#include "reference/decode/rope.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference {
namespace {

constexpr float kUlp = 0x1p-23f;

TEST(Rope, RotatesNeighbours) {
  // cos 3/5 and 5/13, sin 4/5 and 12/13 times what makes them integers.
  std::vector<float> x = {10, 20, 1, 2};
  const std::vector<float> cos_sin = {3, 5, 4, 12};
  ASSERT_TRUE(Rope(x, cos_sin).ok());
  EXPECT_EQ(x, (std::vector<float>{10 * 3 - 20 * 4, 10 * 4 + 20 * 3, 1 * 5 - 2 * 12, 12 + 2 * 5}));
  x = {10, 20, 1, 2};
  ASSERT_TRUE(InverseRope(x, cos_sin).ok());
  EXPECT_EQ(x, (std::vector<float>{10 * 3 + 20 * 4, 20 * 3 - 10 * 4, 5 + 2 * 12, 2 * 5 - 1 * 12}));
}

// (1 + u)^2 = 1 + 2u + u^2 loses u^2 when the product is rounded; a fused one would keep it.
TEST(Rope, ProductsAreRounded) {
  const float a = 1 + kUlp;
  std::vector<float> x = {a, a};
  ASSERT_TRUE(Rope(x, std::vector<float>{a, 1 + 2 * kUlp}).ok());
  EXPECT_EQ(x[0], (1 + 2 * kUlp) - (1 + 3 * kUlp));
}

TEST(Rope, OfHeadTakesTheLastPairs) {
  std::vector<float> x = {-0.0f, 5, std::numeric_limits<float>::infinity(), 1, 10, 20};
  ASSERT_TRUE(RopeOfHead(x, std::vector<float>{3, 4}).ok());
  // -0 * 1 - 5 * 0 = -0 - 0 = -0, and 5 * 1 + -0 * 0 = 5.
  EXPECT_TRUE(std::signbit(x[0]));
  EXPECT_EQ(x[1], 5);
  EXPECT_EQ(x[2], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(x[3])) << "infinity times sine 0";
  EXPECT_EQ(x[4], 10 * 3 - 20 * 4);
  EXPECT_EQ(x[5], 10 * 4 + 20 * 3);
  x = {-0.0f, -0.0f, 10, 20};
  ASSERT_TRUE(InverseRopeOfHead(x, std::vector<float>{3, 4}).ok());
  EXPECT_TRUE(std::signbit(x[0])) << "-0 * 1 + -0 * 0";
  EXPECT_FALSE(std::signbit(x[1])) << "-0 * 1 - -0 * 0";
  EXPECT_EQ(x[2], 10 * 3 + 20 * 4);
}

TEST(Rope, BadSizesAreRefused) {
  std::vector<float> x(4);
  EXPECT_EQ(Rope(x, std::vector<float>(2)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RopeOfHead(x, std::vector<float>(6)).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(RopeOfHead(x, std::vector<float>(1)).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::reference
