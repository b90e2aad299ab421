#ifndef LANEWISE_LAYOUTS_LAYOUT_H_
#define LANEWISE_LAYOUTS_LAYOUT_H_

// A layout is all that there is to know of one byte order: its pattern, how lanes read it, what its
// units are, and the few words that say what it is for. The catalogue (layouts/catalogue.h) is a
// list of these; everything else asks them.

#include <cstdint>
#include <numeric>
#include <string_view>

#include "layouts/lanes.h"
#include "layouts/pattern.h"
#include "layouts/unit.h"

namespace lanewise {

// A pattern with the lanes that read it, for LaneIndex (layouts/lane_index.h).
struct LanePattern {
  Pattern pattern;
  Lanes lanes;
  int unit_bits = 8;
};

struct Layout {
  std::string_view tag;     // the name that prepared files carry, such as "gfx942/dense"
  Unit unit = Unit::kByte;  // what one coordinate addresses
  Pattern main;
  Lanes lanes = {};            // how a kernel reads it; no parts: not said
  Pattern remainder = {};      // no factors: none. See BoundLayout for what it means
  Lanes remainder_lanes = {};  // how a kernel reads that
  Forbidden forbidden = Forbidden::kNothing;
  // What preparation pads axes to, where that is more than the pattern's multiple.
  std::int64_t padded_to[kMaxAxes] = {1, 1, 1, 1};
  int prepared_format = 0;  // the first format of prepared files that carries it; 0: none does
  std::string_view purpose = {};  // who reads it, and why it is so
  std::string_view source = {};   // where it is defined

  constexpr bool HasRemainder() const { return remainder.factors > 0; }
  constexpr bool HasLanes() const { return lanes.parts > 0; }

  constexpr LanePattern lane_pattern() const { return {main, lanes, UnitBits(unit)}; }
  constexpr LanePattern remainder_lane_pattern() const {
    return {remainder, remainder_lanes, UnitBits(unit)};
  }

  // What a stored axis is a multiple of, of a layout whose parameters have sizes: by its pattern,
  // its remainder and its padding.
  constexpr std::int64_t Multiple(int axis) const {
    std::int64_t multiple = main.FixedSize(axis);
    if (HasRemainder()) multiple = std::gcd(multiple, remainder.FixedSize(axis));
    return std::lcm(multiple, padded_to[axis]);
  }

  // The same layout with a parameter of its patterns given this size.
  constexpr Layout WithParameter(std::string_view parameter, std::int64_t size) const {
    Layout result = *this;
    result.main = main.WithParameter(parameter, size);
    result.remainder = remainder.WithParameter(parameter, size);
    return result;
  }
};

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_LAYOUT_H_
