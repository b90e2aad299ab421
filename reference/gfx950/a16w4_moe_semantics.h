#ifndef LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_
#define LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_

// The decode mixture of experts with bf16 activations and MXFP4 weights (A16W4) on gfx950, as
// `Planned`. The shapes are MiniMax M3's: 1 to 16 tokens, 4 picks and one shared expert each.
//
// One step covers 128 of K. A lane's dword d (0 .. 3) of a step holds its row's K 128 st + 32 j + 8
// d .. + 8 (j the lane group), so the instruction for d, a v_mfma_f32_16x16x32_bf16, multiplies the
// K set
//   { 128 st + 32 j + 8 d + i : j = 0 .. 3, i = 0 .. 7 }
// and mixes four scale groups; the weight's bf16 value is e2m1 * 2^(code - 127), exact but for
// codes of 253 and more, which may overflow to infinity; code 255 gives NaN. By cdna4.h's contract,
// acc = RNE32(acc + exact sum of the 32 products). A step is d = 0, 1, 2, 3.
//
// Up/gate: the K / 128 steps in 8 waves, wave v the v-th run of ceil(steps / 8), one chain a wave;
// waves added in order, (p0 + p1) + p2 ... Activation: kGptOssSwiglu, to bf16.
//
// Down: units of (expert, step of inter). A unit's c is one step from zero; a wave adds fl(c *
// weight) to its sum, float32, the product rounded first. Units are numbered expert-major, unit u
// belongs to wave u % 4 and a wave takes its units in ascending order. What the experts' order is
// depends on the number of tokens S:
//   S <= 4   the token's own picks, in top-k order
//   S >= 5   the union of all tokens' experts, ascending; an expert that a token did not pick adds
//   nothing to it
// The shared expert has four sums of its own, by step % 4. Then ((w0 + w1) + w2) + w3, + s0 + s1 +
// s2 + s3, rounded to bf16: one rank's part, to be added up by SumRanks.
//
// Where the source leaves it open (whether c * weight is fused into the sum, and how the dealing of
// a sibling kernel carries over to bf16 operands), this is our contract.
//
// Exact counterpart of each GEMM: ExactLinear(x, w). Source: seed 002, and vLLM's MiniMax M3 mono
// decode.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/reduction.h"
#include "reference/gemm/routed_moe.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// Tokens up to which each token's picks are dealt on their own.
inline constexpr std::int64_t kNarrowTokens = 4;

// out [M, N] float32 of x [M, K] bf16 and w [N, K] e2m1, in the plan of up/gate. InvalidArgument if
// w is not of e2m1, K differs or is not a multiple of 128.
absl::StatusOr<Tensor<float, 2>> A16w4UpGate(const Tensor<Bf16, 2>& x, const MxMatrix& w);

// The shared expert: its place among the experts, and its weight for each token, [tokens].
struct SharedPick {
  std::int64_t expert;
  const Tensor<float, 1>& weights;
};

// out [tokens, K]; shared may be null. Picks of experts that do not exist add nothing and are
// counted. InvalidArgument for shapes that do not match, K or inter not a multiple of 128, a shared
// expert that does not exist.
absl::StatusOr<MoeOutput> A16w4Moe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                   const Routing& routing, const SharedPick* shared);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_A16W4_MOE_SEMANTICS_H_
