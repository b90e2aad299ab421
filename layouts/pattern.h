#ifndef LANEWISE_LAYOUTS_PATTERN_H_
#define LANEWISE_LAYOUTS_PATTERN_H_

// A byte order as one line of text. For example, the order in which the gfx942 GEMV reads its
// weights:
//
//   row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> tile step half group r block byte
//
// Left of the arrow stand the logical axes, outermost first: here a matrix indexed [row][k]. Each
// axis is split into named factors, outermost first, so that row = 16 tile + r and
// k = 128 step + 64 half + 32 block + 8 group + byte. Right of the arrow stands the order of the
// same factors in memory, outermost first: `byte` runs fastest.
//
//   r:16           a factor of 16 values
//   tile           an open factor: as many values as the axis has room for; only as the outermost
//                  of its axis
//   block:blocks   a factor whose size, the parameter `blocks`, is given when the pattern is bound
//   row(...)       an axis called row
//   byte, half:2   an axis of one factor, which gives it its name
//
// A pattern is a bijection by construction: every factor stands exactly once on each side. It is
// parsed at compile time, and a wrong one does not compile; the error names a function of
// pattern_error (layouts/pattern_fault.h), which says what is wrong. ParsePattern does the same for
// text known only at run time. How the lanes of a wave read the order is a second line:
// layouts/lanes.h.
//
// Everything here is constexpr and data: usable on the host, in device code, and as a template
// argument.

#include <cstdint>
#include <string_view>

#include "layouts/pattern_fault.h"
#include "layouts/pattern_scanner.h"

namespace lanewise {

inline constexpr int kMaxAxes = 4;
inline constexpr int kMaxFactors = 12;

struct Factor {
  Name name;
  int axis = 0;
  std::int64_t size = 0;  // 0: open, or given by `parameter` when the pattern is bound
  Name parameter;         // empty unless the size is a parameter

  constexpr bool IsOpen() const { return size == 0 && parameter.empty(); }
};

struct PatternParse;

struct Pattern {
  int axes = 0;
  int factors = 0;
  Name axis_name[kMaxAxes];
  Factor factor[kMaxFactors];          // as on the left: axis by axis, outermost first
  int memory_order[kMaxFactors] = {};  // indices into `factor`, outermost in memory first

  constexpr Pattern() = default;

  // From a literal, at compile time; a fault in it is a compile error that names the fault.
  template <int kLength>
  consteval Pattern(const char (&text)[kLength]);  // NOLINT(google-explicit-constructor)

  // The index of the factor or axis of this name, or -1.
  constexpr int FactorNamed(std::string_view name) const {
    for (int i = 0; i < factors; ++i) {
      if (factor[i].name.view() == name) return i;
    }
    return -1;
  }
  constexpr int AxisNamed(std::string_view name) const {
    for (int i = 0; i < axes; ++i) {
      if (axis_name[i].view() == name) return i;
    }
    return -1;
  }

  // Where the factor stands in memory_order.
  constexpr int MemoryPosition(int i) const {
    int position = 0;
    while (memory_order[position] != i) ++position;
    return position;
  }

  // The index of the axis's first (outermost) factor, and one past its last.
  constexpr int FirstFactor(int axis) const {
    int i = 0;
    while (factor[i].axis < axis) ++i;
    return i;
  }
  constexpr int EndFactor(int axis) const {
    int i = FirstFactor(axis);
    while (i < factors && factor[i].axis == axis) ++i;
    return i;
  }

  // Whether the axis takes extents of any number of its fixed factors' product, and that product;
  // of a pattern whose parameters have sizes.
  constexpr bool HasOpenFactor(int axis) const { return factor[FirstFactor(axis)].IsOpen(); }
  constexpr std::int64_t FixedSize(int axis) const {
    std::int64_t size = 1;
    for (int i = FirstFactor(axis); i < EndFactor(axis); ++i) {
      if (!factor[i].IsOpen()) size *= factor[i].size;
    }
    return size;
  }

  // The same pattern with the parameter given this size. Other parameters stay.
  constexpr Pattern WithParameter(std::string_view parameter, std::int64_t size) const {
    Pattern result = *this;
    for (int i = 0; i < factors; ++i) {
      if (!factor[i].parameter.empty() && factor[i].parameter.view() == parameter) {
        result.factor[i].size = size;
        result.factor[i].parameter = Name();
      }
    }
    return result;
  }
};

struct PatternParse {
  Pattern pattern;
  PatternFault fault = PatternFault::kNone;
  int position = 0;  // where in the text the fault was noticed, counted from 0
};

namespace internal {

class PatternParser {
 public:
  constexpr explicit PatternParser(std::string_view text) : scan_(text) {}

  constexpr PatternParse Parse() {
    while (scan_.ok() && !AtArrow()) ParseAxis();
    if (scan_.ok()) ParseMemoryOrder();
    return {pattern_, scan_.fault(), scan_.fault_position()};
  }

 private:
  // Consumes "->". Text that ends before one is a fault.
  constexpr bool AtArrow() {
    scan_.SkipSpaces();
    if (scan_.AtEnd()) {
      scan_.Fail(PatternFault::kArrowExpected, scan_.at());
      return false;
    }
    if (!scan_.Eat('-')) return false;
    if (!scan_.Eat('>')) scan_.Fail(PatternFault::kArrowExpected, scan_.at());
    return true;
  }

  // name, name:16 or name:parameter, as the next factor of axis pattern_.axes.
  constexpr void ParseFactor(Name name, int begin, bool outermost) {
    if (pattern_.FactorNamed(name.view()) >= 0) {
      return scan_.Fail(PatternFault::kFactorNamedTwiceOnTheLeft, begin);
    }
    if (pattern_.factors == kMaxFactors) return scan_.Fail(PatternFault::kTooManyFactors, begin);
    Factor factor;
    factor.name = name;
    factor.axis = pattern_.axes;
    if (scan_.Eat(':')) {
      scan_.SkipSpaces();
      if (scan_.SeesName()) {
        factor.parameter = scan_.ParseName();
      } else {
        factor.size = scan_.ParseSize();
      }
    }
    if (factor.IsOpen() && !outermost) {
      return scan_.Fail(PatternFault::kOnlyTheOutermostFactorMayBeOpen, begin);
    }
    pattern_.factor[pattern_.factors++] = factor;
  }

  constexpr void ParseAxis() {
    scan_.SkipSpaces();
    const int begin = scan_.at();
    const Name name = scan_.ParseName();
    if (!scan_.ok()) return;
    if (pattern_.AxisNamed(name.view()) >= 0) {
      return scan_.Fail(PatternFault::kAxisNamedTwice, begin);
    }
    if (pattern_.axes == kMaxAxes) return scan_.Fail(PatternFault::kTooManyAxes, begin);
    if (scan_.Eat('(')) {
      const int first = pattern_.factors;
      while (true) {
        scan_.SkipSpaces();
        if (scan_.Eat(')')) break;
        if (scan_.AtEnd() || scan_.Sees('-') || scan_.Sees('(')) {
          return scan_.Fail(PatternFault::kUnbalancedParenthesis, begin);
        }
        const int factor_begin = scan_.at();
        const Name factor_name = scan_.ParseName();
        if (!scan_.ok()) return;
        ParseFactor(factor_name, factor_begin, pattern_.factors == first);
        if (!scan_.ok()) return;
      }
      if (pattern_.factors == first) {
        return scan_.Fail(PatternFault::kNameExpected, scan_.at() - 1);
      }
    } else {
      ParseFactor(name, begin, true);
    }
    if (scan_.Sees(')')) return scan_.Fail(PatternFault::kUnbalancedParenthesis, scan_.at());
    pattern_.axis_name[pattern_.axes++] = name;
  }

  constexpr void ParseMemoryOrder() {
    bool placed[kMaxFactors] = {};
    int count = 0;
    for (scan_.SkipSpaces(); !scan_.AtEnd(); scan_.SkipSpaces()) {
      const int begin = scan_.at();
      const Name name = scan_.ParseName();
      if (!scan_.ok()) return;
      const int factor = pattern_.FactorNamed(name.view());
      if (factor < 0) return scan_.Fail(PatternFault::kFactorOnTheRightIsNotOnTheLeft, begin);
      if (placed[factor]) return scan_.Fail(PatternFault::kFactorNamedTwiceOnTheRight, begin);
      placed[factor] = true;
      pattern_.memory_order[count++] = factor;
    }
    if (count != pattern_.factors || count == 0) {
      scan_.Fail(PatternFault::kFactorMissingOnTheRight, scan_.at());
    }
  }

  PatternScanner scan_;
  Pattern pattern_;
};

}  // namespace internal

// Parses `text`; on a fault the result's pattern is unspecified.
constexpr PatternParse ParsePattern(std::string_view text) {
  return internal::PatternParser(text).Parse();
}

template <int kLength>
consteval Pattern::Pattern(const char (&text)[kLength]) {
  const PatternParse parse = ParsePattern(std::string_view(text, kLength - 1));
  internal::ReportFault(parse.fault);
  *this = parse.pattern;
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_PATTERN_H_
