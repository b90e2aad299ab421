#include "hip/gfx942/moe_down.h"

#include <utility>

#include "hip/common/alignment.h"
#include "hip/gfx942/moe_arguments.h"
#include "hip/gfx942/moe_down_kernels.h"
#include "hip/gfx942/moe_launch.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr uint32_t kItems = 256;
constexpr uint32_t kTilesPerGroup = 4;

MoeDownArguments Arguments(const MoeProblem& p, const MoeDown::Operands& operands) {
  MoeDownArguments a = {};
  a.grouping = static_cast<const uint8_t*>(operands.grouping);
  a.mid = static_cast<const uint8_t*>(operands.mid);
  a.mid_codes = static_cast<const uint8_t*>(operands.mid_codes);
  a.experts = static_cast<const int32_t*>(operands.experts);
  a.weights = static_cast<const float*>(operands.weights);
  a.w2 = static_cast<const uint8_t*>(operands.w2);
  a.w2_codes = static_cast<const uint8_t*>(operands.w2_codes);
  a.bias = static_cast<const uint16_t*>(operands.w2_bias);
  a.shared = static_cast<const uint16_t*>(operands.shared);
  a.out = static_cast<uint16_t*>(operands.out);
  a.contributions = static_cast<uint16_t*>(operands.workspace);
  a.tokens = static_cast<uint32_t>(p.tokens);
  a.picks = static_cast<uint32_t>(p.picks());
  a.top_k = static_cast<uint32_t>(p.top_k);
  a.expert_count = static_cast<uint32_t>(p.experts);
  a.first_expert = static_cast<uint32_t>(p.first_expert);
  a.most_groups = static_cast<uint32_t>(MostGroups(p));
  a.hidden = static_cast<uint32_t>(p.hidden);
  a.padded_inter = static_cast<uint32_t>(p.padded_inter());
  a.bias_stride = static_cast<uint64_t>(p.w2_bias_stride == 0 ? p.hidden : p.w2_bias_stride);
  return a;
}

}  // namespace

absl::StatusOr<MoeDown> MoeDown::Load(const Device& device) {
  absl::StatusOr<MoeKernels> kernels =
      MoeKernels::Load(MoeDownKernelsCodeObjects(), device, "MoeDown", "MoeSum");
  if (!kernels.ok()) return kernels.status();
  return MoeDown(*std::move(kernels));
}

absl::Status MoeDown::Check(const MoeProblem& problem, const Operands& operands) {
  const OperandPointer pointers[] = {
      {"moe_down: grouping", operands.grouping, 16},
      {"moe_down: mid", operands.mid, kLineBytes},
      {"moe_down: mid_codes", operands.mid_codes, 4},
      {"moe_down: experts", operands.experts, 4},
      {"moe_down: weights", operands.weights, 4},
      {"moe_down: w2", operands.w2, kLineBytes},
      {"moe_down: w2_codes", operands.w2_codes, 4},
      {"moe_down: out", operands.out, 16},
      {"moe_down: workspace", operands.workspace, kLineBytes},
      {"moe_down: shared", operands.shared, 16, operands.shared != nullptr},
      {"moe_down: w2_bias", operands.w2_bias, 8, operands.w2_bias != nullptr},
  };
  return CheckMoeCall(problem, pointers);
}

absl::StatusOr<LaunchCost> MoeDown::Cost(const MoeProblem& problem) {
  if (absl::Status status = CheckMoeProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  if (problem.tokens == 0) return cost;
  const int64_t elements = problem.hidden * problem.padded_inter();
  cost.weight_bytes = MostGroups(problem) * (elements / 2 + elements / 32);
  const MoeBetween between = BytesBetween(problem);
  cost.activation_bytes =
      between.grouping + between.mid + between.mid_codes + problem.picks() * (4 + 4);
  cost.output_bytes = problem.tokens * problem.hidden * 2;
  cost.workspace_bytes = problem.picks() * problem.hidden * 2;
  cost.launches = 2;
  return cost;
}

absl::Status MoeDown::Launch(const MoeProblem& problem, const Operands& operands,
                             const Stream& stream) const {
  if (absl::Status status = Check(problem, operands); !status.ok()) return status;
  if (problem.tokens == 0) return absl::OkStatus();
  if (problem.check_experts) {
    absl::Status status = CheckExperts(problem, operands.experts, stream);
    if (!status.ok()) return status;
  }
  const MoeDownArguments a = Arguments(problem, operands);
  const uint32_t tiles = a.hidden / kMoeTileRows;
  absl::Status status = kernels_.first.Launch(
      {.grid = {(tiles + kTilesPerGroup - 1) / kTilesPerGroup, a.most_groups}, .block = {kItems}},
      stream, a);
  if (!status.ok()) return status;
  return kernels_.second.Launch(
      {.grid = {(a.hidden / 8 + kItems - 1) / kItems, a.tokens}, .block = {kItems}}, stream, a);
}

}  // namespace lanewise::hip::gfx942
