#ifndef LANEWISE_REFERENCE_GFX950_BLOCK32_GEMM_H_
#define LANEWISE_REFERENCE_GFX950_BLOCK32_GEMM_H_

// gfx950's MXFP8 GEMM with 32 x 32 block scales, as `Planned`.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]     x [M, K] e4m3fn, codes [M, K / 32]
//                                                   w [N, K] e4m3fn, codes [N / 32, K / 32]
//
// The reduction, of a configuration (block32_selection.h) for K a multiple of 32:
//   split    K is cut into runs of size = ceil(ceil(K / split) / step) * step, where step is what a
//            program covers at a time: block_k, packed pack * block_k. There are ceil(K / size)
//            runs.
//   tiled    within a run, one accumulator over its blocks of 32, ascending.
//   packed   panel p of a run has an accumulator of its own, over the blocks in
//            [base + p * block_k, base + (p + 1) * block_k) for base = run, run + step, ...,
//            ascending; then p0, or p0 + p1, or (p0 + p2) + (p1 + p3), of one, two, four panels:
//            the source leaves the order to its compiler, and this is what Triton 3.9 makes of it.
//   combine  with more than one run, ((0 + r0) + r1) ..., whoever does it.
// Every block is acc = RNE32(acc + dot * 2^(cx + cw - 254)) with the dot product exact: cdna4.h's
// contract, not measured silicon. Blocks past K are masked and add nothing.
//
// So the result depends on M where the configuration does: it is deterministic, but not
// batch-invariant (mxfp8_linear.h has the choice that is). Output: float32, rounded once to bf16.
// Exact counterpart: ExactLinear.
//
// Source: vLLM's rocm_mxfp8_block32_gemm, and the one that quantizes its activation.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/gfx950/block32_table.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// InvalidArgument if k is not a multiple of 32, or a size of `config` is not positive, block_k is
// not a multiple of 32, or pack not 1, 2 or 4.
absl::StatusOr<Reduction> Block32Reduction(std::int64_t k, const Block32Config& config);

// out [M, N], float32. InvalidArgument as there, or if x or w is not of e4m3fn, K differs, w's
// codes are not [N / 32, K / 32], or x's do not fit. NaN: reduction.h.
absl::StatusOr<Tensor<float, 2>> Block32Gemm(const MxMatrix& x, const MxMatrix& w,
                                             const Block32Config& config);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_BLOCK32_GEMM_H_
