// gfx942's GEMVs as reference/ plans them, on the host: the dense one, and those of the experts.

#include <algorithm>
#include <vector>

#include "reference/gfx942/dense_gemv.h"
#include "reference/gfx942/moe_semantics.h"
#include "tests/differential/planned.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using reference::MxMatrix;

std::int64_t CeilDivide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

judge::DenseGemvPlan DensePlan(const Call& call) {
  judge::DenseGemvPlan plan;
  plan.waves = static_cast<int>(call["waves"]);
  if (call["order"] == 1) plan.order = judge::DenseGemvPlan::Order::kContiguous;
  plan.splits = static_cast<int>(call["splits"]);
  return plan;
}

// Workgroups that share K have a run of its steps each, the waves of a workgroup every n-th or a
// run of those.
float DenseLoops(const Call& call, const AddBlock& add) {
  const std::int64_t blocks = call["K"] / 32, waves = call["waves"], splits = call["splits"];
  const std::int64_t steps = CeilDivide(blocks, 4), run = CeilDivide(steps, splits);
  float sum = 0;
  for (std::int64_t split = 0; split < splits; ++split) {
    const std::int64_t first = std::min(steps, split * run);
    const std::int64_t count = std::min(steps, first + run) - first;
    float of_waves = 0;
    for (std::int64_t wave = 0; wave < waves; ++wave) {
      float accumulator = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        const bool mine =
            call["order"] == 1 ? i / CeilDivide(count, waves) == wave : i % waves == wave;
        for (std::int64_t block = 4 * (first + i); mine && block < 4 * (first + i + 1); ++block) {
          if (block < blocks) accumulator = add(accumulator, block);
        }
      }
      of_waves += accumulator;
    }
    sum = split == 0 ? of_waves : sum + of_waves;
  }
  return sum;
}

const Registration kDense(PlannedOperation({
    .name = "planned/gfx942/dense_gemv",
    .x_format = "e4m3fnuz",
    .w_format = "e4m3fnuz",
    .block_scales = true,
    .cdna3 = true,
    .dimensions = {{"waves"}, {"order", {"strided", "contiguous"}}, {"splits"}},
    .shapes = "M=2 N=32 K=32,1664 against=* waves=8 order=strided splits=1,2\n"
              "M=1 N=32 K=1056 against=* waves=4 order=* splits=1\n"
              "random 3: M=1..4 N=32*{1,2} K=32*{1..40} against=* waves=1..8 order=* splits=1..3\n"
              "M=2 N=32 K=80 against=plan waves=8 order=strided splits=1  # refused",
    .planned = [](const Call& call, const MxMatrix& x,
                  const MxMatrix& w) { return judge::DenseGemv(x, w, DensePlan(call)); },
    .reduction =
        [](const Call& call) { return judge::DenseGemvReduction(call["K"], DensePlan(call)); },
    .loops = DenseLoops,
}));

// Runs of K, added in pairs.
float UpGateLoops(const Call& call, const AddBlock& add) {
  const std::int64_t slices = call["slices"], run = call["K"] / 32 / slices;
  std::vector<float> sums;
  for (std::int64_t slice = 0; slice < slices; ++slice) {
    float accumulator = 0;
    for (std::int64_t block = slice * run; block < (slice + 1) * run; ++block) {
      accumulator = add(accumulator, block);
    }
    sums.push_back(accumulator);
  }
  return slices == 2 ? sums[0] + sums[1] : (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

const Registration kUpGate(PlannedOperation({
    .name = "planned/gfx942/up_gate",
    .x_format = "e4m3fnuz",
    .w_format = "e2m1",
    .cdna3 = true,
    .fp4_as_fnuz = true,
    .dimensions = {{"slices"}},
    .shapes = "M=2 N=16 K=128*{1,2,9} against=* slices=2,4\n"
              "random 3: M=1..4 N=1..40 K=128*{1..12} against=* slices=2,4\n"
              "M=2 N=16 K=96 against=plan slices=2  # refused",
    .planned =
        [](const Call& call, const MxMatrix& x, const MxMatrix& w) {
          return judge::UpGateGemv(x, w, static_cast<int>(call["slices"]));
        },
    .reduction =
        [](const Call& call) {
          return judge::UpGateReduction(call["K"], static_cast<int>(call["slices"]));
        },
    .loops = UpGateLoops,
}));

float Ascending(const Call& call, const AddBlock& add) {
  float accumulator = 0;
  for (std::int64_t block = 0; block < call["K"] / 32; ++block) {
    accumulator = add(accumulator, block);
  }
  return accumulator;
}

const Registration kDown(PlannedOperation({
    .name = "planned/gfx942/down",
    .x_format = "e4m3fnuz",
    .w_format = "e2m1",
    .cdna3 = true,
    .fp4_as_fnuz = true,
    .shapes = "M=2 N=16 K=32*{1,2,23} against=*\n"
              "random 3: M=1..4 N=1..40 K=32*{1..40} against=*\n"
              "M=2 N=16 K=48 against=plan  # refused",
    .planned = [](const Call&, const MxMatrix& x,
                  const MxMatrix& w) { return judge::DownGemv(x, w); },
    .reduction = [](const Call& call) { return judge::DownReduction(call["K"]); },
    .loops = Ascending,
}));

}  // namespace
}  // namespace lanewise::differential
