#include "tools/verify/stored_form.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "layouts/catalogue.h"
#include "layouts/layout.h"

namespace lanewise::tools {
namespace {

std::int64_t RoundUp(std::int64_t size, std::int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

struct Size {
  std::int64_t rows = 0;
  std::int64_t columns = 0;  // bytes a row
};

// The catalogue's entry, where prepared files carry it; its parameters are 1 wherever they stand, so
// that its multiples are those of every size.
const Layout* StoredLayout(std::string_view tag) {
  const Layout* const layout = FindLayout(tag);
  return layout != nullptr && layout->prepared_format > 0 ? layout : nullptr;
}
std::int64_t MultipleOf(Layout layout, int axis) {
  for (Factor& factor : layout.main.factor) {
    if (!factor.parameter.empty()) factor.size = 1;
  }
  return layout.Multiple(axis);
}

// A parameter that sizes the padding, or `otherwise`.
std::int64_t IntOr(const PreparedTensor& what, std::string_view name, std::int64_t otherwise) {
  return what.IntParam(name).value_or(otherwise);
}

absl::StatusOr<std::int64_t> ExpectedBytes(const PreparedTensor& what) {
  if (what.layout == layout_tag::kPlain) return ByteCount(what.dtype, what.shape);
  // The number of elements, and so every product below of some extents, fits int64.
  if (const auto elements = ElementCount(what.shape); !elements.ok()) return elements.status();
  const std::size_t rank = what.shape.size();
  if (rank < 2) {
    return absl::InvalidArgumentError(absl::StrCat("a logical shape of ", rank, " dimensions"));
  }
  const std::int64_t experts = rank == 3 ? what.shape[0] : 1;
  Size size = {what.shape[rank - 2], what.shape[rank - 1]};
  const bool is_fp4 = what.dtype == DType::kF4;
  const bool is_code = what.dtype == DType::kF8E8m0;
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  std::int64_t padded_k = IntOr(what, "padded_k", 0);
  const std::int64_t padded_inter = IntOr(what, "padded_inter", 0);
  for (const std::int64_t value : {size.rows, size.columns, padded_k, padded_inter}) {
    if (value < 0 || value > kLargest) {
      return absl::InvalidArgumentError(absl::StrCat("an extent or a parameter of ", value));
    }
  }
  if (is_code && padded_k > 0) padded_k /= 32;
  if (padded_k > 0 && padded_k < size.columns) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_k = ", IntOr(what, "padded_k", 0), " is less than the logical K"));
  }
  if (padded_k > 0) size.columns = padded_k;
  if (2 * padded_inter > 0 && 2 * padded_inter < size.rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("padded_inter = ", padded_inter, " is less than the logical rows"));
  }
  if (padded_inter > 0) size.rows = 2 * padded_inter;
  if (is_fp4) size.columns /= 2;
  if (what.layout == layout_tag::kAiterE8m0Shuffle) {
    return RoundUp(experts * size.rows, 256) * RoundUp(size.columns, 8);
  }
  const Layout* const layout = StoredLayout(what.layout);
  if (layout == nullptr) return absl::InvalidArgumentError("a layout that is not known");
  const std::int64_t rows = MultipleOf(*layout, 0);
  const std::int64_t columns = MultipleOf(*layout, 1);
  if (size.rows % rows != 0 || size.columns % columns != 0) {
    return absl::InvalidArgumentError(absl::StrCat(size.rows, " rows of ", size.columns,
                                                   " bytes: expected multiples of ", rows, " and ",
                                                   columns));
  }
  return experts * size.rows * size.columns;
}

absl::Status Refused(std::string_view name, const PreparedTensor& what, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " (", what.layout, "): ", why));
}

}  // namespace

absl::Status CheckStoredSize(std::string_view name, const PreparedTensor& what,
                             std::int64_t bytes) {
  const absl::StatusOr<std::int64_t> expected = ExpectedBytes(what);
  if (!expected.ok()) return Refused(name, what, std::string(expected.status().message()));
  if (*expected == bytes) return absl::OkStatus();
  return Refused(
      name, what,
      absl::StrCat(bytes, " bytes, expected ", *expected, " by its logical shape and parameters"));
}

absl::Status CheckStoredBytes(std::string_view name, const PreparedTensor& what,
                              std::int64_t offset, std::span<const std::uint8_t> piece) {
  const Layout* const layout = StoredLayout(what.layout);
  if (layout == nullptr) return absl::OkStatus();
  const auto wrong = std::find_if(piece.begin(), piece.end(), [layout](std::uint8_t byte) {
    return IsForbidden(layout->forbidden, byte);
  });
  if (wrong != piece.end()) {
    return Refused(name, what,
                   absl::StrFormat("byte %d is 0x%02X: %s", offset + (wrong - piece.begin()),
                                   *wrong, AbslView(WhyForbidden(layout->forbidden))));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::tools
