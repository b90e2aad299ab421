#ifndef LANEWISE_REFERENCE_REARRANGE_H_
#define LANEWISE_REFERENCE_REARRANGE_H_

// A byte order, spelled out: split the axes of a row-major tensor into factors, outermost first,
// and say in which order the factors lie in memory. For instance the rows and columns of a matrix
// in tiles of 16 x 32, one tile after the other:
//
//   // [tile row, row, tile column, column] -> [tile row, tile column, row, column]
//   Rearranged(w, Factors{n / 16, 16, k / 32, 32}, Order{0, 2, 1, 3}, w.dimensions(),
//   Way::kForward)
//
// Every order of reference/ is one such call, so that its comment and its numbers can be read side
// by side.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "reference/tensor.h"

namespace lanewise::reference {

// The sizes of the factors, in logical order: the factors of the first axis, then those of the
// second, ...
template <std::size_t kCount>
struct Factors : std::array<std::int64_t, kCount> {};
template <class... Sizes>
Factors(Sizes...) -> Factors<sizeof...(Sizes)>;

// Which factor (an index into Factors) stands at each place in memory, outermost first. A
// permutation.
template <std::size_t kCount>
struct Order : std::array<int, kCount> {};
template <class... Indices>
Order(Indices...) -> Order<sizeof...(Indices)>;

// kForward goes from the logical order to the order in memory, kBack returns.
enum class Way { kForward, kBack };

// The elements of `tensor`, whose axes the factors split, moved as `order` says (kForward), or
// moved back (kBack); the result gets the dimensions `shape`. The product of the factors and of
// `shape` must be the number of elements: the callers check their shapes first.
template <class T, int kRank, std::size_t kCount, std::size_t kOutRank>
Tensor<T, static_cast<int>(kOutRank)> Rearranged(const Tensor<T, kRank>& tensor,
                                                 const Factors<kCount>& factors,
                                                 const Order<kCount>& order,
                                                 const std::array<std::int64_t, kOutRank>& shape,
                                                 Way way) {
  if (tensor.size() == 0) return Tensor<T, static_cast<int>(kOutRank)>(shape);
  const std::array<std::int64_t, kCount>& logical = factors;
  const std::array<int, kCount>& forward = order;
  if (way == Way::kForward) return tensor.reshape(logical).shuffle(forward).reshape(shape);
  std::array<std::int64_t, kCount> stored;
  std::array<int, kCount> back;
  for (std::size_t place = 0; place < kCount; ++place) {
    const std::size_t factor = static_cast<std::size_t>(forward[place]);
    stored[place] = logical[factor];
    back[factor] = static_cast<int>(place);
  }
  return tensor.reshape(stored).shuffle(back).reshape(shape);
}

// The same elements with every axis but the last flattened into one: [..., rows, columns] -> [rows,
// columns].
template <class T, int kRank>
Tensor<T, 2> AsRows(const Tensor<T, kRank>& tensor) {
  const std::int64_t columns = tensor.dimension(kRank - 1);
  std::int64_t rows = 1;
  for (int axis = 0; axis < kRank - 1; ++axis) rows *= tensor.dimension(axis);
  Tensor<T, 2> flat(rows, columns);
  std::copy(tensor.data(), tensor.data() + tensor.size(), flat.data());
  return flat;
}

// The same elements under another shape of as many elements.
template <class T, int kRank, std::size_t kOutRank>
Tensor<T, static_cast<int>(kOutRank)> Reshaped(const Tensor<T, kRank>& tensor,
                                               const std::array<std::int64_t, kOutRank>& shape) {
  Tensor<T, static_cast<int>(kOutRank)> result(shape);
  std::copy(tensor.data(), tensor.data() + tensor.size(), result.data());
  return result;
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_REARRANGE_H_
