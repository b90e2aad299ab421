#include "tools/verify/difference.h"

#include <algorithm>
#include <cstring>
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

void Difference::Add(std::span<const std::uint8_t> expected) {
  const auto size = static_cast<std::size_t>(
      std::clamp<std::int64_t>(std::ssize(found_) - compared_, 0, std::ssize(expected)));
  const std::uint8_t* const found = found_.data() + compared_;
  if (size > 0 && std::memcmp(found, expected.data(), size) != 0) {
    for (std::size_t i = 0; i < size; ++i) {
      if (expected[i] == found[i]) continue;
      if (differing_++ > 0) continue;
      first_ = compared_ + static_cast<std::int64_t>(i);
      expected_ = expected[i];
    }
  }
  compared_ += std::ssize(expected);
}

std::string Difference::Text(std::string_view name, const BoundLayout* layout,
                             std::span<const std::string> axis_names) const {
  if (compared_ != std::ssize(found_)) {
    return absl::StrCat(AbslView(name), " has ", found_.size(), " bytes, expected ", compared_);
  }
  if (differing_ == 0) return "";
  std::string place;
  if (layout != nullptr && first_ < layout->units()) {
    place = absl::StrCat(" (", PlaceText(*layout, axis_names, first_), ")");
  }
  return absl::StrFormat("%s: byte %d%s is 0x%02X, expected 0x%02X; %d of %d bytes differ",
                         AbslView(name), first_, place, found_[first_], expected_, differing_,
                         compared_);
}

}  // namespace lanewise::tools
