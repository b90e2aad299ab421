#include "reference/gemm/fixed_point.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "reference/quantize/options.h"

namespace lanewise::reference {

FixedPointOperand::Number FixedPointOperand::NumberOf(float value) {
  Number number;
  number.is_nan = std::isnan(value);
  number.is_infinite = std::isinf(value);
  if (number.is_nan || value == 0.0f) return number;
  number.sign = value < 0.0f ? -1 : 1;
  if (number.is_infinite) return number;
  // value = significand * 2^(top - 23), without the zeros at the significand's end.
  const int top = std::ilogb(value);
  const auto significand = static_cast<std::uint32_t>(std::ldexp(std::fabs(value), 23 - top));
  const int zeros = std::countr_zero(significand);
  number.integer = number.sign * static_cast<double>(significand >> zeros);
  number.exponent = top - 23 + zeros;
  number.bits = 24 - zeros;
  return number;
}

FixedPointOperand::FixedPointOperand(const MxMatrix& matrix)
    : rows_(matrix.rows()), k_(matrix.k()), mx_(matrix) {
  const int count = 1 << ElementBits(matrix.format);
  int lowest = kNoExponent;
  int top = -kNoExponent;
  for (int bits = 0; bits < count; ++bits) {
    table_.push_back(NumberOf(DecodeElement(matrix.format, static_cast<std::uint8_t>(bits))));
    if (table_.back().integer == 0) continue;
    lowest = std::min(lowest, table_.back().exponent);
    top = std::max(top, table_.back().exponent + table_.back().bits);
  }
  full_exponent_ = lowest;
  full_bits_ = top - lowest;
  for (const Number& number : table_) {
    integers_.push_back(std::ldexp(number.integer, number.exponent - full_exponent_));
  }
  FindSpecials();
}

FixedPointOperand::FixedPointOperand(const Tensor<Bf16, 2>& matrix)
    : rows_(matrix.dimension(0)), k_(matrix.dimension(1)), bf16_(&matrix) {
  full_bits_ = 128 + 133;  // From 2^-133 to 2^128.
  FindSpecials();
}

const FixedPointOperand::Number& FixedPointOperand::At(std::int64_t row, std::int64_t k) const {
  if (mx_) return table_[mx_->element(row, k)];
  static const std::vector<Number>& bf16_numbers = *[] {
    auto* numbers = new std::vector<Number>;
    for (int bits = 0; bits < 1 << 16; ++bits) {
      numbers->push_back(NumberOf(Bf16::FromBits(static_cast<std::uint16_t>(bits)).ToFloat()));
    }
    return numbers;
  }();
  return bf16_numbers[(*bf16_)(row, k).bits()];
}

int FixedPointOperand::ScaleExponent(std::int64_t row, std::int64_t block) const {
  return mx_ ? mx_->code(row, block) - 127 : 0;
}

int FixedPointOperand::Sign(std::int64_t row, std::int64_t k) const { return At(row, k).sign; }

void FixedPointOperand::FindSpecials() {
  nan_.assign(rows_, false);
  for (std::int64_t row = 0; row < rows_; ++row) {
    for (std::int64_t k = 0; k < k_; ++k) {
      const Number& number = At(row, k);
      if (number.is_nan) nan_[row] = true;
      if (number.is_infinite) infinities_.push_back({row, k, number.sign < 0});
    }
    for (std::int64_t block = 0; mx_ && block < blocks(); ++block) {
      if (mx_->code(row, block) == kNanCode) nan_[row] = true;
    }
  }
}

void FixedPointOperand::AppendSlices(std::int64_t row, std::int64_t block,
                                     BlockSlices* slices) const {
  const std::int64_t first_k = block * kBlockSize;
  const std::int64_t width = std::min(kBlockSize, k_ - first_k);
  const int scale = ScaleExponent(row, block);
  const auto append = [&](int exponent) {
    slices->rows.push_back(row);
    slices->exponents.push_back(exponent + scale);
    ++slices->count;
  };
  if (slices->integers.rows() <= slices->count) {
    slices->integers.conservativeResize(2 * slices->count + 64, kBlockSize);
  }
  if (full_bits_ <= bits_) {
    bool all_zero = true;
    for (std::int64_t i = 0; i < width; ++i) {
      const double integer = integers_[mx_->element(row, first_k + i)];
      slices->integers(slices->count, i) = integer;
      all_zero = all_zero && integer == 0;
    }
    if (!all_zero) append(full_exponent_);
    return;
  }

  std::array<Number, kBlockSize> left;
  for (std::int64_t i = 0; i < width; ++i) left[i] = At(row, first_k + i);
  while (true) {
    int lowest = kNoExponent;
    for (const Number& number : left) {
      if (number.integer != 0) lowest = std::min(lowest, number.exponent);
    }
    if (lowest == kNoExponent) return;
    if (slices->integers.rows() <= slices->count) {
      slices->integers.conservativeResize(2 * slices->count + 64, kBlockSize);
    }
    for (std::int64_t i = 0; i < kBlockSize; ++i) {
      Number& number = left[i];
      double& integer = slices->integers(slices->count, i);
      integer = 0;
      if (number.integer == 0 || number.exponent - lowest + number.bits > bits_) continue;
      integer = std::ldexp(number.integer, number.exponent - lowest);
      number.integer = 0;
    }
    append(lowest);
  }
}

void FixedPointOperand::LoadBlock(std::int64_t block, std::int64_t first, std::int64_t last,
                                  BlockSlices* slices) const {
  slices->Clear();
  for (std::int64_t row = first; row < last; ++row) AppendSlices(row, block, slices);
}

void FixedPointOperand::SetBits(int bits) {
  bits_ = bits;
  lowest_.assign(rows_, kNoExponent);
  highest_.assign(rows_, -kNoExponent);
  BlockSlices slices;
  for (std::int64_t row = 0; row < rows_; ++row) {
    for (std::int64_t block = 0; block < blocks(); ++block) {
      slices.Clear();
      AppendSlices(row, block, &slices);
      most_slices_ = std::max(most_slices_, static_cast<int>(slices.count));
      for (const int exponent : slices.exponents) {
        lowest_[row] = std::min(lowest_[row], exponent);
        highest_[row] = std::max(highest_[row], exponent);
      }
    }
  }
}

}  // namespace lanewise::reference
