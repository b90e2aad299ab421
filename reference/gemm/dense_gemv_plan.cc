#include "reference/gemm/dense_gemv_plan.h"

#include <algorithm>
#include <utility>

#include "base/status.h"
#include "reference/quantize/options.h"

namespace lanewise::reference {
namespace {

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Appends the blocks of a step to a leaf, those that K has.
void AppendStep(std::int64_t step, std::int64_t blocks, Reduction* leaf) {
  const std::int64_t end = std::min(blocks, (step + 1) * kBlocksPerStep);
  for (std::int64_t block = step * kBlocksPerStep; block < end; ++block) {
    leaf->blocks.push_back(block);
  }
}

// One workgroup's waves over steps [first, last).
Reduction Workgroup(std::int64_t first, std::int64_t last, std::int64_t blocks,
                    const DenseGemvPlan& plan) {
  Reduction waves;
  waves.parts.emplace_back();  // The sum over waves starts from +0.
  const std::int64_t run = CeilDivide(last - first, plan.waves);
  for (std::int64_t wave = 0; wave < plan.waves; ++wave) {
    Reduction leaf;
    if (plan.order == DenseGemvPlan::Order::kStrided) {
      for (std::int64_t step = first + wave; step < last; step += plan.waves) {
        AppendStep(step, blocks, &leaf);
      }
    } else {
      const std::int64_t end = std::min(last, first + (wave + 1) * run);
      for (std::int64_t step = first + wave * run; step < end; ++step) {
        AppendStep(step, blocks, &leaf);
      }
    }
    waves.parts.push_back(std::move(leaf));
  }
  return waves;
}

}  // namespace

absl::StatusOr<Reduction> DenseGemvReduction(std::int64_t k, const DenseGemvPlan& plan) {
  if (plan.waves < 1 || plan.splits < 1) {
    return InvalidArgument("a dense GEMV plan of ", plan.waves, " waves and ", plan.splits,
                           " splits: expected 1 or more of each");
  }
  if (k % kBlockSize != 0) {
    return InvalidArgument("K = ", k, " is not a multiple of the block size ", kBlockSize);
  }
  const std::int64_t blocks = k / kBlockSize;
  const std::int64_t steps = CeilDivide(blocks, kBlocksPerStep);
  const std::int64_t run = CeilDivide(steps, plan.splits);
  Reduction workgroups;
  for (std::int64_t split = 0; split < plan.splits; ++split) {
    const std::int64_t first = std::min(steps, split * run);
    workgroups.parts.push_back(Workgroup(first, std::min(steps, first + run), blocks, plan));
  }
  return workgroups;
}

}  // namespace lanewise::reference
