#ifndef LANEWISE_REFERENCE_GEMM_ACCURACY_H_
#define LANEWISE_REFERENCE_GEMM_ACCURACY_H_

// How far a `Planned` result is from the `Exact` one, and how far it may be.
//
// For one output let S = sum over k of |x[m][k] * w[n][k]| and u = 2^-24. Rounding to nearest of
// any partial sum errs by at most u times it, and no partial sum exceeds S by more than its own
// errors, so
//   |planned - exact| <= B * u * S * (1 + B * u) + 2^-149 * B
// where B is the number of roundings that a product passes on its way to the output, RoundingDepth,
// plus what the matrix core loses inside a block, in units of u * S of that block.

#include <cstdint>

#include "reference/gemm/reduction.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// The most roundings to float32 between a block's dot product and the value of the reduction.
int RoundingDepth(const Reduction& reduction);

// What gfx942's matrix core loses in a block of 32 products of FP8 with C = 0, in u * S. Per step
// of 16 products (cdna3.h) with P = max(largest |product|, |c|) <= S: the truncated products 16 P,
// the two floors of the groups 2 P, the floors of t and c 1.01 P, of s and its rounding 1.01 S; two
// steps. A step truncates only where its largest exponent is above 4: products and c are multiples
// of 2^-20. There both factors of that product are normal, so that P is no less than 2 to that
// exponent.
inline constexpr double kCdna3BlockError = 41;

struct Accuracy {
  std::int64_t elements = 0;
  // Errors in units of the last place of float32 at the exact value, where that is not zero: of the
  // worst element, and their root mean square.
  double max_ulps = 0;
  double rms_ulps = 0;
  // The worst error after one more rounding, in units of the last place of bf16 at the exact value,
  // where that is not zero. Rounding the exact value itself would give up to 0.5.
  double max_bf16_ulps = 0;
  // The worst |planned - exact| / (u * S), to be held against the bound B.
  double worst = 0;
  double bound = 0;
  // Where that was.
  std::int64_t worst_m = 0;
  std::int64_t worst_n = 0;

  bool WithinBound() const { return worst <= bound; }
};

// All three [M, N] and finite: planned, exact, and S (`magnitude`).
Accuracy MeasureAccuracy(const Tensor<float, 2>& planned, const Tensor<double, 2>& exact,
                         const Tensor<double, 2>& magnitude, double bound);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_ACCURACY_H_
