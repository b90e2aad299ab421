#ifndef LANEWISE_REFERENCE_GFX950_BF16_GEMM_H_
#define LANEWISE_REFERENCE_GFX950_BF16_GEMM_H_

// A bf16 linear on gfx950, as `Planned`: what serves an MXFP8 weight that was dequantized because
// its K is no multiple of 128.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]      x [M, K], w [N, K] bf16
//
// One chain of v_mfma_f32_16x16x32_bf16 over K: for each 32 of K, ascending,
// acc = RNE32(acc + exact sum of the 32 products), K past the end read as zero. That is cdna4.h's
// contract, and the order is ours: the source calls its BLAS library, whose order is not known.
// Output: float32, rounded once to bf16. Exact counterpart: ExactLinear(x, w). A NaN, Inf * 0 or
// Inf - Inf gives NaN.

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// out [M, N], float32. InvalidArgument if K differs.
absl::StatusOr<Tensor<float, 2>> Bf16Gemm(const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_BF16_GEMM_H_
