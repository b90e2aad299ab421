#include "reference/gemm/exact_linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "reference/exact/accumulator.h"
#include "reference/exact/rounding.h"
#include "reference/gemm/fixed_point.h"
#include "reference/gemm/parallel.h"

namespace lanewise::reference {
namespace {

using Int128 = __int128;

// Rows of x and of w that one task multiplies.
constexpr std::int64_t kTile = 64;

// How wide the integers of one operand and the other may be: their products' sum of 32 is then
// below 2^53.
constexpr int kProductBits = 53 - 5;

// sum * 2^exponent, rounded once.
template <RoundTo kFormat>
std::uint32_t RoundInteger(Int128 sum, int exponent) {
  using UInt128 = unsigned __int128;
  const bool negative = sum < 0;
  UInt128 magnitude = negative ? -static_cast<UInt128>(sum) : static_cast<UInt128>(sum);
  bool more = false;
  const std::uint64_t high = static_cast<std::uint64_t>(magnitude >> 64);
  if (high != 0) {
    const int dropped = 64 - std::countl_zero(high);
    more = (magnitude & ((UInt128{1} << dropped) - 1)) != 0;
    magnitude >>= dropped;
    exponent += dropped;
  }
  return RoundBits<kFormat>(negative, static_cast<std::uint64_t>(magnitude), exponent, more);
}

template <class Out>
Out Round(Int128 sum, int exponent) {
  if constexpr (std::is_same_v<Out, Bf16>) {
    return Bf16::FromBits(static_cast<std::uint16_t>(RoundInteger<RoundTo::kBf16>(sum, exponent)));
  } else {
    const float rounded = std::bit_cast<float>(RoundInteger<RoundTo::kFloat32>(sum, exponent));
    if constexpr (std::is_same_v<Out, float>) return rounded;
    return std::isinf(rounded) ? static_cast<Out>(rounded)
                               : static_cast<Out>(std::ldexp(static_cast<double>(sum), exponent));
  }
}

template <class Out>
Out Round(const ExactAccumulator& sum) {
  if constexpr (std::is_same_v<Out, Bf16>) {
    return Bf16::FromBits(sum.ToBf16Bits());
  } else {
    const float rounded = sum.ToFloat();
    if constexpr (std::is_same_v<Out, float>) return rounded;
    if (!std::isfinite(rounded)) return static_cast<Out>(rounded);
    ExactAccumulator rest = sum;
    rest.AddDouble(-static_cast<double>(rounded));
    return static_cast<Out>(static_cast<double>(rounded) + static_cast<double>(rest.ToFloat()));
  }
}

template <class Out>
Out FromFloat(float value) {
  if constexpr (std::is_same_v<Out, Bf16>) {
    return Bf16::FromFloat(value);
  } else {
    return value;
  }
}

// One task: out[m0 .. m1)[n0 .. n1).
template <class Out>
class TileSum {
 public:
  TileSum(const FixedPointOperand& x, const FixedPointOperand& w, int sum_bits, std::int64_t m0,
          std::int64_t n0)
      : x_(x),
        w_(w),
        m0_(m0),
        m1_(std::min(m0 + kTile, x.rows())),
        n0_(n0),
        n1_(std::min(n0 + kTile, w.rows())),
        sums_(kTile * kTile, 0),
        wide_index_(kTile * kTile, -1) {
    // A pair of rows whose sum might not fit 127 bits gets an accumulator.
    for (std::int64_t m = m0_; m < m1_; ++m) {
      for (std::int64_t n = n0_; n < n1_; ++n) {
        if (Spread(x_, m) + Spread(w_, n) + sum_bits <= 127) continue;
        wide_index_[At(m, n)] = static_cast<int>(wide_.size());
        wide_.emplace_back();
      }
    }
  }

  void AddBlock(std::int64_t block) {
    x_.LoadBlock(block, m0_, m1_, &x_slices_);
    w_.LoadBlock(block, n0_, n1_, &w_slices_);
    if (x_slices_.count == 0 || w_slices_.count == 0) return;
    dots_.noalias() = x_slices_.integers.topRows(x_slices_.count) *
                      w_slices_.integers.topRows(w_slices_.count).transpose();
    for (std::int64_t i = 0; i < x_slices_.count; ++i) {
      for (std::int64_t j = 0; j < w_slices_.count; ++j) {
        const std::int64_t m = x_slices_.rows[i];
        const std::int64_t n = w_slices_.rows[j];
        const int exponent = x_slices_.exponents[i] + w_slices_.exponents[j];
        const std::int64_t dot = static_cast<std::int64_t>(dots_(i, j));
        if (wide_.empty() || wide_index_[At(m, n)] < 0) {
          sums_[At(m, n)] += static_cast<Int128>(dot) << (exponent - Base(m, n));
        } else {
          wide_[wide_index_[At(m, n)]].Add(dot, exponent);
        }
      }
    }
  }

  void Store(Tensor<Out, 2>* out) const {
    for (std::int64_t m = m0_; m < m1_; ++m) {
      for (std::int64_t n = n0_; n < n1_; ++n) {
        const int wide = wide_index_[At(m, n)];
        const Int128 sum = sums_[At(m, n)];
        (*out)(m, n) =
            wide >= 0 ? Round<Out>(wide_[wide]) : Round<Out>(sum, sum == 0 ? 0 : Base(m, n));
      }
    }
  }

 private:
  static int Spread(const FixedPointOperand& operand, std::int64_t row) {
    return std::max(0, operand.highest_exponent(row) - operand.lowest_exponent(row));
  }

  std::int64_t At(std::int64_t m, std::int64_t n) const { return (m - m0_) * kTile + n - n0_; }

  // The exponent that sums_ counts in.
  int Base(std::int64_t m, std::int64_t n) const {
    return x_.lowest_exponent(m) + w_.lowest_exponent(n);
  }

  const FixedPointOperand& x_;
  const FixedPointOperand& w_;
  const std::int64_t m0_, m1_, n0_, n1_;
  std::vector<Int128> sums_;
  std::vector<int> wide_index_;
  std::vector<ExactAccumulator> wide_;
  BlockSlices x_slices_;
  BlockSlices w_slices_;
  Matrix<double> dots_;
};

// What infinite elements make of the outputs of their rows: the sign of the infinity, or NaN.
template <class Out>
void ApplyInfinities(const FixedPointOperand& x, const FixedPointOperand& w, Tensor<Out, 2>* out) {
  if (x.infinities().empty() && w.infinities().empty()) return;
  Tensor<float, 2> sums(x.rows(), w.rows());
  sums.setZero();
  const auto add = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const float sign = static_cast<float>(x.Sign(m, k) * w.Sign(n, k));
    sums(m, n) += sign * std::numeric_limits<float>::infinity();
  };
  for (const InfiniteElement& infinity : x.infinities()) {
    for (std::int64_t n = 0; n < w.rows(); ++n) add(infinity.row, n, infinity.k);
  }
  for (const InfiniteElement& infinity : w.infinities()) {
    for (std::int64_t m = 0; m < x.rows(); ++m) add(m, infinity.row, infinity.k);
  }
  for (std::int64_t m = 0; m < x.rows(); ++m) {
    for (std::int64_t n = 0; n < w.rows(); ++n) {
      if (std::isnan(sums(m, n))) {
        (*out)(m, n) = FromFloat<Out>(std::numeric_limits<float>::quiet_NaN());
      } else if (sums(m, n) != 0) {
        (*out)(m, n) = FromFloat<Out>(sums(m, n));
      }
    }
  }
}

template <class Out>
void ApplyNans(const FixedPointOperand& x, const FixedPointOperand& w, Tensor<Out, 2>* out) {
  for (std::int64_t m = 0; m < x.rows(); ++m) {
    for (std::int64_t n = 0; n < w.rows(); ++n) {
      if (x.is_nan(m) || w.is_nan(n)) {
        (*out)(m, n) = FromFloat<Out>(std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
}

// Shares the bits of a product between the operands: each what it needs if that fits, else the
// wider one what is left.
void SetBits(FixedPointOperand* x, FixedPointOperand* w) {
  const int half = kProductBits / 2;
  int x_bits = std::min(x->full_bits(), std::max(half, kProductBits - w->full_bits()));
  int w_bits = std::min(w->full_bits(), kProductBits - x_bits);
  x->SetBits(x_bits);
  w->SetBits(w_bits);
}

template <class Out>
Tensor<Out, 2> Multiply(FixedPointOperand x, FixedPointOperand w) {
  SetBits(&x, &w);
  const std::int64_t terms =
      std::max<std::int64_t>(1, x.blocks()) * x.most_slices() * w.most_slices();
  const int sum_bits = 53 + std::bit_width(static_cast<std::uint64_t>(terms));
  Tensor<Out, 2> out(x.rows(), w.rows());
  const std::int64_t m_tiles = (x.rows() + kTile - 1) / kTile;
  const std::int64_t n_tiles = (w.rows() + kTile - 1) / kTile;
  ParallelFor(m_tiles * n_tiles, [&](std::int64_t task) {
    TileSum<Out> sum(x, w, sum_bits, task % m_tiles * kTile, task / m_tiles * kTile);
    for (std::int64_t block = 0; block < x.blocks(); ++block) sum.AddBlock(block);
    sum.Store(&out);
  });
  ApplyInfinities(x, w, &out);
  ApplyNans(x, w, &out);
  return out;
}

}  // namespace

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const MxMatrix& x, const MxMatrix& w) {
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  return Multiply<Out>(FixedPointOperand(x), FixedPointOperand(w));
}

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const Tensor<Bf16, 2>& x, const MxMatrix& w) {
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.dimension(1), "w", w.k()); !status.ok()) {
    return status;
  }
  return Multiply<Out>(FixedPointOperand(x), FixedPointOperand(w));
}

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w) {
  absl::Status status = CheckSameK("x", x.dimension(1), "w", w.dimension(1));
  if (!status.ok()) return status;
  return Multiply<Out>(FixedPointOperand(x), FixedPointOperand(w));
}

template absl::StatusOr<Tensor<float, 2>> ExactLinear(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<Bf16, 2>> ExactLinear(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<double, 2>> ExactLinear(const MxMatrix&, const MxMatrix&);
template absl::StatusOr<Tensor<float, 2>> ExactLinear(const Tensor<Bf16, 2>&, const MxMatrix&);
template absl::StatusOr<Tensor<Bf16, 2>> ExactLinear(const Tensor<Bf16, 2>&, const MxMatrix&);
template absl::StatusOr<Tensor<double, 2>> ExactLinear(const Tensor<Bf16, 2>&, const MxMatrix&);
template absl::StatusOr<Tensor<float, 2>> ExactLinear(const Tensor<Bf16, 2>&,
                                                      const Tensor<Bf16, 2>&);
template absl::StatusOr<Tensor<Bf16, 2>> ExactLinear(const Tensor<Bf16, 2>&,
                                                     const Tensor<Bf16, 2>&);
template absl::StatusOr<Tensor<double, 2>> ExactLinear(const Tensor<Bf16, 2>&,
                                                       const Tensor<Bf16, 2>&);

}  // namespace lanewise::reference
