#ifndef LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_
#define LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_

// The decode mixture of experts with bf16 activations and MXFP4 weights (A16W4) on gfx950, as
// `Planned`. The shapes are MiniMax M3's: 1 to 16 tokens, 4 picks and one shared expert each.
//
//   // 128 experts and the shared one, number 128, on this rank
//   LANEWISE_ASSIGN_OR_RETURN(const MoeOutput moe, A16w4Moe(x, experts, routing, 128));
//
// One step covers 128 of K. A lane's dword d (0 .. 3) of a step holds its row's
// K 128 st + 32 j + 8 d .. + 8 (j the lane group), so the instruction for d, a
// v_mfma_f32_16x16x32_bf16, multiplies the K set
//   { 128 st + 32 j + 8 d + i : j = 0 .. 3, i = 0 .. 7 }
// and mixes four scale groups; the weight's bf16 value is e2m1 * 2^(code - 127), exact but for
// codes of 253 and more, which may overflow to infinity; code 255 gives NaN. By cdna4.h's contract,
// acc = RNE32(acc + exact sum of the 32 products). A step is d = 0, 1, 2, 3. Steps come in pairs,
// since a lane's dword of codes holds two: K and inter are multiples of 256.
//
//   up/gate     8 waves, wave v the v-th run of ceil(pairs / 8) pairs of steps, one chain a wave;
//               the waves in order from +0, ((0 + p0) + p1) ... For M3's K of 6144: 6 steps a wave.
//   activation  kGptOssSwiglu, to bf16
//   down        one chain over inter: c
//   combine     s = bf16(c of the shared expert), which has no weight; then, in top-k order,
//               s = bf16(s + bf16(fl(weight * c))). Without a shared expert s starts from +0.
//   biases      as in routed_moe.h
// s is one rank's part, to be added up by SumRanks. A row depends on nothing but itself: the layer
// is batch-invariant. (Rows that are padding are not given to it; the source writes zeros there.)
//
// A code of 0 stands for 2^-127 here, as everywhere. The source puts the code into a float32's
// exponent field, which makes 0 the scale +0: what the conversion makes of that, the ISA's text says
// (its exponent field counts, 2^-127), and no measurement is known.
//
// Exact counterpart of each GEMM: ExactLinear(x, w). Source: seed 002, and vLLM's MiniMax M3 mono
// decode, whose whole FFN launch was run.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/routed_moe.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// What K and inter must be multiples of: two steps.
inline constexpr std::int64_t kA16w4KMultiple = 256;

// out [M, N] float32 of x [M, K] bf16 and w [N, K] e2m1, in the plan of up/gate. InvalidArgument if
// w is not of e2m1, K differs or is not a multiple of 256.
absl::StatusOr<Tensor<float, 2>> A16w4UpGate(const Tensor<Bf16, 2>& x, const MxMatrix& w);

// The same in the plan of down.
absl::StatusOr<Tensor<float, 2>> A16w4Down(const Tensor<Bf16, 2>& x, const MxMatrix& w);

// out [tokens, K]. `shared_expert` is the shared expert's number, counted as the picks are; none if
// it has none or another rank has it. Biases, and experts that other ranks have: routed_moe.h.
// InvalidArgument for shapes that do not match, K or inter not a multiple of 256, a shared expert
// that is not among this rank's.
absl::StatusOr<MoeOutput> A16w4Moe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                   const Routing& routing,
                                   std::optional<std::int64_t> shared_expert);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_
