#ifndef LANEWISE_TESTS_GOLDEN_TENSORS_H_
#define LANEWISE_TESTS_GOLDEN_TENSORS_H_

// Golden tensors as the Eigen tensors of reference/, and back.

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/tensor.h"
#include "tests/golden/case.h"

namespace lanewise::golden {

// The dtype of an output of that element type.
template <class T>
constexpr DType DTypeOf() {
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::kU8;
  if constexpr (std::is_same_v<T, std::uint16_t>) return DType::kU16;
  if constexpr (std::is_same_v<T, std::uint32_t>) return DType::kU32;
  if constexpr (std::is_same_v<T, std::uint64_t>) return DType::kU64;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::kI32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::kI64;
  if constexpr (std::is_same_v<T, float>) return DType::kF32;
  if constexpr (std::is_same_v<T, double>) return DType::kF64;
  if constexpr (std::is_same_v<T, Bf16>) return DType::kBf16;
  if constexpr (std::is_same_v<T, F16>) return DType::kF16;
}

// A view's elements as a tensor of rank kRank. T is any type of the element's width. Refuses
// another width or rank. With more dimensions than kRank, kFlatten makes one of the leading ones,
// with fewer it adds leading dimensions of 1.
enum class Leading { kExact, kFlatten };
template <class T, int kRank>
absl::StatusOr<Tensor<T, kRank>> ToTensor(const TensorView& view, std::string_view name,
                                          Leading leading = Leading::kExact) {
  const int rank = static_cast<int>(view.shape.size());
  if (BitsPerElement(view.dtype) != 8 * static_cast<std::int64_t>(sizeof(T))) {
    return InvalidArgument("'", name, "' is ", DTypeName(view.dtype), ", expected ", 8 * sizeof(T),
                           " bits an element");
  }
  if (leading == Leading::kExact && rank != kRank) {
    return InvalidArgument("'", name, "' has ", rank, " dimensions, expected ", kRank);
  }
  std::array<std::int64_t, static_cast<std::size_t>(kRank)> shape;
  shape.fill(1);
  for (int axis = 0; axis < rank; ++axis) {
    const int to = axis + kRank - rank;
    shape[static_cast<std::size_t>(to < 0 ? 0 : to)] *= view.shape[static_cast<std::size_t>(axis)];
  }
  Tensor<T, kRank> tensor(shape);
  if (!view.bytes.empty()) std::memcpy(tensor.data(), view.bytes.data(), view.bytes.size());
  return tensor;
}

// The input of that role as a tensor.
template <class T, int kRank>
absl::StatusOr<Tensor<T, kRank>> InputTensor(const Case& golden_case, std::string_view role,
                                             Leading leading = Leading::kExact) {
  LANEWISE_ASSIGN_OR_RETURN(TensorView view, golden_case.Input(role));
  return ToTensor<T, kRank>(view, role, leading);
}

// A tensor as an output, of its own dimensions or of `shape` (as many elements).
template <class T, int kRank>
OutputTensor ToOutput(const Tensor<T, kRank>& tensor, std::vector<std::int64_t> shape) {
  OutputTensor output{DTypeOf<T>(), std::move(shape), {}};
  output.bytes.resize(static_cast<std::size_t>(tensor.size()) * sizeof(T));
  if (!output.bytes.empty()) {
    std::memcpy(output.bytes.data(), tensor.data(), output.bytes.size());
  }
  return output;
}
template <class T, int kRank>
OutputTensor ToOutput(const Tensor<T, kRank>& tensor) {
  return ToOutput(tensor, {tensor.dimensions().begin(), tensor.dimensions().end()});
}

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_TENSORS_H_
