#include "tools/verify/difference.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "layouts/bind.h"

namespace lanewise::tools {
namespace {

std::string PlaceText(const BoundLayout& layout, std::span<const std::string> axis_names,
                      std::int64_t offset) {
  std::vector<std::int64_t> coordinate(layout.axes());
  layout.Coordinate(offset, coordinate.data());
  std::string text = FactorText(layout, coordinate);
  for (std::size_t axis = 0; axis < coordinate.size() && axis < axis_names.size(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? "; " : ", ", axis_names[axis], " ", coordinate[axis]);
  }
  return text;
}

}  // namespace

std::string DifferenceText(std::string_view name, std::span<const std::uint8_t> expected,
                           std::span<const std::uint8_t> found, const BoundLayout* layout,
                           std::span<const std::string> axis_names) {
  if (expected.size() != found.size()) {
    return absl::StrCat(AbslView(name), " has ", found.size(), " bytes, expected ",
                        expected.size());
  }
  std::int64_t differing = 0, first = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == found[i]) continue;
    if (differing++ == 0) first = static_cast<std::int64_t>(i);
  }
  if (differing == 0) return "";
  std::string place;
  if (layout != nullptr && first < layout->units()) {
    place = absl::StrCat(" (", PlaceText(*layout, axis_names, first), ")");
  }
  return absl::StrFormat("%s: byte %d%s is 0x%02X, expected 0x%02X; %d of %d bytes differ",
                         AbslView(name), first, place, found[first], expected[first], differing,
                         expected.size());
}

}  // namespace lanewise::tools
