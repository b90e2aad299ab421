#ifndef LANEWISE_REFERENCE_MATRIX_CORE_DECODED_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_DECODED_H_

// Operands taken apart into significand and exponent, the form that CDNA3's arithmetic is written
// in (cdna3.h). A GEMM that multiplies the same rows by the same columns many times decodes each
// once.

#include <cstdint>
#include <vector>

#include "reference/matrix_core/instruction.h"

namespace lanewise {

// value = significand * 2^exponent, and exponent = max(floor(log2|value|), the format's smallest
// normal exponent): |significand| < 2, and below 1 only for subnormals and zero. Zero, Inf and NaN
// have exponents of their own, far enough away that one comparison of an exponent, or of a
// product's sum of exponents, tells them from every finite value's. A float32 operand stands as
// {value, 0} whatever it is.
struct DecodedElement {
  float significand;
  std::int16_t exponent;
};

inline constexpr std::int16_t kZeroExponent = -1024;
inline constexpr std::int16_t kInfExponent = 2048;  // significand +-1
inline constexpr std::int16_t kNanExponent = 4096;  // significand 1

// One element, from its bits (the low ones of `bits`).
DecodedElement Decode(OperandFormat format, std::uint32_t bits);

// Element `index` of an array of elements of ElementBytes(format).
DecodedElement DecodeAt(OperandFormat format, const void* data, std::int64_t index);
// The same as a number: every format's elements are exact in float32.
float ValueAt(OperandFormat format, const void* data, std::int64_t index);

// Where element (outer, k) of an operand stands: at index outer * outer_stride + k * k_stride of an
// array of elements of ElementBytes(format). `outer` is a row of A or a column of B.
struct OperandView {
  OperandFormat format;
  const void* data;
  std::int64_t outer;
  std::int64_t k;
  std::int64_t outer_stride;
  std::int64_t k_stride;
};

// The rows of A, each contiguous in k.
class DecodedRows {
 public:
  explicit DecodedRows(const OperandView& a);

  OperandFormat format() const { return format_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }
  // [k] of one row.
  const float* significands(std::int64_t row) const { return &significands_[row * k_]; }
  const std::int16_t* exponents(std::int64_t row) const { return &exponents_[row * k_]; }

 private:
  OperandFormat format_;
  std::int64_t rows_;
  std::int64_t k_;
  std::vector<float> significands_;
  std::vector<std::int16_t> exponents_;
};

// The columns of B in panels of 16, each panel [k][16]. The last panel's missing columns are zeros.
class DecodedColumns {
 public:
  static constexpr int kPanelWidth = 16;

  explicit DecodedColumns(const OperandView& b);

  OperandFormat format() const { return format_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t panels() const { return (columns_ + kPanelWidth - 1) / kPanelWidth; }
  std::int64_t k() const { return k_; }
  // [k][16] of one panel.
  const float* significands(std::int64_t panel) const {
    return &significands_[panel * k_ * kPanelWidth];
  }
  const std::int16_t* exponents(std::int64_t panel) const {
    return &exponents_[panel * k_ * kPanelWidth];
  }

 private:
  OperandFormat format_;
  std::int64_t columns_;
  std::int64_t k_;
  std::vector<float> significands_;
  std::vector<std::int16_t> exponents_;
};

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_DECODED_H_
