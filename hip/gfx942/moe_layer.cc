#include "hip/gfx942/moe_layer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hip/common/alignment.h"

namespace lanewise::hip::gfx942 {
namespace {

int64_t Aligned(int64_t bytes) { return RoundUp(bytes, kLineBytes); }

// What the parts cost; the shared expert nothing where there is none.
struct Costs {
  LaunchCost up_gate;
  LaunchCost down;
  LaunchCost shared;
};

absl::StatusOr<Costs> CostsOf(const MoeLayer::Problem& problem) {
  const absl::StatusOr<LaunchCost> up_gate = MoeUpGate::Cost(problem.routed);
  if (!up_gate.ok()) return up_gate.status();
  const absl::StatusOr<LaunchCost> down = MoeDown::Cost(problem.routed);
  if (!down.ok()) return down.status();
  if (!problem.shared.has_value()) return Costs{*up_gate, *down, {}};
  if (problem.shared->tokens != problem.routed.tokens ||
      problem.shared->hidden != problem.routed.hidden) {
    return absl::InvalidArgumentError(
        absl::StrCat("moe_layer: the shared expert is of ", problem.shared->tokens, " tokens by ",
                     problem.shared->hidden, " columns, expected the routed ones' ",
                     problem.routed.tokens, " by ", problem.routed.hidden));
  }
  const absl::StatusOr<LaunchCost> shared = SharedExpert::Cost(*problem.shared);
  if (!shared.ok()) return shared.status();
  return Costs{*up_gate, *down, *shared};
}

// Where the workspace's parts begin, and its end. The shared expert and the down half begin when
// what had their part is done.
struct Workspace {
  int64_t mid;
  int64_t mid_codes;
  int64_t half;
  int64_t bytes;
};

Workspace WorkspaceOf(const MoeProblem& problem, const Costs& costs) {
  const MoeBetween between = BytesBetween(problem);
  Workspace at;
  at.mid = Aligned(between.grouping);
  at.mid_codes = at.mid + Aligned(between.mid);
  at.half = at.mid_codes + Aligned(between.mid_codes);
  at.bytes = std::max(at.half + std::max(costs.up_gate.workspace_bytes, costs.down.workspace_bytes),
                      costs.shared.workspace_bytes);
  return at;
}

}  // namespace

absl::StatusOr<MoeLayer> MoeLayer::Load(const Device& device) {
  absl::StatusOr<MoeUpGate> up_gate = MoeUpGate::Load(device);
  if (!up_gate.ok()) return up_gate.status();
  absl::StatusOr<MoeDown> down = MoeDown::Load(device);
  if (!down.ok()) return down.status();
  absl::StatusOr<SharedExpert> shared = SharedExpert::Load(device);
  if (!shared.ok()) return shared.status();
  return MoeLayer(*std::move(up_gate), *std::move(down), *std::move(shared));
}

absl::StatusOr<LaunchCost> MoeLayer::Cost(const Problem& problem) {
  const absl::StatusOr<Costs> costs = CostsOf(problem);
  if (!costs.ok()) return costs.status();
  const MoeProblem& routed = problem.routed;
  LaunchCost cost;
  if (routed.tokens == 0) return cost;
  cost.weight_bytes =
      costs->up_gate.weight_bytes + costs->down.weight_bytes + costs->shared.weight_bytes;
  cost.activation_bytes = routed.tokens * routed.hidden * 2 + routed.picks() * (4 + 4);
  cost.output_bytes = costs->down.output_bytes;
  cost.workspace_bytes = WorkspaceOf(routed, *costs).bytes;
  cost.launches = costs->up_gate.launches + costs->down.launches + costs->shared.launches;
  return cost;
}

absl::Status MoeLayer::Launch(const Problem& problem, const Weights& weights,
                              const Operands& operands, const Stream& stream) const {
  const absl::StatusOr<Costs> costs = CostsOf(problem);
  if (!costs.ok()) return costs.status();
  if (problem.routed.tokens == 0) return absl::OkStatus();
  // Before anything is launched, all parts' operands.
  absl::Status status = CheckAligned("moe_layer: workspace", operands.workspace, kLineBytes);
  if (!status.ok()) return status;
  if (problem.shared.has_value() && operands.shared != nullptr) {
    return absl::InvalidArgumentError(
        "moe_layer: shared is given, but the "
        "problem has a shared expert of its own");
  }
  const Workspace at = WorkspaceOf(problem.routed, *costs);
  auto* const workspace = static_cast<uint8_t*>(operands.workspace);
  const MoeUpGate::Operands up_gate = {operands.x,
                                       operands.experts,
                                       weights.routed.w13,
                                       weights.routed.w13_codes,
                                       workspace,
                                       workspace + at.mid,
                                       workspace + at.mid_codes,
                                       operands.status,
                                       workspace + at.half,
                                       weights.routed.w13_bias};
  // The shared expert's output is where the sum will be.
  const void* const added = problem.shared.has_value() ? operands.out : operands.shared;
  const MoeDown::Operands down = {
      workspace,        workspace + at.mid,  workspace + at.mid_codes, operands.experts,
      operands.weights, weights.routed.w2,   weights.routed.w2_codes,  added,
      operands.out,     workspace + at.half, weights.routed.w2_bias};
  const SharedExpert::Operands shared = {operands.x, operands.out, workspace};
  status = MoeUpGate::Check(problem.routed, up_gate);
  status.Update(MoeDown::Check(problem.routed, down));
  if (problem.shared.has_value()) {
    status.Update(SharedExpert::Check(*problem.shared, weights.shared, shared));
    const int64_t bytes = problem.routed.tokens * problem.routed.hidden * 2;
    status.Update(CheckApart({"moe_layer: out", operands.out, bytes}, {"x", operands.x, bytes}));
  }
  if (!status.ok()) return status;

  MoeProblem routed = problem.routed;
  if (routed.check_experts) {
    status = CheckExperts(routed, operands.experts, stream);
    if (!status.ok()) return status;
    routed.check_experts = false;
  }
  if (problem.shared.has_value()) {
    status = shared_.Launch(*problem.shared, weights.shared, shared, stream);
    if (!status.ok()) return status;
  }
  status = up_gate_.Launch(routed, up_gate, stream);
  if (!status.ok()) return status;
  return down_.Launch(routed, down, stream);
}

}  // namespace lanewise::hip::gfx942
