#include "layouts/bind.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "layouts/fault_text.h"

namespace lanewise {
namespace {

absl::Status BindError(const Layout& layout, const BindResult& result) {
  const auto axis_text = [&] {
    return absl::StrCat("axis ", AbslView(layout.main.axis_name[result.axis].view()), " has ",
                        result.found, " units");
  };
  std::string what;
  switch (result.fault) {
    case BindFault::kNone:
      return absl::OkStatus();
    case BindFault::kParameterMissing:
      what = absl::StrCat("its parameter ", AbslView(result.name.view()), " has no value");
      break;
    case BindFault::kWrongAxisCount:
      what =
          absl::StrCat("it has ", result.expected, " axes, ", result.found, " extents were given");
      break;
    case BindFault::kNegativeExtent:
      what = absl::StrCat(axis_text(), ", expected none or more");
      break;
    case BindFault::kNotAMultiple:
      what = absl::StrCat(axis_text(), ", expected a multiple of ", result.expected);
      if (result.remainder > 0) {
        absl::StrAppend(&what, ", or such a multiple plus ", result.remainder);
      }
      break;
    case BindFault::kNotTheExactExtent:
      what = absl::StrCat(axis_text(), ", expected exactly ", result.expected);
      break;
    case BindFault::kTooLarge:
      what = absl::StrCat(axis_text(), ", and the whole has more than 2^63 - 1");
      break;
  }
  return InvalidArgument("layout ", layout.tag, " does not fit: ", what);
}

}  // namespace

absl::StatusOr<BoundLayout> Bind(const Layout& layout, std::span<const std::int64_t> extents) {
  const BindResult result = BindLayout(layout, extents.data(), static_cast<int>(extents.size()));
  if (result.fault != BindFault::kNone) return BindError(layout, result);
  return result.layout;
}

absl::StatusOr<Pattern> ParsePatternText(std::string_view text) {
  const PatternParse parse = ParsePattern(text);
  if (parse.fault == PatternFault::kNone) return parse.pattern;
  return InvalidArgument("pattern \"", text, "\": ", FaultText(parse.fault), ", at character ",
                         parse.position);
}

std::string PatternText(const Pattern& pattern) {
  std::string text;
  for (int axis = 0; axis < pattern.axes; ++axis) {
    const int first = pattern.FirstFactor(axis);
    const int end = pattern.EndFactor(axis);
    const bool bare = end - first == 1 && pattern.factor[first].name == pattern.axis_name[axis];
    if (axis > 0) text += " ";
    if (!bare) absl::StrAppend(&text, AbslView(pattern.axis_name[axis].view()), "(");
    for (int i = first; i < end; ++i) {
      const Factor& factor = pattern.factor[i];
      absl::StrAppend(&text, i > first ? " " : "", AbslView(factor.name.view()));
      if (!factor.parameter.empty()) {
        absl::StrAppend(&text, ":", AbslView(factor.parameter.view()));
      } else if (!factor.IsOpen()) {
        absl::StrAppend(&text, ":", factor.size);
      }
    }
    if (!bare) text += ")";
  }
  text += " ->";
  for (int i = 0; i < pattern.factors; ++i) {
    absl::StrAppend(&text, " ", AbslView(pattern.factor[pattern.memory_order[i]].name.view()));
  }
  return text;
}

absl::StatusOr<std::int64_t> OffsetOf(const BoundLayout& layout,
                                      std::span<const std::int64_t> coordinate) {
  if (static_cast<int>(coordinate.size()) != layout.axes()) {
    return InvalidArgument("a coordinate of ", coordinate.size(), " values for a layout of ",
                           layout.axes(), " axes");
  }
  for (int axis = 0; axis < layout.axes(); ++axis) {
    if (coordinate[axis] < 0 || coordinate[axis] >= layout.extent(axis)) {
      return absl::OutOfRangeError(absl::StrCat("coordinate ", coordinate[axis], " of axis ", axis,
                                                " is outside 0 .. ", layout.extent(axis) - 1));
    }
  }
  return layout.Offset(coordinate.data());
}

absl::StatusOr<std::int64_t> LogicalIndexAt(const BoundLayout& layout, std::int64_t offset) {
  if (offset < 0 || offset >= layout.units()) {
    return absl::OutOfRangeError(
        absl::StrCat("offset ", offset, " is outside 0 .. ", layout.units() - 1));
  }
  std::int64_t coordinate[kMaxAxes];
  layout.Coordinate(offset, coordinate);
  return layout.LogicalIndex(coordinate);
}

std::string FactorText(const BoundLayout& layout, std::span<const std::int64_t> coordinate) {
  const Region& region = layout.RegionOf(coordinate.data());
  std::int64_t rest = layout.Offset(coordinate.data()) - region.memory_base;
  std::string text;
  for (int i = 0; i < region.digits; ++i) {
    const Digit& digit = region.digit[region.memory_order[i]];
    absl::StrAppend(&text, text.empty() ? "" : " ", AbslView(digit.name.view()), "=",
                    rest / digit.memory_stride);
    rest %= digit.memory_stride;
  }
  if (region.memory_base > 0) text += " (remainder)";
  return text;
}

}  // namespace lanewise
