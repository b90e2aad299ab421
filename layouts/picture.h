#ifndef LANEWISE_LAYOUTS_PICTURE_H_
#define LANEWISE_LAYOUTS_PICTURE_H_

// A bound layout as a picture. Two panels over each other: the logical array, where each cell is a
// run of units that stay together and holds the offset of its first; and memory, where the same
// cells stand in the order of their offsets and hold the coordinate of their first. A cell has the
// same colour in both, blue at offset 0 and red at the end, so the first panel shows the order and
// the second what was taken apart. Where the layout has
// lanes, a cell names the lane and load that read its first unit: "L17 #3". Pointing at a cell
// shows its place in the layout's factors.
// Where runs would be too many, a cell may be a group that stays together in another order, which
// then stands below.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "layouts/layout.h"

namespace lanewise {

// A layout of which every parameter has a size, and extents for it.
struct PictureSubject {
  Layout layout;
  std::vector<std::int64_t> extents;
};

// Small extents that show what the layout does: every fixed factor whole, the remainder if it has
// one, and two of each open factor where the picture stays readable. Parameters without a size get
// 8. InvalidArgument if no such extents bind.
absl::StatusOr<PictureSubject> SubjectOf(const Layout& layout);

// The picture as SVG, the same bytes for the same arguments. InvalidArgument as Bind, where there
// is no unit to show, or where the picture would have more than 4096 cells.
absl::StatusOr<std::string> PictureSvg(const Layout& layout, std::span<const std::int64_t> extents);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PICTURE_H_
