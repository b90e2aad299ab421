#include "layouts/bound_lanes.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "layouts/fault_text.h"

namespace lanewise {
namespace {

// Whether the region's digits are the pattern's factors.
bool IsOf(const Region& region, const Pattern& pattern) {
  if (region.digits != pattern.factors) return false;
  for (int i = 0; i < region.digits; ++i) {
    const Factor& factor = pattern.factor[i];
    if (!(region.digit[i].name == factor.name)) return false;
    if (!factor.IsOpen() && region.digit[i].size != factor.size) return false;
  }
  return true;
}

absl::StatusOr<BoundLanes::Reading> Read(const Layout& layout, const Region& region) {
  BoundLanes::Reading reading;
  reading.region = region;
  reading.is_remainder = !IsOf(region, layout.main);
  const Pattern& pattern = reading.is_remainder ? layout.remainder : layout.main;
  const Lanes& lanes = reading.is_remainder ? layout.remainder_lanes : layout.lanes;
  if (lanes.parts == 0) {
    return InvalidArgument("layout ", layout.tag, " does not say how lanes read it",
                           reading.is_remainder ? " in its remainder" : "");
  }
  LaneFit& fit = reading.fit;
  fit = FitLanes(pattern, lanes);
  if (fit.fault != PatternFault::kNone) {
    return InvalidArgument("layout ", layout.tag,
                           ": its lanes do not read its pattern: ", FaultText(fit.fault), ": ",
                           fit.name.view());
  }
  for (int i = 0; i < fit.digits; ++i) {
    LaneDigit& digit = fit.digit[i];
    if (digit.factor < 0 || digit.size > 0) continue;
    const Digit& factor = region.digit[digit.factor];
    if (factor.size % digit.weight != 0) {
      return InvalidArgument("lanes of ", layout.tag, " take ", digit.weight, " values of ",
                             factor.name.view(), " at a time: the extents give it ", factor.size,
                             ", expected a multiple");
    }
    digit.size = factor.size / digit.weight;
  }
  reading.lanes = fit.Count(LaneRole::kLane);
  reading.tiles = fit.Count(LaneRole::kTile);
  reading.loads = fit.Count(LaneRole::kLoad);
  reading.load_units = fit.Count(LaneRole::kUnit);
  reading.shared = 1;
  for (int i = 0; i < fit.digits; ++i) {
    if (fit.digit[i].factor < 0) reading.shared *= fit.digit[i].size;
  }
  reading.is_without_gap = WaveLoadIsContiguous(pattern, fit);
  return reading;
}

std::int64_t* CountOf(LanePlace* place, LaneRole role) {
  switch (role) {
    case LaneRole::kLane:
      return &place->lane;
    case LaneRole::kLoad:
      return &place->load;
    case LaneRole::kUnit:
      return &place->unit;
    case LaneRole::kTile:
      return &place->tile;
  }
  return &place->tile;
}

}  // namespace

const BoundLanes::Reading& BoundLanes::ReadingOf(bool is_remainder) const {
  for (const Reading& reading : readings_) {
    if (reading.is_remainder == is_remainder) return reading;
  }
  return readings_.front();
}

std::int64_t BoundLanes::Offset(const LanePlace& place) const {
  const Reading& reading = ReadingOf(place.is_remainder);
  LanePlace left = place;  // of each count what the digits further in have not taken
  std::int64_t offset = reading.region.memory_base;
  for (int i = reading.fit.digits - 1; i >= 0; --i) {
    const LaneDigit& digit = reading.fit.digit[i];
    std::int64_t* const count = CountOf(&left, digit.role);
    if (digit.factor >= 0) {
      offset +=
          *count % digit.size * digit.weight * reading.region.digit[digit.factor].memory_stride;
    }
    *count /= digit.size;
  }
  return offset;
}

LanePlace BoundLanes::At(std::int64_t offset) const {
  const Region& region = bound_.RegionAt(offset);
  const Reading& reading =
      readings_.size() == 1 || region.memory_base == readings_[0].region.memory_base
          ? readings_.front()
          : readings_.back();
  std::int64_t value[kMaxFactors] = {};
  offset -= region.memory_base;
  for (int i = 0; i < region.digits; ++i) {
    const int factor = region.memory_order[i];
    value[factor] = offset / region.digit[factor].memory_stride;
    offset %= region.digit[factor].memory_stride;
  }
  LanePlace place;
  place.is_remainder = reading.is_remainder;
  for (int i = 0; i < reading.fit.digits; ++i) {
    const LaneDigit& digit = reading.fit.digit[i];
    std::int64_t* const count = CountOf(&place, digit.role);
    *count *= digit.size;
    if (digit.factor >= 0) *count += value[digit.factor] / digit.weight % digit.size;
  }
  return place;
}

std::vector<std::int64_t> BoundLanes::LanesWith(const LanePlace& place) const {
  const std::int64_t offset = Offset(place);
  std::vector<std::int64_t> lanes;
  LanePlace other = place;
  for (other.lane = 0; other.lane < ReadingOf(place.is_remainder).lanes; ++other.lane) {
    if (Offset(other) == offset) lanes.push_back(other.lane);
  }
  return lanes;
}

std::int64_t BoundLanes::LinesPerLoad(const LanePlace& load, std::int64_t line_units) const {
  const Reading& reading = ReadingOf(load.is_remainder);
  std::set<std::int64_t> lines;
  LanePlace place = load;
  for (place.lane = 0; place.lane < reading.lanes; ++place.lane) {
    for (place.unit = 0; place.unit < reading.load_units; ++place.unit) {
      lines.insert(Offset(place) / line_units);
    }
  }
  return std::ssize(lines);
}

absl::StatusOr<BoundLanes> BindLanes(const Layout& layout, const BoundLayout& bound) {
  BoundLanes lanes;
  lanes.bound_ = bound;
  for (int i = 0; i < bound.regions(); ++i) {
    LANEWISE_ASSIGN_OR_RETURN(BoundLanes::Reading reading, Read(layout, bound.region(i)));
    lanes.readings_.push_back(reading);
  }
  if (lanes.readings_.empty()) {
    return InvalidArgument("layout ", layout.tag, ": there is nothing to read: an extent is 0");
  }
  return lanes;
}

absl::StatusOr<Lanes> ParseLanesText(std::string_view text) {
  const LanesParse parse = ParseLanes(text);
  if (parse.fault == PatternFault::kNone) return parse.lanes;
  return InvalidArgument("lanes \"", text, "\": ", FaultText(parse.fault), ", at character ",
                         parse.position);
}

std::string LanesText(const Lanes& lanes) {
  if (lanes.parts == 0) return "";
  std::string text;
  bool has_loads = false;
  for (int i = 0; i < lanes.parts; ++i) has_loads |= lanes.part[i].role == LaneRole::kLoad;
  for (const LaneRole role : {LaneRole::kLane, LaneRole::kLoad, LaneRole::kUnit}) {
    if (role == LaneRole::kLoad && !has_loads) continue;
    absl::StrAppend(&text, role == LaneRole::kLane   ? "lane("
                           : role == LaneRole::kLoad ? " load("
                           : lanes.units_are_bytes   ? " byte("
                                                     : " unit(");
    std::string_view separator;
    for (int i = 0; i < lanes.parts; ++i) {
      const LanePart& part = lanes.part[i];
      if (part.role != role) continue;
      absl::StrAppend(&text, AbslView(separator), AbslView(part.name.view()));
      if (part.size > 0) absl::StrAppend(&text, ":", part.size);
      separator = " ";
    }
    text += ")";
  }
  return text;
}

std::string LoadWords(const Layout& layout, const BoundLanes::Reading& reading) {
  const std::int64_t bits = UnitBits(layout.unit);
  const std::int64_t of_all = reading.lanes / reading.shared * reading.load_units * bits / 8;
  std::string text = absl::StrCat(reading.lanes, " lanes, loads of ", reading.load_units * bits / 8,
                                  " bytes, ", of_all, " of all lanes");
  absl::StrAppend(&text, reading.is_without_gap ? " without a gap" : " with gaps");
  if (reading.shared > 1) absl::StrAppend(&text, "; ", reading.shared, " lanes share a load");
  return text;
}

}  // namespace lanewise
