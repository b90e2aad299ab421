#include "reference/gemm/reduction.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/exact/rounding.h"
#include "reference/gemm/parallel.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/decoded.h"
#include "reference/quantize/options.h"

namespace lanewise::reference {
namespace {

constexpr std::int64_t kTileM = DecodedColumns::kPanelWidth;
constexpr std::int64_t kTileN = 64;

absl::Status WrongFormat(std::string_view name, const MxMatrix& matrix, std::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(AbslView(name), " is of ",
                                                 AbslView(ElementFormatName(matrix.format)),
                                                 ", expected ", AbslView(expected)));
}

std::optional<OperandFormat> FnuzFormat(ElementFormat format) {
  if (format == ElementFormat::kE4m3Fnuz) return OperandFormat::kE4m3Fnuz;
  if (format == ElementFormat::kE5m2Fnuz) return OperandFormat::kE5m2Fnuz;
  return std::nullopt;
}

OperandView ViewOf(const MxMatrix& matrix) {
  return {
      *FnuzFormat(matrix.format), matrix.elements.data(), matrix.rows(), matrix.k(), matrix.k(), 1};
}

class Cdna3Products : public BlockProducts {
 public:
  // The weight is A and the activation B, as in the kernels.
  Cdna3Products(const MxMatrix& x, const MxMatrix& w) : rows_(ViewOf(w)), columns_(ViewOf(x)) {}

  void Multiply(std::int64_t block, std::int64_t m0, std::int64_t n0,
                Matrix<double>* dots) const override {
    for (std::int64_t j = 0; j < dots->cols(); ++j) {
      std::uint32_t d[DecodedColumns::kPanelWidth] = {};
      cdna3::Accumulate(rows_, n0 + j, columns_, m0 / DecodedColumns::kPanelWidth,
                        block * kBlockSize, (block + 1) * kBlockSize, d);
      for (std::int64_t i = 0; i < dots->rows(); ++i) (*dots)(i, j) = std::bit_cast<float>(d[i]);
    }
  }

 private:
  DecodedRows rows_;
  DecodedColumns columns_;
};

class ExactProducts : public BlockProducts {
 public:
  ExactProducts(const MxMatrix& x, const MxMatrix& w)
      : x_(x), w_(w), x_values_(ValuesOf(x.format)), w_values_(ValuesOf(w.format)) {}

  void Multiply(std::int64_t block, std::int64_t m0, std::int64_t n0,
                Matrix<double>* dots) const override {
    dots->noalias() = Load(x_, x_values_, block, m0, dots->rows()) *
                      Load(w_, w_values_, block, n0, dots->cols()).transpose();
  }

 private:
  // The value of an element by its bits.
  using Values = std::array<double, 256>;

  static Values ValuesOf(ElementFormat format) {
    Values values;
    for (int bits = 0; bits < 256; ++bits) {
      values[static_cast<std::size_t>(bits)] =
          DecodeElement(format, static_cast<std::uint8_t>(bits));
    }
    return values;
  }

  static Matrix<double> Load(const MxMatrix& matrix, const Values& values, std::int64_t block,
                             std::int64_t first, std::int64_t count) {
    Matrix<double> loaded(count, kBlockSize);
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t i = 0; i < kBlockSize; ++i) {
        loaded(row, i) = values[matrix.element(first + row, block * kBlockSize + i)];
      }
    }
    return loaded;
  }

  MxMatrix x_;
  MxMatrix w_;
  Values x_values_;
  Values w_values_;
};

// The part of the output that one task computes.
class Tile {
 public:
  Tile(const BlockProducts& products, const MxMatrix& x, const MxMatrix& w, int exponent_offset,
       std::int64_t m0, std::int64_t n0)
      : products_(products),
        x_(x),
        w_(w),
        exponent_offset_(exponent_offset),
        m0_(m0),
        n0_(n0),
        dots_(std::min(kTileM, x.rows() - m0), std::min(kTileN, w.rows() - n0)) {}

  Matrix<float> Value(const Reduction& reduction) {
    Matrix<float> value = Matrix<float>::Zero(dots_.rows(), dots_.cols());
    for (const std::int64_t block : reduction.blocks) AddBlock(block, &value);
    for (std::size_t i = 0; i < reduction.parts.size(); ++i) {
      const Matrix<float> part = Value(reduction.parts[i]);
      if (i == 0) {
        value = part;
      } else {
        value += part;
      }
    }
    return value;
  }

 private:
  void AddBlock(std::int64_t block, Matrix<float>* value) {
    products_.Multiply(block, m0_, n0_, &dots_);
    for (std::int64_t i = 0; i < dots_.rows(); ++i) {
      const int x_code = x_.code(m0_ + i, block);
      for (std::int64_t j = 0; j < dots_.cols(); ++j) {
        const int w_code = w_.code(n0_ + j, block);
        float& sum = (*value)(i, j);
        if (x_code == kNanCode || w_code == kNanCode) {
          sum = std::numeric_limits<float>::quiet_NaN();
        } else {
          sum = AddScaled(sum, dots_(i, j), x_code + w_code - 254 + exponent_offset_);
        }
      }
    }
  }

  const BlockProducts& products_;
  const MxMatrix& x_;
  const MxMatrix& w_;
  const int exponent_offset_;
  const std::int64_t m0_;
  const std::int64_t n0_;
  Matrix<double> dots_;
};

}  // namespace

Reduction Ascending(std::int64_t first, std::int64_t last) {
  Reduction leaf;
  for (std::int64_t block = first; block < last; ++block) leaf.blocks.push_back(block);
  return leaf;
}

absl::StatusOr<std::unique_ptr<BlockProducts>> Cdna3BlockProducts(const MxMatrix& x,
                                                                  const MxMatrix& w) {
  constexpr std::string_view kExpected = "e4m3fnuz or e5m2fnuz, as gfx942's matrix cores take";
  if (!FnuzFormat(x.format)) return WrongFormat("x", x, kExpected);
  if (!FnuzFormat(w.format)) return WrongFormat("w", w, kExpected);
  return std::make_unique<Cdna3Products>(x, w);
}

absl::StatusOr<std::unique_ptr<BlockProducts>> ExactBlockProducts(const MxMatrix& x,
                                                                  const MxMatrix& w) {
  for (const auto& [name, matrix] : {std::pair<std::string_view, const MxMatrix&>("x", x),
                                     std::pair<std::string_view, const MxMatrix&>("w", w)}) {
    if (matrix.format != ElementFormat::kE4m3Fn && matrix.format != ElementFormat::kE2m1) {
      return WrongFormat(name, matrix, "e4m3fn or e2m1");
    }
  }
  return std::make_unique<ExactProducts>(x, w);
}

Tensor<float, 2> EvaluateReduction(const Reduction& reduction, const BlockProducts& products,
                                   const MxMatrix& x, const MxMatrix& w, int exponent_offset) {
  Tensor<float, 2> out(x.rows(), w.rows());
  const std::int64_t m_tiles = (x.rows() + kTileM - 1) / kTileM;
  const std::int64_t n_tiles = (w.rows() + kTileN - 1) / kTileN;
  ParallelFor(m_tiles * n_tiles, [&](std::int64_t task) {
    const std::int64_t m0 = task % m_tiles * kTileM;
    const std::int64_t n0 = task / m_tiles * kTileN;
    const Matrix<float> value = Tile(products, x, w, exponent_offset, m0, n0).Value(reduction);
    for (std::int64_t i = 0; i < value.rows(); ++i) {
      for (std::int64_t j = 0; j < value.cols(); ++j) {
        const float sum = value(i, j);
        out(m0 + i, n0 + j) = std::isnan(sum) ? std::numeric_limits<float>::quiet_NaN() : sum;
      }
    }
  });
  return out;
}

}  // namespace lanewise::reference
