#ifndef LANEWISE_REFERENCE_GEMM_BF16_REDUCTION_H_
#define LANEWISE_REFERENCE_GEMM_BF16_REDUCTION_H_

// The `Planned` semantics of a bf16 GEMM on gfx950: reductions (reduction.h) whose blocks are
// matrix instructions.

#include "formats/formats.h"
#include "reference/gemm/reduction.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// out [M, N] of x [M, K] and w [N, K], K the same. Block b of the reduction is one
// v_mfma_f32_16x16x32_bf16 over K 32 b .. 32 b + 31 (what is past K is zero), by cdna4.h's
// contract:
//   acc = RNE32(acc + exact sum of the 32 products)
// NaN is 0x7FC00000. The blocks must exist.
Tensor<float, 2> EvaluateBf16Reduction(const Reduction& reduction, const Tensor<Bf16, 2>& x,
                                       const Tensor<Bf16, 2>& w);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_BF16_REDUCTION_H_
