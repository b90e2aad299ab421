#ifndef LANEWISE_REFERENCE_GEMM_DENSE_GEMV_PLAN_H_
#define LANEWISE_REFERENCE_GEMM_DENSE_GEMV_PLAN_H_

// How the dense GEMVs of a decode step deal K out, the same on gfx942 and gfx950: steps of 128 to
// waves, and halves of K to workgroups.
//
//   // wqkv: two workgroups with half of K each, 8 waves in each
//   LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, DenseGemvReduction(5120, kSplitPlan));
//
// Source: vLLM's DeepSeek V4.1 mono decode (attention.gemv, stages.gemv).

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/gemm/reduction.h"

namespace lanewise::reference {

struct DenseGemvPlan {
  enum class Order {
    kStrided,     // Wave w takes steps w, w + waves, ...: the default.
    kContiguous,  // Wave w takes the w-th run of ceil(steps / waves) steps: wo_a, with 4 waves.
  };
  int waves = 8;
  Order order = Order::kStrided;
  // Workgroups that share K, each with a run of ceil(steps / splits) steps: 2 for wqkv.
  int splits = 1;
};

inline constexpr DenseGemvPlan kDensePlan = {};
inline constexpr DenseGemvPlan kGroupedPlan = {4, DenseGemvPlan::Order::kContiguous, 1};
inline constexpr DenseGemvPlan kSplitPlan = {8, DenseGemvPlan::Order::kStrided, 2};

// Blocks of 32 in a wave's step.
inline constexpr std::int64_t kBlocksPerStep = 4;

// The plan's reduction for K = `k`, a multiple of 32: a wave's blocks ascending in one accumulator,
// ((0 + p0) + p1) ... over the waves, then h0 + h1 over workgroups that share K. Steps past K do not
// show; a wave without steps is +0. InvalidArgument for another k, or fewer than one wave or split.
absl::StatusOr<Reduction> DenseGemvReduction(std::int64_t k, const DenseGemvPlan& plan);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_DENSE_GEMV_PLAN_H_
