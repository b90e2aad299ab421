#ifndef LANEWISE_REFERENCE_GEMM_FIXED_POINT_H_
#define LANEWISE_REFERENCE_GEMM_FIXED_POINT_H_

// An operand of ExactLinear as integers: for each block of 32 along K, each row is a few slices,
// and a slice is 32 integers times a power of two.

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// Rows of one block of K. Slice s adds integers(s, 0 .. 31) * 2^exponents[s] to row rows[s].
struct BlockSlices {
  Matrix<double> integers;  // [capacity, 32]; only the first `count` rows mean something
  std::vector<std::int64_t> rows;
  std::vector<int> exponents;
  std::int64_t count = 0;

  void Clear() {
    count = 0;
    rows.clear();
    exponents.clear();
  }
};

// An element that is infinite.
struct InfiniteElement {
  std::int64_t row;
  std::int64_t k;
  bool negative;
};

class FixedPointOperand {
 public:
  // An exponent no slice has: of rows that are zero everywhere.
  static constexpr int kNoExponent = 1 << 20;

  explicit FixedPointOperand(const MxMatrix& matrix);
  explicit FixedPointOperand(const Tensor<Bf16, 2>& matrix);

  std::int64_t rows() const { return rows_; }
  std::int64_t k() const { return k_; }
  std::int64_t blocks() const { return (k_ + 31) / 32; }

  // The bits that any element of the format takes as an integer with one exponent for all.
  int full_bits() const { return full_bits_; }

  // Sets how wide integers may get, |integer| < 2^bits, and finds the spread of the exponents. To
  // be called once, before what follows.
  void SetBits(int bits);

  // The slices of rows [first, last) in a block of K; rows that are zero in it have none.
  void LoadBlock(std::int64_t block, std::int64_t first, std::int64_t last,
                 BlockSlices* slices) const;

  // Bounds of a row's exponents over all blocks; kNoExponent and its negative if it has none.
  int lowest_exponent(std::int64_t row) const { return lowest_[row]; }
  int highest_exponent(std::int64_t row) const { return highest_[row]; }
  // The most slices that a row has in a block.
  int most_slices() const { return most_slices_; }

  // Whether the row has a NaN element or a code of 255.
  bool is_nan(std::int64_t row) const { return nan_[row]; }
  const std::vector<InfiniteElement>& infinities() const { return infinities_; }
  // Of element (row, k): -1, 0 or 1; infinities count, NaN is 0.
  int Sign(std::int64_t row, std::int64_t k) const;

 private:
  // An element: integer * 2^exponent, the integer odd or zero. Zero for what is not finite.
  struct Number {
    double integer = 0;
    int exponent = 0;
    int bits = 0;  // |integer| < 2^bits
    int sign = 0;
    bool is_nan = false;
    bool is_infinite = false;
  };

  static Number NumberOf(float value);

  const Number& At(std::int64_t row, std::int64_t k) const;
  // The exponent of the block's scale.
  int ScaleExponent(std::int64_t row, std::int64_t block) const;
  void FindSpecials();
  // Appends one row's slices in a block.
  void AppendSlices(std::int64_t row, std::int64_t block, BlockSlices* slices) const;

  std::int64_t rows_;
  std::int64_t k_;
  std::optional<MxMatrix> mx_;
  const Tensor<Bf16, 2>* bf16_ = nullptr;
  std::vector<Number> table_;     // MX: by an element's bits
  std::vector<double> integers_;  // MX: by an element's bits, its value / 2^full_exponent_
  int full_bits_ = 0;
  int full_exponent_ = 0;
  int bits_ = 0;
  int most_slices_ = 1;
  std::vector<int> lowest_;
  std::vector<int> highest_;
  std::vector<bool> nan_;
  std::vector<InfiniteElement> infinities_;
};

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_FIXED_POINT_H_
