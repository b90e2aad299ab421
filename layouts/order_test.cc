#include "layouts/order.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

TEST(Order, OfALayoutMapsLogicalIndexToOffset) {
  for (const BoundCase& test : CatalogueCases()) {
    SCOPED_TRACE(test.name);
    const auto order = Order::OfLayout(test.bound);
    if (test.bound.regions() > 1) {
      EXPECT_FALSE(order.ok());
      continue;
    }
    ASSERT_TRUE(order.ok());
    const Order inverse = order->Inverse();
    EXPECT_EQ(inverse.Inverse(), *order);
    std::vector<std::int64_t> coordinate(test.bound.axes());
    for (std::int64_t offset = 0; offset < test.bound.units(); ++offset) {
      test.bound.Coordinate(offset, coordinate.data());
      const std::int64_t index = test.bound.LogicalIndex(coordinate.data());
      ASSERT_EQ(order->Map(index), offset);
      ASSERT_EQ(inverse.Map(offset), index);
    }
  }
}

// An order of these digit sizes, with the digits placed in memory by a random permutation.
Order RandomOrder(const std::string& sizes, std::mt19937_64& random) {
  // Built from a pattern: one axis, its digits shuffled.
  std::string left = "x(", right;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    names.push_back(std::string(1, static_cast<char>('a' + i)));
    left += names.back() + ":" + sizes[i] + " ";
  }
  std::shuffle(names.begin(), names.end(), random);
  for (const std::string& name : names) right += " " + name;
  Layout layout;
  layout.main = *ParsePatternText(left + ") ->" + right);
  std::int64_t units = 1;
  for (const char size : sizes) units *= size - '0';
  return *Order::OfLayout(*Bind(layout, std::vector<std::int64_t>{units}));
}

TEST(Order, ComposeIsOneAfterTheOther) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  const std::vector<std::string> factorings = {"2222222", "448",  "844", "2288",
                                               "42242",   "2424", "882"};
  int composed = 0;
  for (int draw = 0; draw < 2000; ++draw) {
    const Order f = RandomOrder(factorings[random() % factorings.size()], random);
    const Order g = RandomOrder(factorings[random() % factorings.size()], random);
    const auto both = Compose(f, g);
    if (f.units() != g.units()) {
      EXPECT_FALSE(both.ok());
      continue;
    }
    ASSERT_TRUE(both.ok()) << both.status().message() << ", seed " << seed;
    ++composed;
    for (std::int64_t o = 0; o < f.units(); ++o) {
      ASSERT_EQ(both->Map(o), g.Map(f.Map(o))) << "offset " << o << ", seed " << seed;
    }
    EXPECT_EQ(*Compose(f, f.Inverse()), Order::Identity(f.units()));
    EXPECT_EQ(*Compose(f, Order::Identity(f.units())), f);
  }
  EXPECT_GT(composed, 200);
}

TEST(Order, ComposeRefusesDigitsThatStraddle) {
  std::mt19937_64 random(1);
  Order f = RandomOrder("23", random), g = RandomOrder("32", random);
  while (f == Order::Identity(6)) f = RandomOrder("23", random);
  while (g == Order::Identity(6)) g = RandomOrder("32", random);
  // 2 x 3 transposed twice is whole again; 2 x 3 then 2 x 3 once more cuts a 3 by a 2.
  EXPECT_TRUE(Compose(f, g).ok());
  const auto refused = Compose(f, f);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(std::string(refused.status().message()).find("neither divides the other"),
            std::string::npos);
}

TEST(Order, ContiguousRunIsWhatNeighboursKeep) {
  for (const BoundCase& test : CatalogueCases()) {
    if (test.bound.units() == 0) {
      EXPECT_EQ(ContiguousRun(test.bound), 0);
      continue;
    }
    SCOPED_TRACE(test.name);
    const std::int64_t run = ContiguousRun(test.bound);
    ASSERT_GE(run, 1);
    ASSERT_EQ(test.bound.units() % run, 0);
    std::vector<std::int64_t> coordinate(test.bound.axes());
    // Every aligned run of logical neighbours stays together.
    std::int64_t first = 0;
    for (std::int64_t offset = 0; offset < test.bound.units(); ++offset) {
      test.bound.Coordinate(offset, coordinate.data());
      const std::int64_t index = test.bound.LogicalIndex(coordinate.data());
      if (offset % run == 0) {
        ASSERT_EQ(index % run, 0);
        first = index;
      }
      ASSERT_EQ(index, first + offset % run);
    }
  }
  const auto run = [](std::string_view tag, std::vector<std::int64_t> extents) {
    return ContiguousRun(*Bind(*FindLayout(tag), extents));
  };
  EXPECT_EQ(run("gfx942/dense", {64, 256}), 8);
  EXPECT_EQ(run("gfx942/dense_chunk_q", {64, 256}), 1);
  EXPECT_EQ(run("gfx942/fp4_tile_major", {64, 288}), 4);
  EXPECT_EQ(run("aiter/shuffle_weight_16x16", {64, 64}), 16);
  EXPECT_EQ(run("gfx942/gate_up_interleave", {2, 2, 8, 64}), 64);
}

}  // namespace
}  // namespace lanewise
