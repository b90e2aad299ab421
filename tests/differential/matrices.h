#ifndef LANEWISE_TESTS_DIFFERENTIAL_MATRICES_H_
#define LANEWISE_TESTS_DIFFERENTIAL_MATRICES_H_

// Arguments of a call as the tensors and matrices that reference/ takes, and results back.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/quantize/element_format.h"
#include "reference/tensor.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {

// The argument's extents and elements of type T, which has the width of the argument's format.
template <class T, int kRank>
Tensor<T, kRank> TensorOf(const Call& call, std::string_view name) {
  const Operand& operand = call.At(name);
  std::array<std::int64_t, kRank> extents;
  std::copy_n(operand.extents.begin(), kRank, extents.begin());
  Tensor<T, kRank> tensor(extents);
  if (operand.bytes > 0) {
    std::memcpy(tensor.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  }
  return tensor;
}

// The argument's bytes, of e2m1 two elements a byte. An odd last extent of e2m1, which reference/
// has no tensor for, loses its last element.
template <int kRank>
Tensor<std::uint8_t, kRank> BytesOf(const Call& call, std::string_view name) {
  const Operand& operand = call.At(name);
  std::array<std::int64_t, kRank> extents;
  std::copy_n(operand.extents.begin(), kRank, extents.begin());
  if (FormatBits(operand.argument->format) == 4) extents.back() /= 2;
  Tensor<std::uint8_t, kRank> tensor(extents);
  std::memcpy(tensor.data(), operand.data,
              static_cast<std::size_t>(std::min<std::int64_t>(tensor.size(), operand.bytes)));
  return tensor;
}

// A result of the argument's shape.
template <class T, int kRank>
void Store(const Call& call, std::string_view name, const Tensor<T, kRank>& tensor) {
  const std::span<std::uint8_t> to = call.Bytes(name);
  if (!to.empty()) std::memcpy(to.data(), tensor.data(), to.size());
}

// A microscaled matrix that owns its elements and codes.
struct Mx {
  ElementFormat format = ElementFormat::kE4m3Fn;
  Tensor<std::uint8_t, 2> elements, codes;

  reference::MxMatrix view() const { return {format, elements, codes}; }
  bool IsNan(std::int64_t row, std::int64_t block) const { return view().code(row, block) == 255; }
  double Element(std::int64_t row, std::int64_t k) const {
    return reference::DecodeElement(format, view().element(row, k));
  }
  // Elements without their signs. (Those whose magnitude is no number make the result NaN, and
  // nobody asks for sizes then.)
  Mx Magnitudes() const {
    Mx sizes = *this;
    const int mask = ElementBits(format) == 4 ? 0x77 : 0x7F;
    for (std::int64_t i = 0; i < sizes.elements.size(); ++i) {
      sizes.elements.data()[i] &= static_cast<std::uint8_t>(mask);
    }
    return sizes;
  }
};

// The format of that name, which is one of kElementFormats.
inline ElementFormat ElementFormatOf(std::string_view name) {
  for (const ElementFormat format : kElementFormats) {
    if (ElementFormatName(format) == name) return format;
  }
  return ElementFormat::kE4m3Fn;
}

inline Mx MxOf(const Call& call, std::string_view elements, std::string_view codes) {
  return {ElementFormatOf(call.At(elements).argument->format), BytesOf<2>(call, elements),
          BytesOf<2>(call, codes)};
}

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_MATRICES_H_
