#ifndef LANEWISE_WEIGHTS_GFX950_EXPERTS_H_
#define LANEWISE_WEIGHTS_GFX950_EXPERTS_H_

#include "absl/status/statusor.h"
#include "weights/expert_source.h"
#include "weights/linear_source.h"

namespace lanewise::gfx950 {

// AITER's post-load order, which A16W4 kernels read (seed 002 reads it):
//   w13, w2    aiter/shuffle_weight_16x16  [E, rows, K / 2], w13's rows in `order`
//   the codes  aiter/e8m0_shuffle          [E rows rounded up to 256, K / 32 rounded up to 8],
//   padded with
//                                          0x00; K / 32 codes a row
// InvalidArgument where rows are not a multiple of 16 or K / 2 is not one of 32.
absl::StatusOr<WeightPlans> PlanGateUp(const GateUpSource& source, GateUpRowOrder order);
absl::StatusOr<WeightPlans> PlanDown(const DownSource& source);

}  // namespace lanewise::gfx950

#endif  // LANEWISE_WEIGHTS_GFX950_EXPERTS_H_
