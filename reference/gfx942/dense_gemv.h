#ifndef LANEWISE_REFERENCE_GFX942_DENSE_GEMV_H_
#define LANEWISE_REFERENCE_GFX942_DENSE_GEMV_H_

// The dense FP8 GEMV of gfx942 (attention projections, shared experts), as `Planned`.
//
//   out[m][n] = sum over k of x[m][k] * w[n][k]
//   x [M, K] bf16, w [N, K] with 32 x 32 block scales
//
// 1. x is quantized to e4m3fnuz per 32 along K (DenseActivationOptions).
// 2. Each block of 32 is one v_mfma_f32_16x16x32_fp8_fp8 with C = 0, in cdna3.h's arithmetic: d.
// 3. acc = RNE32(acc + d * 2^(cw + cx - 254)), the product exact for every pair of codes. Blocks go
//    in ascending order within a wave's steps of 128 along K; which steps a wave has, the plan says.
// 4. ((0 + p0) + p1) ... over the waves, float32, then the workgroups that share K, h0 + h1.
//
// K that is no multiple of 128 is padded with zero bytes in the weight's copy (dense.h); zero
// blocks add nothing, so the reduction leaves them out. Outputs: float32, from which each use goes
// on (bf16 for wqkv, wq_b, wo_a; output.h has the sum over ranks of wo_b).
//
// Exact counterpart: ExactLinear(quantized x, w). Errors: InvalidArgument, as stated below.
//
// Source: vLLM's DeepSeek V4.1 mono decode for gfx942, attention.gemv. One thing is ours: the
// source puts (cw + cx - 127) into the exponent bits of its factor, and where that sum is below 0
// the factor is no power of two. A zero block of x has code 1; beside a weight whose FNUZ code is
// 125 (OCP 124) the bits are -Inf, 0 * -Inf is NaN, and the whole row of outputs is NaN. (Codes 124
// and 126 give none; real weights have codes near 115.) Here the factor is exact, and a zero block
// adds nothing.

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/dense_gemv_plan.h"
#include "reference/gemm/operand.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// How K is dealt out.
using reference::DenseGemvPlan;
using reference::DenseGemvReduction;
using reference::kBlocksPerStep;
using reference::kDensePlan;
using reference::kGroupedPlan;
using reference::kSplitPlan;

// e4m3fnuz, kExact, maximum 224, floor 2^-126, smallest code 1: a block of zeros has code 1, and so
// have all whose amax is below 224 * 2^-126. NaN and infinity: kNanTopCode. With 224 the codes are OCP's (448) plus one and the
// bytes OCP's, -0 aside.
QuantizeOptions DenseActivationOptions();

// An OCP e4m3 weight as gfx942 reads it, in logical order: the same bytes stand for half the value,
// so codes are one higher; -0 (0x80) becomes 0x00. `ocp` is of e4m3fn with either kind of scales.
// Refused: a byte 0x7F or 0xFF (the OCP NaN would become a finite number), a code of 250 or more
// (as the copy does).
absl::StatusOr<Quantized> FnuzWeight(const MxMatrix& ocp);

// out [M, N] of quantized activations x [M, K] and a FNUZ weight w [N, K] (FnuzWeight). NaN where a
// row of x or w has a NaN byte (0x80) or a code of 255.
absl::StatusOr<Tensor<float, 2>> DenseGemv(const MxMatrix& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan);

// The same with x still to be quantized.
absl::StatusOr<Tensor<float, 2>> DenseGemv(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_DENSE_GEMV_H_
