#include "tests/differential/report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "layouts/bind.h"
#include "tests/differential/data.h"

namespace lanewise::differential {
namespace {

// What an axis is called whose extent is that expression: a padded one as the unpadded is.
std::string AxisName(std::string name) {
  constexpr std::string_view kRoundUp = "roundup(";
  const std::size_t at = name.find(kRoundUp);
  const std::size_t comma = name.rfind(',');
  if (at == std::string::npos || comma == std::string::npos) return name;
  const std::size_t end = name.find(')', comma);
  if (end == std::string::npos || at > comma) return name;
  return name.substr(0, at) + name.substr(at + kRoundUp.size(), comma - at - kRoundUp.size()) +
         name.substr(end + 1);
}

// Names and extents of an operand's axes, and the coordinate of each element.
class Axes {
 public:
  Axes(const Operand& operand, const Shape& shape) {
    if (operand.argument->layout) {
      absl::StatusOr<LayoutView> view = operand.argument->layout(shape);
      if (view.ok() && view->bound.units() > 0 && operand.elements % view->bound.units() == 0) {
        in_unit_ = operand.elements / view->bound.units();
        layout_ = *std::move(view);
      }
    }
    if (layout_) {
      for (int axis = 0; axis < layout_->bound.axes(); ++axis) {
        extents.push_back(layout_->bound.extent(axis));
        names.push_back(layout_->axes[static_cast<std::size_t>(axis)]);
      }
      if (in_unit_ > 1) {
        extents.push_back(in_unit_);
        names.push_back(in_unit_ == 2 ? "nibble" : "element");
      }
    } else {
      extents = operand.extents;
      for (const std::string& extent : operand.argument->extents) {
        names.push_back(AxisName(extent));
      }
    }
  }

  std::vector<std::int64_t> Coordinate(std::int64_t element) const {
    std::vector<std::int64_t> coordinate(extents.size());
    if (layout_) {
      layout_->bound.Coordinate(element / in_unit_, coordinate.data());
      if (in_unit_ > 1) coordinate.back() = element % in_unit_;
      return coordinate;
    }
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      coordinate[axis] = element % extents[axis];
      element /= extents[axis];
    }
    return coordinate;
  }

  std::string Factors(std::vector<std::int64_t> coordinate) const {
    if (!layout_) return "";
    coordinate.resize(static_cast<std::size_t>(layout_->bound.axes()));
    return absl::StrCat(" at ", FactorText(layout_->bound, coordinate));
  }

  std::vector<std::int64_t> extents;
  std::vector<std::string> names;

 private:
  std::optional<LayoutView> layout_;
  std::int64_t in_unit_ = 1;  // elements of a layout's unit
};

std::string ValueText(const std::string& format, std::uint32_t code) {
  const int digits = std::max(1, FormatBits(format) / 4);
  std::string text = absl::StrFormat("0x%0*X", digits, code);
  if (format[0] != 'u') absl::StrAppend(&text, absl::StrFormat(" (%.9g)", CodeValue(format, code)));
  return text;
}

// Codes on a line: those of formats with a sign run from the most negative to the most positive.
std::int64_t OnLine(const std::string& format, std::uint32_t code) {
  if (format[0] == 'u' || format == "e8m0" || format == "i32") return code;
  const std::uint32_t top = 1u << (FormatBits(format) - 1);
  const auto magnitude = static_cast<std::int64_t>(code & (top - 1));
  return (code & top) != 0 ? -magnitude : magnitude;
}

bool Differs(const Operand& expected, std::int64_t i, std::uint32_t want, std::uint32_t found) {
  const Argument& argument = *expected.argument;
  if (argument.contract == Contract::kBits || want == found) return want != found;
  const bool within = argument.contract == Contract::kWithin && expected.tolerance != nullptr;
  if (within && std::isinf(expected.tolerance[i])) return false;
  const bool want_nan = IsNanCode(argument.format, want);
  const bool found_nan = IsNanCode(argument.format, found);
  if (want_nan || found_nan) return want_nan != found_nan;
  if (argument.contract == Contract::kNumbers) return true;
  const double error = CodeValue(argument.format, found) - CodeValue(argument.format, want);
  const double tolerance = expected.tolerance == nullptr ? 0.0 : expected.tolerance[i];
  return !(std::fabs(error) <= tolerance);
}

}  // namespace

std::string IndicesText(std::string_view axis, const std::vector<bool>& flags) {
  const std::int64_t size = static_cast<std::int64_t>(flags.size());
  std::vector<std::int64_t> set;
  for (std::int64_t i = 0; i < size; ++i) {
    if (flags[static_cast<std::size_t>(i)]) set.push_back(i);
  }
  const std::int64_t count = static_cast<std::int64_t>(set.size());
  const std::string name(axis);
  if (count == 0) return absl::StrCat("no ", name);
  if (count == size) return absl::StrCat("all ", size, " ", name);
  if (count == 1) return absl::StrCat(name, " ", set[0], " only");
  if (set.back() - set.front() + 1 == count) {
    if (set.back() == size - 1) return absl::StrCat(name, " >= ", set.front(), " only");
    return absl::StrCat(name, " ", set.front(), "..", set.back(), " only");
  }
  std::string text = absl::StrCat(name, " ");
  for (std::int64_t i = 0; i < std::min<std::int64_t>(count, 6); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", set[static_cast<std::size_t>(i)]);
  }
  if (count > 6) text += ", ...";
  absl::StrAppend(&text, " (", count, " of ", size, ")");
  return text;
}

std::string PlaceText(const Operand& operand, const Shape& shape, std::int64_t element) {
  const Axes axes(operand, shape);
  const std::vector<std::int64_t> coordinate = axes.Coordinate(element);
  std::string text = "[";
  for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", axes.names[axis], " ", coordinate[axis]);
  }
  return absl::StrCat(text, "]", axes.Factors(coordinate));
}

Difference Compare(const Operand& expected, const void* got, const Shape& shape) {
  const Argument& argument = *expected.argument;
  Difference difference;
  if (expected.bytes == 0 ||
      std::memcmp(expected.data, got, static_cast<std::size_t>(expected.bytes)) == 0) {
    return difference;
  }
  const int bits = FormatBits(argument.format);
  const Axes axes(expected, shape);
  std::vector<std::vector<bool>> wrong;
  for (std::int64_t i = 0; i < expected.elements; ++i) {
    const std::uint32_t want = GetBits(bits, expected.data, i);
    const std::uint32_t found = GetBits(bits, got, i);
    if (want == found || !Differs(expected, i, want, found)) continue;
    if (difference.count++ == 0) {
      difference.first = i;
      for (const std::int64_t extent : axes.extents) {
        wrong.emplace_back(static_cast<std::size_t>(extent), false);
      }
    }
    const std::vector<std::int64_t> coordinate = axes.Coordinate(i);
    for (std::size_t axis = 0; axis < coordinate.size(); ++axis) {
      wrong[axis][static_cast<std::size_t>(coordinate[axis])] = true;
    }
  }
  if (difference.count == 0) {
    const std::int64_t padding = expected.elements * bits % 8;
    const std::size_t last = static_cast<std::size_t>(expected.bytes - 1);
    const std::uint8_t want = static_cast<const std::uint8_t*>(expected.data)[last];
    const std::uint8_t found = static_cast<const std::uint8_t*>(got)[last];
    if (padding != 0 && want >> padding != found >> padding) {
      difference.count = 1;
      difference.text = absl::StrFormat(
          "  %s: the %d padding bits behind the last of %d elements differ: expected 0x%X, got "
          "0x%X",
          argument.name, 8 - padding, expected.elements, want >> padding, found >> padding);
    }
    return difference;
  }

  difference.text = absl::StrCat("  ", argument.name, ": ", difference.count, " of ",
                                 expected.elements, " elements differ:");
  for (std::size_t axis = 0; axis < wrong.size(); ++axis) {
    absl::StrAppend(&difference.text, axis == 0 ? " " : "; ",
                    IndicesText(axes.names[axis], wrong[axis]));
  }
  const std::uint32_t want = GetBits(bits, expected.data, difference.first);
  const std::uint32_t found = GetBits(bits, got, difference.first);
  absl::StrAppend(&difference.text, "\n  the first: ", PlaceText(expected, shape, difference.first),
                  ": expected ", ValueText(argument.format, want), ", got ",
                  ValueText(argument.format, found), ", ",
                  std::abs(OnLine(argument.format, want) - OnLine(argument.format, found)),
                  " codes apart");
  // A negative tolerance is none: every bit is asked for.
  if (argument.contract == Contract::kWithin && expected.tolerance != nullptr &&
      expected.tolerance[difference.first] >= 0) {
    absl::StrAppend(&difference.text, absl::StrFormat(", an error of %.6g where %.6g is allowed",
                                                      CodeValue(argument.format, found) -
                                                          CodeValue(argument.format, want),
                                                      expected.tolerance[difference.first]));
  }
  return difference;
}

}  // namespace lanewise::differential
