#ifndef LANEWISE_REFERENCE_TESTING_TENSORS_H_
#define LANEWISE_REFERENCE_TESTING_TENSORS_H_

// Random tensors and the comparison of tensors, for the tests of reference/.

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// Random bytes below `limit`; the same for the same seed.
template <std::size_t kRank>
Tensor<std::uint8_t, static_cast<int>(kRank)> RandomBytes(
    const std::array<std::int64_t, kRank>& shape, std::uint64_t seed, int limit = 256) {
  std::mt19937_64 random(seed);
  Tensor<std::uint8_t, static_cast<int>(kRank)> tensor(shape);
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    tensor.data()[i] = static_cast<std::uint8_t>(random() % static_cast<std::uint64_t>(limit));
  }
  return tensor;
}

// The coordinate of a row-major element, as "[1, 2]".
template <class T, int kRank>
std::string CoordinateText(const Tensor<T, kRank>& tensor, std::int64_t element) {
  std::string text;
  for (int axis = kRank - 1; axis >= 0; --axis) {
    text = absl::StrCat(element % tensor.dimension(axis), axis == kRank - 1 ? "" : ", ", text);
    element /= tensor.dimension(axis);
  }
  return absl::StrCat("[", text, "]");
}

// Whether shape and every element agree; else the first element that does not, with both values,
// and how many there are.
template <class T, int kRank>
testing::AssertionResult Same(const Tensor<T, kRank>& expected, const Tensor<T, kRank>& actual) {
  if (ShapeText(expected) != ShapeText(actual)) {
    return testing::AssertionFailure()
           << "shape " << ShapeText(actual) << ", expected " << ShapeText(expected);
  }
  std::int64_t first = -1, count = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    if (expected.data()[i] == actual.data()[i]) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << count << " of " << expected.size() << " elements differ, the first at "
         << CoordinateText(expected, first) << ": " << +actual.data()[first] << ", expected "
         << +expected.data()[first];
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_TESTING_TENSORS_H_
