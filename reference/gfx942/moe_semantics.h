#ifndef LANEWISE_REFERENCE_GFX942_MOE_SEMANTICS_H_
#define LANEWISE_REFERENCE_GFX942_MOE_SEMANTICS_H_

// The mixture of MXFP4 experts on gfx942, decode, as `Planned`: two GEMVs of FP4 weights by FP8
// activations, the activation between them, the sum over a token's picks, and the shared expert.
//
// Operands. gfx942 has no FP4: a nibble becomes the FNUZ byte of its value times 2^-7 by moving
// bits, and the factor makes up for it. The conversion leaves each 8 values along K as 0 2 4 6 1 3
// 5 7, and activations are stored in the same order. That the matrix core adds even and odd k apart
// does not show, though: a product is a multiple of 2^-18 (2^-8 of the weight, 2^-10 of the
// activation) below 2^4, so that its sums of 16 lose nothing to truncation at 2^-22 and round once,
// whatever their order.
//   d   = v_mfma_f32_16x16x32_fp8_fp8 of a block of 32, C = 0
//   acc = RNE32(acc + d * 2^(cw + 7 + cx - 254))      cw is the weight row's own code
//
//   up/gate  K in `slices` contiguous runs of blocks, each ascending in one accumulator; then
//            s0 + s1, of four slices (s0 + s1) + (s2 + s3)
//   down     all blocks ascending in one accumulator
// The source takes less: its up/gate kernel reads each slice in rounds of 8 blocks, so K must be a
// multiple of 512 there, and inter one of 64. Here K is a multiple of 32 * slices, inter of 32; on
// the shapes that both take they agree.
//
// Whole: routed_moe.h; x and the activated rows are quantized with RoutedActivationOptions. The
// activation is where kernels may differ, within ActivationRange; before it and after it they equal
// this bit for bit.
//
// Exact counterpart of each GEMV: ExactLinear(quantized x, e2m1 w).
//
// Source: vLLM's DeepSeek V4.1 mono decode for gfx942 (moe), which keeps the bytes of seed 000.

#include <cstdint>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/gemm/routed_moe.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// e4m3fnuz, kRoundUp with maximum 224, floor 1e-10, smallest code 1. A zero block has code 86.
// Of blocks that are not finite the whole output row is NaN, whatever non_finite says; the source's
// own bytes are kNanTopCode's.
QuantizeOptions RoutedActivationOptions();

// Packed e2m1 rows as FNUZ bytes of 2^-7 times their values, in logical order, -0 as +0; codes as
// they are. The bytes' products need kFp4ExponentOffset more in the exponent.
inline constexpr int kFp4ExponentOffset = 7;
absl::StatusOr<Quantized> FnuzFromFp4(const MxMatrix& w);

// Two slices, or four. InvalidArgument unless k / 32 is a multiple of `slices`.
absl::StatusOr<Reduction> UpGateReduction(std::int64_t k, int slices = 2);
absl::StatusOr<Reduction> DownReduction(std::int64_t k);

// out [M, N] float32 of x [M, K] e4m3fnuz and w [N, K] e2m1, both in logical order. NaN where a row
// of x or w has a NaN byte or a code of 255. InvalidArgument for other formats, shapes that do not
// match, K that the reduction refuses.
absl::StatusOr<Tensor<float, 2>> UpGateGemv(const MxMatrix& x, const MxMatrix& w, int slices = 2);
absl::StatusOr<Tensor<float, 2>> DownGemv(const MxMatrix& x, const MxMatrix& w);

// The routed experts' sum, and shared [tokens, K] if there is one.
absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared,
                                        const Swiglu& swiglu);
// With kDeepSeekSwiglu.
absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared);

// The shared expert of x [tokens, K]: gate_up [2 inter, K] (gate rows, then up rows) and down [K,
// inter] are FNUZ weights (FnuzWeight). Gate and up are DenseGemv rounded to bf16, then
// ActivateSharedExpert, then DenseGemv rounded to bf16; both GEMVs have kDensePlan and quantize as
// it does. [tokens, K]; one rank's part, to be added up by SumRanks.
absl::StatusOr<Tensor<Bf16, 2>> SharedExpert(const Tensor<Bf16, 2>& x, const MxMatrix& gate_up,
                                             const MxMatrix& down,
                                             const Swiglu& swiglu = kDeepSeekSwiglu);

// What down is multiplied with: ActivateSharedExpert of each row's gate and up, [tokens, 2 inter]
// -> [tokens, inter]. InvalidArgument for an odd number of columns.
absl::StatusOr<Tensor<Bf16, 2>> ActivateSharedRows(const Tensor<Bf16, 2>& gate_up,
                                                   const Swiglu& swiglu);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_MOE_SEMANTICS_H_
