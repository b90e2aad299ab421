#ifndef LANEWISE_REFERENCE_GFX950_DENSE_GEMV_H_
#define LANEWISE_REFERENCE_GFX950_DENSE_GEMV_H_

// The dense FP8 GEMV of gfx950's decode step (attention projections, shared experts), as `Planned`:
// gfx942's deal of K (dense_gemv_plan.h) with scaled matrix instructions.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]
//   x [M, K] bf16, w [N, K] e4m3fn with 32 x 32 block scales or row scales
//
// 1. x is quantized to e4m3fn per 32 along K (DenseActivationOptions).
// 2. A wave's steps are one chain of v_mfma_scale_f32_16x16x128_f8f6f4: blocks of 32 ascending,
//    acc = RNE32(acc + exact dot product * 2^(cw + cx - 254)). That is cdna4.h's contract, not
//    measured silicon.
// 3. ((0 + p0) + p1) ... over the waves, float32, then the workgroups that share K, h0 + h1.
//
// Of a last step that K fills by half, the other two blocks are zeros of code 127, which add
// nothing. Output: float32. Exact counterpart: ExactLinear(quantized x, w).
//
// Source: vLLM's DeepSeek V4.1 mono decode for gfx950 (stages.gemv).

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/dense_gemv_plan.h"
#include "reference/gemm/operand.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// e4m3fn, kExact, maximum 448, floor 2^-126, smallest code 1, NaN and infinity kNanTopCode.
QuantizeOptions DenseActivationOptions();

// out [M, N] of quantized activations x [M, K] and w [N, K], both e4m3fn. NaN: reduction.h.
// InvalidArgument for other formats, shapes that do not match, a plan without waves.
absl::StatusOr<Tensor<float, 2>> DenseGemv(const MxMatrix& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan);

// The same with x still to be quantized.
absl::StatusOr<Tensor<float, 2>> DenseGemv(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_DENSE_GEMV_H_
