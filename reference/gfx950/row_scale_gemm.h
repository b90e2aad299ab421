#ifndef LANEWISE_REFERENCE_GFX950_ROW_SCALE_GEMM_H_
#define LANEWISE_REFERENCE_GFX950_ROW_SCALE_GEMM_H_

// gfx950's MXFP8 linear with one scale code per row and 32 K, as `Planned`.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]     x [M, K], w [N, K] e4m3fn, codes [M, K / 32],
//   [N, K / 32]
//
// The kernel's loop over K feeds each scaled matrix instruction's result to the next one, so that
// all of K is one chain: for the blocks of 32 in ascending order, acc = RNE32(acc + dot * 2^(cx +
// cw - 254)), the dot product exact. That is cdna4.h's contract, not measured silicon. The tile
// (tile_selection.h) and the shape of the instruction do not show in the result; nor does it show
// whether the kernel quantized x itself (QuantizeTile) or found it quantized.
//
// K must be a multiple of 128: the loop over K is not masked. Output: float32, then bf16
// (output.h); a bias is added to that (AddBias). Exact counterpart: ExactLinear(x, w).
//
// Source: vLLM's _mxfp8_linear_kernel; that Triton folds the addition into the instruction's C
// operand was read in its compiler, and depends on its version.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// What K must be a multiple of where the weight has row codes.
inline constexpr std::int64_t kRowScaleKMultiple = 128;

// One chain over K = `k`. InvalidArgument if k is not a multiple of 128.
absl::StatusOr<Reduction> RowScaleReduction(std::int64_t k);

// out [M, N], float32. InvalidArgument if x or w is not of e4m3fn, if K differs or is not a
// multiple of 128, or codes do not fit. NaN: reduction.h.
absl::StatusOr<Tensor<float, 2>> RowScaleGemm(const MxMatrix& x, const MxMatrix& w);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_ROW_SCALE_GEMM_H_
