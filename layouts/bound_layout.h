#ifndef LANEWISE_LAYOUTS_BOUND_LAYOUT_H_
#define LANEWISE_LAYOUTS_BOUND_LAYOUT_H_

// A layout bound to extents: a bijection between the coordinates of a logical array and the offsets
// 0 .. units - 1 in memory, both counted in units (bytes, codes, elements: the layout's own unit).
//
// Laws, for a bound layout b, every coordinate c within the extents and every offset o < b.units():
//   0 <= b.Offset(c) < b.units()          b.Coordinate(b.Offset(c)) == c
//   b.Offset(b.Coordinate(o)) == o        b.LogicalIndex(c) is the row-major index of c
//
// A layout with a remainder splits one axis, the one whose factors the remainder pattern lists
// without an open factor. An extent of that axis is a multiple of the main pattern's inner factors
// (the main units), or such a multiple plus the whole remainder. The leading factors that both
// patterns share stay outermost in memory: each leading index owns its main units, then its
// remainder.
//
// All of it is constexpr and free of dependencies. Status-returning entry points for run-time input
// stand in layouts/bind.h.

#include <cstdint>
#include <limits>

#include "layouts/layout.h"
#include "layouts/pattern.h"

namespace lanewise {

// One factor with its size known.
struct Digit {
  Name name;
  int axis = 0;
  std::int64_t size = 0;
  std::int64_t coordinate_stride = 0;  // how far one step moves along the axis
  std::int64_t logical_stride = 0;     // ... in the row-major logical array
  std::int64_t memory_stride = 0;      // ... in memory
};

// The coordinates that one pattern covers: all of them, or one side of a split axis.
struct Region {
  int digits = 0;
  Digit digit[kMaxFactors];            // in the pattern's logical order
  int memory_order[kMaxFactors] = {};  // indices into digit, outermost in memory first
  std::int64_t axis_begin = 0;         // where on the split axis the region begins
  std::int64_t logical_base = 0;       // row-major index of its first coordinate
  std::int64_t memory_base = 0;        // offset of its first coordinate
  std::int64_t units = 0;
};

class BoundLayout {
 public:
  constexpr int axes() const { return axes_; }
  constexpr std::int64_t extent(int axis) const { return extent_[axis]; }
  constexpr std::int64_t units() const { return units_; }

  // One region, or two where an extent ends in a remainder; a region without units is left out.
  constexpr int regions() const { return regions_; }
  constexpr const Region& region(int i) const { return region_[i]; }

  // The units that one index of the shared leading factors owns; units() for a layout of one
  // region.
  constexpr std::int64_t lead_units() const { return lead_units_; }

  // The row-major index of a coordinate (one value an axis).
  constexpr std::int64_t LogicalIndex(const std::int64_t* coordinate) const {
    std::int64_t index = 0;
    for (int axis = 0; axis < axes_; ++axis) index = index * extent_[axis] + coordinate[axis];
    return index;
  }

  // Where a coordinate lies in memory. The coordinate must be within the extents.
  constexpr std::int64_t Offset(const std::int64_t* coordinate) const {
    const Region& region = RegionOf(coordinate);
    std::int64_t offset = region.memory_base;
    for (int i = 0; i < region.digits; ++i) {
      const Digit& digit = region.digit[i];
      const std::int64_t along =
          coordinate[digit.axis] - (digit.axis == split_axis_ ? region.axis_begin : 0);
      offset += along / digit.coordinate_stride % digit.size * digit.memory_stride;
    }
    return offset;
  }

  // The coordinate that lies at an offset, 0 <= offset < units().
  constexpr void Coordinate(std::int64_t offset, std::int64_t* coordinate) const {
    const Region& region = RegionAt(offset);
    for (int axis = 0; axis < axes_; ++axis) {
      coordinate[axis] = axis == split_axis_ ? region.axis_begin : 0;
    }
    offset -= region.memory_base;
    for (int i = 0; i < region.digits; ++i) {
      const Digit& digit = region.digit[region.memory_order[i]];
      coordinate[digit.axis] += offset / digit.memory_stride * digit.coordinate_stride;
      offset %= digit.memory_stride;
    }
  }

  // The region a coordinate or an offset falls into. There must be one: units() > 0.
  constexpr const Region& RegionOf(const std::int64_t* coordinate) const {
    return regions_ == 2 && coordinate[split_axis_] >= region_[1].axis_begin ? region_[1]
                                                                             : region_[0];
  }
  constexpr const Region& RegionAt(std::int64_t offset) const {
    return regions_ == 2 && offset % lead_units_ >= region_[1].memory_base ? region_[1]
                                                                           : region_[0];
  }

 private:
  friend class LayoutBinder;

  int axes_ = 0;
  std::int64_t extent_[kMaxAxes] = {};
  std::int64_t units_ = 0;
  int regions_ = 0;
  Region region_[2];
  int split_axis_ = -1;
  std::int64_t lead_units_ = 1;  // what one leading index owns: its main units and its remainder
};

// Why extents do not fit a layout.
enum class BindFault {
  kNone,
  kParameterMissing,   // `name` has no size: give it by Pattern::WithParameter
  kWrongAxisCount,     // found, expected
  kNegativeExtent,     // axis, found
  kNotAMultiple,       // axis, found, expected: the multiple it must be of
  kNotTheExactExtent,  // axis, found, expected: the axis has no open factor
  kTooLarge,           // the units do not fit int64
};

struct BindResult {
  BoundLayout layout;
  BindFault fault = BindFault::kNone;
  int axis = 0;
  std::int64_t found = 0;
  std::int64_t expected = 0;
  std::int64_t remainder = 0;  // with kNotAMultiple: what may stand over, or 0
  Name name;
};

// Binds a layout to `count` extents, outermost axis first.
constexpr BindResult BindLayout(const Layout& layout, const std::int64_t* extents, int count);

// ---- details ----

class LayoutBinder {
 public:
  constexpr LayoutBinder(const Layout& layout, const std::int64_t* extents, int count)
      : layout_(layout), extents_(extents), count_(count) {}

  constexpr BindResult Bind() {
    const Pattern& main = layout_.main;
    if (count_ != main.axes) return Fail(BindFault::kWrongAxisCount, 0, count_, main.axes);
    if (!CheckParameters(main) || !CheckParameters(layout_.remainder)) return result_;
    for (int axis = 0; axis < count_; ++axis) {
      if (extents_[axis] < 0) return Fail(BindFault::kNegativeExtent, axis, extents_[axis], 0);
    }
    bound().axes_ = count_;
    bound().units_ = 1;
    for (int axis = 0; axis < count_; ++axis) bound().extent_[axis] = extents_[axis];
    // Zero anywhere makes an empty layout, however large the other extents are.
    for (int axis = 0; axis < count_; ++axis) {
      if (extents_[axis] == 0) bound().units_ = 0;
    }
    for (int axis = 0; axis < count_ && bound().units_ > 0; ++axis) {
      if (bound().units_ > std::numeric_limits<std::int64_t>::max() / extents_[axis]) {
        return Fail(BindFault::kTooLarge, axis, extents_[axis], 0);
      }
      bound().units_ *= extents_[axis];
    }

    std::int64_t main_extent[kMaxAxes] = {};
    std::int64_t over = 0;  // units of the split axis that the remainder takes
    bound().split_axis_ = layout_.HasRemainder() ? SplitAxis() : -1;
    for (int axis = 0; axis < count_; ++axis) {
      const std::int64_t inner = main.FixedSize(axis);
      main_extent[axis] = extents_[axis];
      if (!main.HasOpenFactor(axis)) {
        if (extents_[axis] != inner) {
          return Fail(BindFault::kNotTheExactExtent, axis, extents_[axis], inner);
        }
        continue;
      }
      const std::int64_t standing_over = extents_[axis] % inner;
      if (standing_over == 0) continue;
      const std::int64_t allowed =
          axis == bound().split_axis_ ? layout_.remainder.FixedSize(axis) : 0;
      if (standing_over != allowed) {
        result_.remainder = allowed;
        return Fail(BindFault::kNotAMultiple, axis, extents_[axis], inner);
      }
      over = allowed;
      main_extent[axis] -= allowed;
    }
    if (bound().units_ == 0) return result_;

    Region main_region = MakeRegion(main, main_extent);
    if (over == 0) {
      bound().lead_units_ = bound().units_;
      AddRegion(main_region);
      return result_;
    }
    std::int64_t remainder_extent[kMaxAxes] = {};
    for (int axis = 0; axis < count_; ++axis) remainder_extent[axis] = extents_[axis];
    const int split = bound().split_axis_;
    remainder_extent[split] = over;
    Region remainder_region = MakeRegion(layout_.remainder, remainder_extent);
    remainder_region.axis_begin = main_extent[split];
    remainder_region.logical_base = main_extent[split];
    for (int axis = split + 1; axis < count_; ++axis) {
      remainder_region.logical_base *= extents_[axis];
    }
    Interleave(&main_region, &remainder_region);
    AddRegion(main_region);
    AddRegion(remainder_region);
    return result_;
  }

 private:
  constexpr BoundLayout& bound() { return result_.layout; }

  constexpr BindResult Fail(BindFault fault, int axis, std::int64_t found, std::int64_t expected) {
    result_.layout = BoundLayout();
    result_.fault = fault;
    result_.axis = axis;
    result_.found = found;
    result_.expected = expected;
    return result_;
  }

  constexpr bool CheckParameters(const Pattern& pattern) {
    for (int i = 0; i < pattern.factors; ++i) {
      if (pattern.factor[i].parameter.empty()) continue;
      Fail(BindFault::kParameterMissing, pattern.factor[i].axis, 0, 0);
      result_.name = pattern.factor[i].parameter;
      return false;
    }
    return true;
  }

  constexpr int SplitAxis() const {
    for (int axis = 0; axis < count_; ++axis) {
      if (layout_.main.HasOpenFactor(axis) && !layout_.remainder.HasOpenFactor(axis)) return axis;
    }
    return -1;
  }

  // The pattern over these extents alone, as if nothing else were in memory.
  constexpr Region MakeRegion(const Pattern& pattern, const std::int64_t* extent) const {
    Region region;
    region.digits = pattern.factors;
    region.units = 1;
    std::int64_t row_major = 1;  // the logical stride of one step along the axis
    for (int axis = count_ - 1; axis >= 0; --axis) {
      std::int64_t along = 1;
      for (int i = pattern.EndFactor(axis) - 1; i >= pattern.FirstFactor(axis); --i) {
        Digit& digit = region.digit[i];
        digit.name = pattern.factor[i].name;
        digit.axis = axis;
        digit.size = pattern.factor[i].IsOpen() ? extent[axis] / along : pattern.factor[i].size;
        digit.coordinate_stride = along;
        digit.logical_stride = along * row_major;
        along *= digit.size;
      }
      row_major *= extents_[axis];
    }
    for (int i = pattern.factors - 1; i >= 0; --i) {
      region.memory_order[i] = pattern.memory_order[i];
      Digit& digit = region.digit[pattern.memory_order[i]];
      digit.memory_stride = region.units;
      region.units *= digit.size;
    }
    return region;
  }

  // Puts each leading index's remainder behind its main units.
  constexpr void Interleave(Region* main, Region* remainder) {
    int shared = 0;
    while (shared < main->digits && shared < remainder->digits) {
      const Digit& a = main->digit[main->memory_order[shared]];
      const Digit& b = remainder->digit[remainder->memory_order[shared]];
      if (!(a.name == b.name) || a.axis != b.axis || a.size != b.size ||
          a.axis == bound().split_axis_) {
        break;
      }
      ++shared;
    }
    std::int64_t leads = 1;
    for (int i = 0; i < shared; ++i) leads *= main->digit[main->memory_order[i]].size;
    const std::int64_t main_units = main->units / leads;
    const std::int64_t lead_units = main_units + remainder->units / leads;
    std::int64_t stride = lead_units;
    for (int i = shared - 1; i >= 0; --i) {
      Digit& digit = main->digit[main->memory_order[i]];
      digit.memory_stride = stride;
      remainder->digit[remainder->memory_order[i]].memory_stride = stride;
      stride *= digit.size;
    }
    remainder->memory_base = main_units;
    bound().lead_units_ = lead_units;
  }

  constexpr void AddRegion(const Region& region) {
    if (region.units > 0) bound().region_[bound().regions_++] = region;
  }

  const Layout& layout_;
  const std::int64_t* extents_;
  int count_;
  BindResult result_;
};

constexpr BindResult BindLayout(const Layout& layout, const std::int64_t* extents, int count) {
  return LayoutBinder(layout, extents, count).Bind();
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_BOUND_LAYOUT_H_
