#ifndef LANEWISE_REFERENCE_TENSOR_H_
#define LANEWISE_REFERENCE_TENSOR_H_

// The array types of reference/: row-major Eigen tensors and matrices with int64 sizes.

// Angle brackets make Eigen a system header, so that clang's warnings about it stay out of our
// -Werror.
#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <unsupported/Eigen/CXX11/Tensor>

#include "absl/strings/str_cat.h"

namespace lanewise {

// A dense row-major tensor: the last index is contiguous, as in torch and safetensors.
template <class T, int kRank>
using Tensor = Eigen::Tensor<T, kRank, Eigen::RowMajor, std::int64_t>;

// A dense row-major matrix, for arithmetic (products, reductions).
template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// "[N, K]" for messages.
template <class T, int kRank>
std::string ShapeText(const Tensor<T, kRank>& tensor) {
  std::string text = "[";
  for (int axis = 0; axis < kRank; ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", tensor.dimension(axis));
  }
  return text + "]";
}

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_TENSOR_H_
