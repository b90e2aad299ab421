#ifndef LANEWISE_REFERENCE_GEMM_EXACT_LINEAR_H_
#define LANEWISE_REFERENCE_GEMM_EXACT_LINEAR_H_

// The `Exact` semantics of every linear here:
//
//   out[m][n] = round(sum over k of x[m][k] * w[n][k])
//
// the true sum of the products of dequantized values, rounded once, nearest-even, to the output's
// format. No kernel computes this; every kernel is measured against it. It does not depend on the
// order of K, on tiles, threads or machine.
//
//   x      MX [M, K] (MXFP8 activation) or bf16 [M, K]
//   w      MX [N, K] (MXFP8 with row or 32 x 32 block scales, MXFP4) or bf16 [N, K]
//   out    [M, N] of float, Bf16 or double
//
// As double it is for measuring errors: within 2^-47 of the true sum, relatively, not always
// rounded right.
//
// What is not finite: a NaN element of x[m] or w[n], or a code of 255 in a block of theirs, makes
// out[m][n] NaN, whatever it would be multiplied by. An infinite element (bf16, e5m2) times zero is
// NaN, else an infinity; infinities of both signs make NaN. A true sum of zero is +0; one that
// rounds to 2^128 or more is an infinity. NaN is the quiet NaN with no payload (0x7FC00000,
// 0x7FC0).
//
// Errors: InvalidArgument if K differs or is not a multiple of 32, or codes do not fit elements
// (operand.h).
//
// How. An operand's block of 32 along K is written as integers times one power of two per row, so
// few bits wide that any sum of 32 products of integers stays below 2^53. Then a product of such
// blocks in double precision is exact however Eigen orders or fuses it: every partial sum is an
// integer below 2^53. Blocks of e4m3 are 18 bits wide and of e2m1 4, whatever they hold. Where a
// block is wider than what the other operand leaves of 48 bits (bfloat16, e5m2 by e5m2) it is cut
// into slices by exponent, each a row of its own in the product. The blocks' dot products are then
// added as integers of 128 bits; where the scales of a pair of rows spread too far apart for that,
// in an ExactAccumulator.

#include <cstdint>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"

namespace lanewise::reference {

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const MxMatrix& x, const MxMatrix& w);

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const Tensor<Bf16, 2>& x, const MxMatrix& w);

// K need not be a multiple of 32 here.
template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_EXACT_LINEAR_H_
