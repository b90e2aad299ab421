#ifndef LANEWISE_REFERENCE_GEMM_ROUTED_MOE_H_
#define LANEWISE_REFERENCE_GEMM_ROUTED_MOE_H_

// What the routed mixtures of experts of gfx942 and gfx950 have in common: which expert sees which
// token, and how the experts' outputs become one row. The two GEMMs are the target's own.

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// MXFP4 experts in the plain order (packed e2m1, the even k in the low nibble). E experts, K the
// hidden size. Views; what they refer to must outlive them.
struct ExpertTensors {
  const Tensor<std::uint8_t, 3>& w13;        // [E, 2 inter, K / 2]: gate rows, then up rows
  const Tensor<std::uint8_t, 3>& w13_codes;  // [E, 2 inter, K / 32]
  const Tensor<std::uint8_t, 3>& w2;         // [E, K, inter / 2]
  const Tensor<std::uint8_t, 3>& w2_codes;   // [E, K, inter / 32]
  // gpt-oss's, or null. Rows of w13 and of w2 have one number each for an expert.
  const Tensor<Bf16, 2>* w13_bias = nullptr;  // [E, 2 inter]: gate rows, then up rows
  const Tensor<Bf16, 2>* w2_bias = nullptr;   // [E, K]
};

// OK, or InvalidArgument naming the tensor: shapes that do not belong together, K or inter not a
// multiple of 32.
absl::Status CheckExpertTensors(const ExpertTensors& experts);

// Which experts a token goes to, and with what weight: [tokens, top_k] both.
struct Routing {
  const Tensor<std::int32_t, 2>& experts;
  const Tensor<float, 2>& weights;
  // By expert parallelism a rank's tensors hold E of the layer's `all_experts`, of which theirs is
  // the run from `first_expert` on. 0: the layer has no others.
  std::int64_t first_expert = 0;
  std::int64_t all_experts = 0;
};

// The two GEMMs: float32 [picks, rows of w] of bf16 [picks, K] and a matrix of e2m1.
using ExpertGemm =
    std::function<absl::StatusOr<Tensor<float, 2>>(const Tensor<Bf16, 2>& x, const MxMatrix& w)>;
struct MoeStages {
  ExpertGemm up_gate;  // w is w13 of an expert.
  Swiglu swiglu;
  ExpertGemm down;  // w is w2 of an expert; x the activated rows.
  // A token's sum starts from shared[t], and does not end with it.
  bool shared_first = false;
};

struct MoeOutput {
  Tensor<Bf16, 2> out;  // [tokens, K]
  // Picks of an expert that the layer does not have (below 0 or from all_experts on). They add
  // nothing, and neither do picks of experts that are elsewhere, which are not counted.
  std::int64_t skipped = 0;
};

// For every token t and pick j, in top-k order:
//   y = Activate(swiglu, gate, up), gate and up rows i and inter + i of up_gate(x[t], w13[e])
//   c_j = bf16(fl(down(y, w2[e]) * weight[t, j]))
//   s = 0; s = bf16(s + c_j) for j = 0, 1, ...; out[t] = bf16(s + shared[t])   (without shared: s)
//   stages.shared_first: s = shared[t]; s = bf16(s + c_j) for j = 0, 1, ...; out[t] = s
// A bias is added to each sum of up_gate and down, and that rounded to float32, before anything
// else. (Of ranks that share inter, one alone has the bias of w2.)
// x is [tokens, K], shared [tokens, K] or null. A weight of 0 still multiplies: 0 * NaN is NaN.
// InvalidArgument for shapes that do not match, or for a run of experts that the layer does not
// have.
absl::StatusOr<MoeOutput> RoutedMoe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                    const Routing& routing, const Tensor<Bf16, 2>* shared,
                                    const MoeStages& stages);

// What `expert` (its place in the tensors) makes of rows of x [rows, K], before any weight: float32
// [rows, K]. The shapes must have been checked.
absl::StatusOr<Tensor<float, 2>> ExpertRows(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                            std::int64_t expert, const MoeStages& stages);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_ROUTED_MOE_H_
