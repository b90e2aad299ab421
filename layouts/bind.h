#ifndef LANEWISE_LAYOUTS_BIND_H_
#define LANEWISE_LAYOUTS_BIND_H_

// Status-returning entry points to layouts/ for sizes, names and patterns that come from outside.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "layouts/bound_layout.h"
#include "layouts/layout.h"
#include "layouts/pattern.h"

namespace lanewise {

// Binds `layout` to extents, outermost axis first. InvalidArgument names the layout, the axis, the
// extent found and what it must be.
absl::StatusOr<BoundLayout> Bind(const Layout& layout, std::span<const std::int64_t> extents);

// Parses a pattern (see layouts/pattern.h). InvalidArgument says what is wrong and at which
// character.
absl::StatusOr<Pattern> ParsePatternText(std::string_view text);

// The pattern in its own notation.
std::string PatternText(const Pattern& pattern);

// Offset and Coordinate of a bound layout, checked: OutOfRange names the axis or the offset, what
// was found and the range.
absl::StatusOr<std::int64_t> OffsetOf(const BoundLayout& layout,
                                      std::span<const std::int64_t> coordinate);
absl::StatusOr<std::int64_t> LogicalIndexAt(const BoundLayout& layout, std::int64_t offset);

// "tile=1 step=0 half=1 group=2 r=5 block=0 byte=3": the coordinate's place in the layout's own
// words, outermost in memory first.
std::string FactorText(const BoundLayout& layout, std::span<const std::int64_t> coordinate);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_BIND_H_
