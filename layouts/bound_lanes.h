#ifndef LANEWISE_LAYOUTS_BOUND_LANES_H_
#define LANEWISE_LAYOUTS_BOUND_LANES_H_

// Which lane reads which unit of a bound layout, in which of its loads: a layout's lanes
// (layouts/lanes.h) over extents known at run time.
//
//   const auto bound = Bind(dense, {64, 256});
//   const auto lanes = BindLanes(dense, *bound);
//   lanes->At(1333);                              // tile 0, lane 19, load 1, unit 5
//   lanes->Offset({.tile = 0, .lane = 19, .load = 1, .unit = 5});       // 1333
//
// Law: At gives every offset below units() one place, and Offset of that place is the offset.
// Places run over all tiles, lanes that share nothing, loads and units of a load.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "layouts/bound_layout.h"
#include "layouts/lanes.h"
#include "layouts/layout.h"

namespace lanewise {

struct LanePlace {
  bool is_remainder = false;  // of the layout's remainder, which has loads of its own
  std::int64_t tile = 0;
  std::int64_t lane = 0;  // of lanes that read the same the lowest
  std::int64_t load = 0;
  std::int64_t unit = 0;

  friend bool operator==(const LanePlace&, const LanePlace&) = default;
};

class BoundLanes {
 public:
  // How the lanes read one region (see BoundLayout).
  struct Reading {
    bool is_remainder = false;
    LaneFit fit;  // every size known
    Region region;
    std::int64_t lanes = 0;   // of a wave
    std::int64_t shared = 0;  // how many of them read the same
    std::int64_t tiles = 0;
    std::int64_t loads = 0;  // of a lane in a tile
    std::int64_t load_units = 0;
    bool is_without_gap = false;
  };

  // The main region's, the remainder's or both, as the layout has them at its extents.
  const std::vector<Reading>& readings() const { return readings_; }
  const Reading& ReadingOf(bool is_remainder) const;

  // The place must be there, and the offset below the layout's units.
  std::int64_t Offset(const LanePlace& place) const;
  LanePlace At(std::int64_t offset) const;

  // The lanes that read what this one reads, itself among them, ascending.
  std::vector<std::int64_t> LanesWith(const LanePlace& place) const;

  // Cache lines of `line_units` units that a load of all lanes touches.
  std::int64_t LinesPerLoad(const LanePlace& load, std::int64_t line_units) const;

 private:
  friend absl::StatusOr<BoundLanes> BindLanes(const Layout& layout, const BoundLayout& bound);

  BoundLayout bound_;
  std::vector<Reading> readings_;
};

// Refuses a layout without lanes, lanes that do not fit it, and extents that are no multiple of
// what its lanes take of an axis; says which.
absl::StatusOr<BoundLanes> BindLanes(const Layout& layout, const BoundLayout& bound);

// Parses lanes (see layouts/lanes.h). InvalidArgument says what is wrong and at which character.
absl::StatusOr<Lanes> ParseLanesText(std::string_view text);

// The lanes in their own notation; empty without parts.
std::string LanesText(const Lanes& lanes);

// "64 lanes, loads of 16 bytes, 1024 of all lanes without a gap": a reading in a line.
std::string LoadWords(const Layout& layout, const BoundLanes::Reading& reading);

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_BOUND_LANES_H_
