#include "layouts/index.h"

#include <array>
#include <cstdint>
#include <utility>

#include "gtest/gtest.h"
#include "layouts/catalogue.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

constexpr Pattern WithSizes(const Pattern& pattern) {
  return pattern.WithParameter("blocks", 8).WithParameter("chunks", 4);
}

// Compares one catalogue entry's unrolled arithmetic with its tables, over every shape without
// remainder.
template <int kEntry, class UInt>
std::int64_t CompareEntry() {
  constexpr Pattern kPattern = WithSizes(kCatalogue[kEntry].main);
  using Index = PatternIndex<kPattern>;
  Layout layout = kCatalogue[kEntry];
  layout.main = kPattern;
  layout.remainder = Pattern();
  std::int64_t compared = 0;
  for (const BoundCase& test : CasesOf(layout)) {
    UInt extents[Index::kAxes];
    for (int axis = 0; axis < Index::kAxes; ++axis) {
      extents[axis] = static_cast<UInt>(test.extents[axis]);
    }
    std::int64_t coordinate[kMaxAxes];
    for (std::int64_t offset = 0; offset < test.bound.units(); ++offset) {
      test.bound.Coordinate(offset, coordinate);
      UInt narrow[Index::kAxes], back[Index::kAxes];
      for (int axis = 0; axis < Index::kAxes; ++axis)
        narrow[axis] = static_cast<UInt>(coordinate[axis]);
      EXPECT_EQ(Index::template Offset<UInt>(narrow, extents), static_cast<UInt>(offset))
          << test.name;
      Index::template Coordinate<UInt>(static_cast<UInt>(offset), extents, back);
      for (int axis = 0; axis < Index::kAxes; ++axis) {
        EXPECT_EQ(back[axis], narrow[axis])
            << test.name << ", axis " << axis << ", offset " << offset;
      }
      if (testing::Test::HasFailure()) return compared;
      ++compared;
    }
  }
  return compared;
}

template <int... kEntry>
std::int64_t CompareAll(std::integer_sequence<int, kEntry...>) {
  return (0 + ... +
          (CompareEntry<kEntry, std::uint32_t>() + CompareEntry<kEntry, std::uint64_t>()));
}

TEST(PatternIndex, AgreesWithTheTablesForEveryCatalogueEntry) {
  EXPECT_GT(CompareAll(std::make_integer_sequence<int, std::size(kCatalogue)>()), 500'000);
}

TEST(PatternIndex, IsAConstantForConstants) {
  using Dense = PatternIndex<CatalogueLayout("gfx942/dense").main>;
  // Row 17, k = 200: tile 1, r 1; step 1, half 1, block 0, group 1, byte 0.
  static_assert(Dense::Offset<std::uint32_t>({17, 200}, {32, 256}) ==
                1 * 16 * 256 + 1 * 2048 + 1 * 1024 + 1 * 256 + 1 * 16);
}

}  // namespace
}  // namespace lanewise
