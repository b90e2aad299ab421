#ifndef LANEWISE_LAYOUTS_TEST_SHAPES_H_
#define LANEWISE_LAYOUTS_TEST_SHAPES_H_

// For tests: every catalogue layout with values for its parameters, bound to many shapes.

#include <cstdint>
#include <string>
#include <vector>

#include "layouts/bound_layout.h"
#include "layouts/layout.h"

namespace lanewise {

struct BoundCase {
  Layout layout;     // parameters given
  std::string name;  // "gfx942/codes_tile_rounds blocks=8 [32, 24]"
  std::vector<std::int64_t> extents;
  BoundLayout bound;
};

// Shapes from the smallest on, with odd counts of tiles and steps, and with remainders.
std::vector<BoundCase> CatalogueCases();

// The same for one layout, whose parameters have sizes.
std::vector<BoundCase> CasesOf(const Layout& layout);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_TEST_SHAPES_H_
