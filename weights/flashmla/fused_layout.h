#ifndef LANEWISE_WEIGHTS_FLASHMLA_FUSED_LAYOUT_H_
#define LANEWISE_WEIGHTS_FLASHMLA_FUSED_LAYOUT_H_

// FlashMLA's mega-attention layouts of two MXFP8 linears. Source: seed 003; reference/flashmla/
// says it element by element.

#include "absl/status/statusor.h"
#include "weights/linear_source.h"

namespace lanewise::flashmla {

// wq_b [heads head_dim, K]: rows in flashmla/q_fused order, codes one for each row in the same
// order (block codes are repeated over their rows: 16-row chunks cut the 32-row blocks). `heads`
// are those of the part. InvalidArgument unless the part's rows are heads x a multiple of 16.
absl::StatusOr<WeightPlans> PlanWqB(const LinearSource& source, std::int64_t heads);

// wo_a [groups rows, heads_per_group head_dim]: columns in flashmla/o_fused order, codes (rows or
// blocks, as they come) in flashmla/o_fused_chunk order. InvalidArgument unless the columns are all
// there and are heads_per_group x a multiple of 32.
absl::StatusOr<WeightPlans> PlanWoA(const LinearSource& source, std::int64_t heads_per_group);

// Any [rows, row_bytes] array of one source whose rows are gathered by q_fused, such as Q itself as
// [H D, element] (seed 003, permute_q_to_fused).
absl::StatusOr<TensorPlan> PlanQFusedRows(std::int64_t heads, std::int64_t head_dim,
                                          std::int64_t row_bytes);

}  // namespace lanewise::flashmla

#endif  // LANEWISE_WEIGHTS_FLASHMLA_FUSED_LAYOUT_H_
