#ifndef LANEWISE_REFERENCE_GFX950_MOE_SEMANTICS_H_
#define LANEWISE_REFERENCE_GFX950_MOE_SEMANTICS_H_

// The mixture of MXFP4 experts on gfx950, decode, as `Planned`: gfx942's (moe_semantics.h there)
// with scaled matrix instructions, v_mfma_scale_f32_16x16x128_f8f6f4 of FP4 weights and FP8
// activations.
//
//   for each block of 32, by cdna4.h's contract:
//     acc = RNE32(acc + exact dot product * 2^(cw + cx - 254))
//
// Steps of 128 along K; blocks ascend within an accumulator. A last step of less than 128 has the
// blocks that K has. (The kernel pads inter to 128 with zero blocks, which add nothing.)
//   up/gate, two slices   groups of 8 steps (1024 of K), the even groups in one accumulator and the
//                         odd ones in another; if the number of groups is odd, the first four steps
//                         of the last one join the first, the rest the second; then s0 + s1.
//   up/gate, four slices  slice s takes steps 8 i + 2 s and 8 i + 2 s + 1 for i = 0, 1, ..; then
//                         (s0 + s1) + (s2 + s3). This is the DSpark draft runner's.
//   down                  the even steps in one accumulator, the odd ones in another; then a0 + a1.
//
// Exact counterpart of each GEMV: ExactLinear(quantized x, e2m1 w).
//
// Source: vLLM's DeepSeek V4.1 mono decode for gfx950 (moe).

#include <cstdint>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/gemm/routed_moe.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// e4m3fn, kRoundUp with maximum 448, floor 1e-10, smallest code 1. A zero block has code 85.
// Of blocks that are not finite the whole output row is NaN, whatever non_finite says; the source's
// own bytes are kNanTopCode's.
QuantizeOptions RoutedActivationOptions();

// Two slices, or the draft's four. InvalidArgument unless k is a multiple of 32, of 1024 with four
// slices, and `slices` 2 or 4.
absl::StatusOr<Reduction> UpGateReduction(std::int64_t k, int slices = 2);
absl::StatusOr<Reduction> DownReduction(std::int64_t k);

// out [M, N] float32 of x [M, K] e4m3fn and w [N, K] e2m1. NaN: reduction.h. InvalidArgument for
// other formats, shapes that do not match, K that is not a multiple of 32.
absl::StatusOr<Tensor<float, 2>> UpGateGemv(const MxMatrix& x, const MxMatrix& w, int slices = 2);
absl::StatusOr<Tensor<float, 2>> DownGemv(const MxMatrix& x, const MxMatrix& w);

// The routed experts' sum (routed_moe.h, kDeepSeekSwiglu), and shared [tokens, K] if there is one.
absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_MOE_SEMANTICS_H_
