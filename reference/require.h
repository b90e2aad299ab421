#ifndef LANEWISE_REFERENCE_REQUIRE_H_
#define LANEWISE_REFERENCE_REQUIRE_H_

// The shape checks of reference/: InvalidArgument that names the tensor, its shape and what was
// expected.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// Refuses a tensor whose dimension `axis` is not a multiple of `divisor`. A negative axis counts
// from the end, -1 is the last.
template <class T, int kRank>
absl::Status RequireMultiple(const Tensor<T, kRank>& tensor, std::string_view name, int axis,
                             std::int64_t divisor) {
  const std::int64_t size = tensor.dimension(axis < 0 ? kRank + axis : axis);
  if (size % divisor == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " ", ShapeText(tensor), ": ", size,
                                                 " is not a multiple of ", divisor, " (dimension ",
                                                 axis < 0 ? kRank + axis : axis, ")"));
}

// Refuses a tensor that is not of `shape`; `beside` says what the shape follows from, as "w8 [32,
// 64]".
template <class T, int kRank>
absl::Status RequireShape(const Tensor<T, kRank>& tensor, std::string_view name,
                          const std::array<std::int64_t, static_cast<std::size_t>(kRank)>& shape,
                          std::string_view beside) {
  bool same = true;
  std::string expected = "[";
  for (int axis = 0; axis < kRank; ++axis) {
    const std::int64_t size = shape[static_cast<std::size_t>(axis)];
    same = same && tensor.dimension(axis) == size;
    absl::StrAppend(&expected, axis == 0 ? "" : ", ", size);
  }
  if (same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " ", ShapeText(tensor),
                                                 ": expected ", expected, "] beside ",
                                                 AbslView(beside)));
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_REQUIRE_H_
