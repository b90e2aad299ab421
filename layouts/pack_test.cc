// What pack.h refuses. (What it moves is tests/differential's: pack/* and unpack/* with by=plain,
// every unit and every catalogue layout.)

#include "layouts/pack.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/test_shapes.h"

namespace lanewise {
namespace {

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
