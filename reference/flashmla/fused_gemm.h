#ifndef LANEWISE_REFERENCE_FLASHMLA_FUSED_GEMM_H_
#define LANEWISE_REFERENCE_FLASHMLA_FUSED_GEMM_H_

// The GEMMs around FlashMLA's mega-attention kernel, on weights in its fused layouts
// (fused_layout.h), as `Exact`.
//
//   q = x * wq_bT             x [T, q_lora], wq_b [H D, q_lora] with codes per row
//   z[t, g] = o[t, g] * wo_a[g]T     o [T, groups, G D], wo_a [groups R, G D]     (the einsum
//   bhr,hdr->bhd)
//
// What the permutations mean, and what the tests hold them to: with fused[i] = standard[perm[i]],
//   permuted wq_b: q comes out with each token's H D values in the fused order;
//   permuted wo_a: z of an o in the fused order is z of the standard o by the plain wo_a.
// So with both, the attention kernel reads and writes its own orders and nothing is moved at run
// time. wq_b's permutation moves chunks of 16 rows, so its codes must be one a row; wo_a's moves
// chunks of 32 columns, which are scale blocks, so its codes may be one for 32 rows. Permuting
// twice is not the identity.
//
// There is no `Planned` here: the consumer runs on NVIDIA's SM100, whose matrix-core arithmetic is
// not modelled.
//
// Source: seed 003, and FlashMLA's fused kernels as vLLM's DeepSeek V4.1 calls them.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/gemm/operand.h"
#include "reference/tensor.h"

namespace lanewise::reference::flashmla {

// [T, H D] of float, Bf16 or double, in the order of wq_b's rows. InvalidArgument if wq_b's codes
// are not one a row, and as ExactLinear.
template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactQProjection(const MxMatrix& x, const MxMatrix& wq_b);

// [T, groups R] of float, Bf16 or double; o [T, groups G D] e4m3 with codes [T, groups G D / 32],
// as the attention kernel quantizes it, wo_a [groups R, G D] with row or block codes. o and wo_a
// are in the same order, standard or fused. InvalidArgument if o's columns are not `groups` times
// wo_a's or wo_a's rows not a multiple of groups (of 32 groups with block codes).
template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactOProjection(const MxMatrix& o, const MxMatrix& wo_a,
                                                std::int64_t groups);

}  // namespace lanewise::reference::flashmla

#endif  // LANEWISE_REFERENCE_FLASHMLA_FUSED_GEMM_H_
