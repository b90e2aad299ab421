#ifndef LANEWISE_REFERENCE_GEMM_OPERAND_H_
#define LANEWISE_REFERENCE_GEMM_OPERAND_H_

// The operands of out[m][n] = sum over k of x[m][k] * w[n][k]: microscaled matrices and bfloat16
// ones. Views; what they refer to must outlive them.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "formats/formats.h"
#include "reference/quantize/element_format.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// A microscaled matrix [rows, K]: value(r, k) = element(r, k) * 2^(code - 127), where `code` is
//   codes[r, k / 32]       with row scales, codes [rows, K / 32], or
//   codes[r / 32, k / 32]  with block scales, codes [rows / 32, K / 32], rows % 32 == 0.
// Which of the two, the shape of `codes` says. Elements are [rows, K] bytes, or [rows, K / 2] with
// the even k in the low nibble for e2m1.
struct MxMatrix {
  ElementFormat format;
  const Tensor<std::uint8_t, 2>& elements;
  const Tensor<std::uint8_t, 2>& codes;

  std::int64_t rows() const { return elements.dimension(0); }
  std::int64_t k() const { return elements.dimension(1) * 8 / ElementBits(format); }
  // Whether 32 rows share their codes.
  bool has_block_scales() const { return codes.dimension(0) != rows(); }

  std::uint8_t code(std::int64_t row, std::int64_t block) const {
    return codes(has_block_scales() ? row / 32 : row, block);
  }
  // The element's bits.
  std::uint8_t element(std::int64_t row, std::int64_t column) const {
    if (ElementBits(format) == 8) return elements(row, column);
    const std::uint8_t pair = elements(row, column / 2);
    return column % 2 == 0 ? pair & 0xF : pair >> 4;
  }
};

// OK, or InvalidArgument naming `name`, the shapes found and expected: K a multiple of 32, codes of
// one of the two shapes.
absl::Status CheckMxMatrix(std::string_view name, const MxMatrix& matrix);

// OK, or InvalidArgument unless x and w have the same K, naming both.
absl::Status CheckSameK(std::string_view x_name, std::int64_t x_k, std::string_view w_name,
                        std::int64_t w_k);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_OPERAND_H_
