#ifndef LANEWISE_LAYOUTS_LANES_H_
#define LANEWISE_LAYOUTS_LANES_H_

// How the lanes of a wave read a byte order, as a second line of text beside its pattern
// (layouts/pattern.h). For example, of
//
//   row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> tile step half group r block byte
//
// the gfx942 GEMV's 64 lanes take
//
//   lane(group:4 r:16) load(step half) byte(block byte)
//
// that is: lane 16 group + r; its load number 2 step + half; and in a load the 16 bytes that
// `block` and `byte` count. A factor that no section names (`tile`) is the wave's own: the kernel
// chooses it, and what one value of it owns in memory is a tile.
//
//   lane(...)      which lane, outermost factor first: its number counts them like digits
//   load(...)      which of the lane's loads, likewise; left out where there is only one
//   byte(...)      which unit of the load; written unit(...) where a unit is no byte
//   group          all of a factor, or all that parts with sizes leave of it
//   group:4        4 values of a factor: all of them if it has no more; of one that is larger or
//                  open the innermost. Several parts of a factor stand outermost first:
//                  `lane(r:4) byte(r:2)` has lane r / 2 and byte r % 2 of a factor r:8. What no
//                  section takes of it is the tile's
//   column:16      in lane(...), a name that is no factor: lanes that differ in it read the same
//
// Everything else follows: the offset of each lane's loads and how wide they are (LaneIndex of
// layouts/lane_index.h, for kernels), who reads a given byte (layouts/bound_lanes.h), and whether
// one load of the wave is one piece of memory.
//
// A pattern and its lanes are right when every lane's load is contiguous and the tile is one piece
// of memory. Then all lanes by all loads by all bytes hit each byte of the tile once (once for each
// value of what lanes share). Wrong lanes do not compile: the error names a function of
// pattern_error (layouts/pattern_fault.h).

#include <cstdint>
#include <limits>
#include <string_view>

#include "layouts/pattern.h"
#include "layouts/pattern_fault.h"
#include "layouts/pattern_scanner.h"

namespace lanewise {

enum class LaneRole { kLane, kLoad, kUnit, kTile };

// One word of the text.
struct LanePart {
  Name name;
  LaneRole role = LaneRole::kLane;
  std::int64_t size = 0;  // 0: none is written
};

struct Lanes {
  int parts = 0;  // 0: how the order is read is not said
  LanePart part[kMaxFactors];
  bool units_are_bytes = true;  // the last section is written byte(...), not unit(...)

  constexpr Lanes() = default;

  // From a literal, at compile time; a fault in it is a compile error that names the fault.
  template <int kLength>
  consteval Lanes(const char (&text)[kLength]);  // NOLINT(google-explicit-constructor)
};

struct LanesParse {
  Lanes lanes;
  PatternFault fault = PatternFault::kNone;
  int position = 0;  // where in the text the fault was noticed, counted from 0
};

// Parses `text`; on a fault the result's lanes are unspecified.
constexpr LanesParse ParseLanes(std::string_view text);

// A part of a factor, and what counts it: one word of the text, or what no section names.
struct LaneDigit {
  int factor = -1;  // of the pattern; -1: lanes that differ in it read the same
  LaneRole role = LaneRole::kTile;
  std::int64_t size = 0;    // 0: as many as the factor has room for
  std::int64_t weight = 0;  // one more of it is so many more of the factor
};

// Lanes held against the pattern that they read.
struct LaneFit {
  PatternFault fault = PatternFault::kNone;
  Name name;       // that the fault is about, where it is about one
  int digits = 0;  // first those of the text in its order, then the tile's
  LaneDigit digit[2 * kMaxFactors];

  // The number of values of a role's digits, of which none may be open; of lanes, their number.
  constexpr std::int64_t Count(LaneRole role) const {
    std::int64_t count = 1;
    for (int i = 0; i < digits; ++i) {
      if (digit[i].role == role) count *= digit[i].size;
    }
    return count;
  }
};

// The digits, or the first fault. Parameters of the pattern may be without a size.
constexpr LaneFit FitLanes(const Pattern& pattern, const Lanes& lanes);

// Whether one load of all lanes is one piece of memory, without a gap and in whatever order.
constexpr bool WaveLoadIsContiguous(const Pattern& pattern, const LaneFit& fit);

// ---- details ----

namespace internal {

class LanesParser {
 public:
  constexpr explicit LanesParser(std::string_view text) : scan_(text) {}

  constexpr LanesParse Parse() {
    Name section = NextSection();
    if (scan_.ok() && section.view() != "lane") {
      scan_.Fail(PatternFault::kLaneSectionExpected, section_at_);
    }
    ParseParts(LaneRole::kLane);
    if (scan_.ok()) section = NextSection();
    if (scan_.ok() && section.view() == "load") {
      ParseParts(LaneRole::kLoad);
      if (scan_.ok()) section = NextSection();
    }
    lanes_.units_are_bytes = section.view() == "byte";
    if (scan_.ok() && !lanes_.units_are_bytes && section.view() != "unit") {
      scan_.Fail(PatternFault::kUnitSectionExpected, section_at_);
    }
    ParseParts(LaneRole::kUnit);
    scan_.SkipSpaces();
    if (!scan_.AtEnd()) scan_.Fail(PatternFault::kTextBehindTheLanes, scan_.at());
    return {lanes_, scan_.fault(), scan_.fault_position()};
  }

 private:
  // The name that opens a section; empty at the end of the text.
  constexpr Name NextSection() {
    scan_.SkipSpaces();
    section_at_ = scan_.at();
    return scan_.AtEnd() ? Name() : scan_.ParseName();
  }

  constexpr void ParseParts(LaneRole role) {
    if (!scan_.ok()) return;
    if (!scan_.Eat('(')) return scan_.Fail(PatternFault::kUnbalancedParenthesis, scan_.at());
    for (scan_.SkipSpaces(); !scan_.Eat(')'); scan_.SkipSpaces()) {
      if (scan_.AtEnd() || scan_.Sees('(')) {
        return scan_.Fail(PatternFault::kUnbalancedParenthesis, section_at_);
      }
      const int begin = scan_.at();
      LanePart part;
      part.name = scan_.ParseName();
      part.role = role;
      if (scan_.ok() && scan_.Eat(':')) part.size = scan_.ParseSize();
      if (!scan_.ok()) return;
      if (lanes_.parts == kMaxFactors) return scan_.Fail(PatternFault::kTooManyFactors, begin);
      lanes_.part[lanes_.parts++] = part;
    }
  }

  PatternScanner scan_;
  int section_at_ = 0;
  Lanes lanes_;
};

class LaneFitter {
 public:
  constexpr LaneFitter(const Pattern& pattern, const Lanes& lanes)
      : pattern_(pattern), lanes_(lanes) {}

  constexpr LaneFit Fit() {
    for (int i = 0; i < lanes_.parts; ++i) AddPart(i);
    for (int factor = 0; factor < pattern_.factors; ++factor) AddRest(factor);
    if (fit_.fault == PatternFault::kNone) CheckOrder();
    return fit_;
  }

 private:
  constexpr void Fail(PatternFault fault, const Name& name) {
    if (fit_.fault != PatternFault::kNone) return;
    fit_.fault = fault;
    fit_.name = name;
  }

  constexpr std::int64_t Product(std::int64_t sizes, const LanePart& part) {
    if (sizes <= std::numeric_limits<std::int64_t>::max() >> 34) return sizes * part.size;
    Fail(PatternFault::kSizeTooLarge, part.name);
    return sizes;
  }

  constexpr void AddPart(int i) {
    const LanePart& part = lanes_.part[i];
    LaneDigit digit;
    digit.factor = pattern_.FactorNamed(part.name.view());
    digit.role = part.role;
    digit.size = part.size;
    if (digit.factor < 0) {
      if (part.role != LaneRole::kLane || part.size == 0) {
        Fail(PatternFault::kNotAFactorOfThePattern, part.name);
      }
    } else {
      digit.weight = SizesBeside(i);
      if (part.size == 0) digit.size = WholeSize(i, digit);
    }
    fit_.digit[fit_.digits++] = digit;
  }

  // How much of the factor lies inside of a part: the parts with sizes behind it; of a part
  // without, all of them.
  constexpr std::int64_t SizesBeside(int i) {
    const LanePart& part = lanes_.part[i];
    std::int64_t sizes = 1;
    for (int other = part.size == 0 ? 0 : i + 1; other < lanes_.parts; ++other) {
      if (other == i || !(lanes_.part[other].name == part.name)) continue;
      if (lanes_.part[other].size > 0) {
        sizes = Product(sizes, lanes_.part[other]);
      } else if (part.size == 0) {
        Fail(PatternFault::kTwoPartsWithoutSize, part.name);
      }
    }
    return sizes;
  }

  // The size of a part that is written without one, or 0 where the factor has none.
  constexpr std::int64_t WholeSize(int i, const LaneDigit& digit) {
    const LanePart& part = lanes_.part[i];
    const Factor& factor = pattern_.factor[digit.factor];
    if (factor.IsOpen() && part.role != LaneRole::kLoad) {
      Fail(PatternFault::kOpenFactorInLaneOrUnit, part.name);
    }
    if (factor.size == 0) return 0;
    if (factor.size % digit.weight != 0) {
      Fail(PatternFault::kPartsDoNotDivideTheFactor, part.name);
    }
    return factor.size / digit.weight;
  }

  // What no part takes of the factor is the tile's.
  constexpr void AddRest(int i) {
    const Factor& factor = pattern_.factor[i];
    std::int64_t taken = 1;
    for (int part = 0; part < lanes_.parts; ++part) {
      if (lanes_.part[part].name == factor.name) taken = Product(taken, lanes_.part[part]);
    }
    if (taken == 0) return;  // a part without a size takes all that others leave
    if (factor.size > 0 && factor.size % taken != 0) {
      Fail(PatternFault::kPartsDoNotDivideTheFactor, factor.name);
    }
    if (factor.size > 0 && factor.size == taken) return;
    fit_.digit[fit_.digits++] = {i, LaneRole::kTile, factor.size / taken, taken};
  }

  // Whether `a` lies outside of `b` in memory.
  constexpr bool IsOutside(const LaneDigit& a, const LaneDigit& b) const {
    if (a.factor == b.factor) return a.weight > b.weight;
    return pattern_.MemoryPosition(a.factor) < pattern_.MemoryPosition(b.factor);
  }

  constexpr void CheckOrder() {
    const LaneDigit* before = nullptr;  // the unit digit before this one in the text
    for (int i = 0; i < fit_.digits; ++i) {
      const LaneDigit& digit = fit_.digit[i];
      if (digit.factor < 0 || digit.role == LaneRole::kTile) continue;
      const Name& name = pattern_.factor[digit.factor].name;
      for (int j = 0; j < fit_.digits; ++j) {
        const LaneDigit& other = fit_.digit[j];
        if (other.role == LaneRole::kTile && !IsOutside(other, digit)) {
          Fail(PatternFault::kTileInsideALoad, pattern_.factor[other.factor].name);
        }
        if (digit.role == LaneRole::kUnit && other.role != LaneRole::kUnit && other.factor >= 0 &&
            !IsOutside(other, digit)) {
          Fail(PatternFault::kLoadNotContiguous, name);
        }
      }
      if (digit.role != LaneRole::kUnit) continue;
      if (before != nullptr && !IsOutside(*before, digit)) {
        Fail(PatternFault::kLoadNotContiguous, name);
      }
      before = &digit;
    }
  }

  const Pattern& pattern_;
  const Lanes& lanes_;
  LaneFit fit_;
};

}  // namespace internal

constexpr LanesParse ParseLanes(std::string_view text) {
  return internal::LanesParser(text).Parse();
}

template <int kLength>
consteval Lanes::Lanes(const char (&text)[kLength]) {
  const LanesParse parse = ParseLanes(std::string_view(text, kLength - 1));
  internal::ReportFault(parse.fault);
  *this = parse.lanes;
}

constexpr LaneFit FitLanes(const Pattern& pattern, const Lanes& lanes) {
  return internal::LaneFitter(pattern, lanes).Fit();
}

constexpr bool WaveLoadIsContiguous(const Pattern& pattern, const LaneFit& fit) {
  // A load's digits may not lie inside of a lane's; the tile's lie outside of all.
  for (int i = 0; i < fit.digits; ++i) {
    if (fit.digit[i].role != LaneRole::kLane || fit.digit[i].factor < 0) continue;
    for (int j = 0; j < fit.digits; ++j) {
      if (fit.digit[j].role != LaneRole::kLoad || fit.digit[j].size == 1) continue;
      if (fit.digit[i].factor == fit.digit[j].factor) {
        if (fit.digit[j].weight < fit.digit[i].weight) return false;
      } else if (pattern.MemoryPosition(fit.digit[j].factor) >
                 pattern.MemoryPosition(fit.digit[i].factor)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_LANES_H_
