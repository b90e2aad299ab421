#include "layouts/pack.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

TEST(Pack, MovesEveryUnitOfEveryCatalogueCaseAndBack) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  constexpr std::size_t kGuard = 64;
  for (const BoundCase& test : CatalogueCases()) {
    if (test.bound.units() > 20'000) continue;
    for (const int unit : {1, 2, 4, 8, 16}) {
      SCOPED_TRACE(test.name + ", unit of " + std::to_string(unit) + " bytes, seed " +
                   std::to_string(seed));
      const std::size_t bytes = test.bound.units() * unit;
      std::vector<std::uint8_t> logical(bytes);
      for (std::uint8_t& byte : logical) byte = static_cast<std::uint8_t>(random());
      std::vector<std::uint8_t> guarded(bytes + 2 * kGuard, 0xA5);
      const std::span<std::uint8_t> memory(guarded.data() + kGuard, bytes);
      ASSERT_TRUE(Pack(test.bound, unit, logical, memory).ok());
      std::vector<std::int64_t> coordinate(test.bound.axes());
      for (std::int64_t offset = 0; offset < test.bound.units(); ++offset) {
        test.bound.Coordinate(offset, coordinate.data());
        const std::int64_t index = test.bound.LogicalIndex(coordinate.data());
        ASSERT_EQ(std::memcmp(&memory[offset * unit], &logical[index * unit], unit), 0)
            << "offset " << offset << ", logical index " << index;
      }
      for (std::size_t i = 0; i < kGuard; ++i) {
        ASSERT_EQ(guarded[i], 0xA5);
        ASSERT_EQ(guarded[kGuard + bytes + i], 0xA5);
      }
      std::vector<std::uint8_t> back(bytes, 0x5A);
      ASSERT_TRUE(Unpack(test.bound, unit, memory, back).ok());
      ASSERT_EQ(back, logical);
    }
  }
}

TEST(Pack, RefusesWrongUnitsAndSizes) {
  const std::vector<BoundCase> cases = CatalogueCases();
  const BoundLayout* bound = nullptr;
  for (const BoundCase& test : cases) {
    if (test.bound.units() > 0) bound = &test.bound;
  }
  ASSERT_NE(bound, nullptr);
  std::vector<std::uint8_t> right(bound->units()), wrong(bound->units() + 1);
  EXPECT_FALSE(Pack(*bound, 3, right, right).ok());
  EXPECT_FALSE(Pack(*bound, 0, right, right).ok());
  EXPECT_FALSE(Pack(*bound, 1, wrong, right).ok());
  EXPECT_FALSE(Pack(*bound, 1, right, wrong).ok());
  EXPECT_FALSE(Unpack(*bound, 2, right, right).ok());
}

}  // namespace
}  // namespace lanewise
