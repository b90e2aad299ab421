#include "hip/gfx942/moe_up_gate.h"

#include <utility>

#include "hip/common/alignment.h"
#include "hip/gfx942/moe_arguments.h"
#include "hip/gfx942/moe_launch.h"
#include "hip/gfx942/moe_up_gate_kernels.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr int64_t kItems = 256;

// The quantized x and its codes.
int64_t WorkspaceBytes(const MoeProblem& problem) {
  return problem.tokens * (problem.padded_hidden() + problem.padded_hidden() / 32);
}

MoeUpGateArguments Arguments(const MoeProblem& p, const MoeUpGate::Operands& operands) {
  MoeUpGateArguments a = {};
  a.x = static_cast<const uint16_t*>(operands.x);
  a.experts = static_cast<const int32_t*>(operands.experts);
  a.w13 = static_cast<const uint8_t*>(operands.w13);
  a.w13_codes = static_cast<const uint8_t*>(operands.w13_codes);
  a.bias = static_cast<const uint16_t*>(operands.w13_bias);
  a.grouping = static_cast<uint8_t*>(operands.grouping);
  a.status = static_cast<uint32_t*>(operands.status);
  a.mid = static_cast<uint8_t*>(operands.mid);
  a.mid_codes = static_cast<uint8_t*>(operands.mid_codes);
  a.elements = static_cast<uint8_t*>(operands.workspace);
  a.tokens = static_cast<uint32_t>(p.tokens);
  a.picks = static_cast<uint32_t>(p.picks());
  a.top_k = static_cast<uint32_t>(p.top_k);
  a.expert_count = static_cast<uint32_t>(p.experts);
  a.first_expert = static_cast<uint32_t>(p.first_expert);
  a.layer_experts = static_cast<uint32_t>(p.layer_experts());
  a.most_groups = static_cast<uint32_t>(MostGroups(p));
  a.hidden = static_cast<uint32_t>(p.hidden);
  a.padded_hidden = static_cast<uint32_t>(p.padded_hidden());
  a.inter = static_cast<uint32_t>(p.inter);
  a.padded_inter = static_cast<uint32_t>(p.padded_inter());
  a.bias_stride = static_cast<uint64_t>(p.w13_bias_stride == 0 ? 2 * p.inter : p.w13_bias_stride);
  a.swiglu = p.swiglu;
  return a;
}

}  // namespace

absl::StatusOr<MoeUpGate> MoeUpGate::Load(const Device& device) {
  absl::StatusOr<MoeKernels> kernels =
      MoeKernels::Load(MoeUpGateKernelsCodeObjects(), device, "MoePrepare", "MoeUpGate");
  if (!kernels.ok()) return kernels.status();
  return MoeUpGate(*std::move(kernels));
}

absl::Status MoeUpGate::Check(const MoeProblem& problem, const Operands& operands) {
  const OperandPointer pointers[] = {
      {"moe_up_gate: x", operands.x, 16},
      {"moe_up_gate: experts", operands.experts, 4},
      {"moe_up_gate: w13", operands.w13, kLineBytes},
      {"moe_up_gate: w13_codes", operands.w13_codes, kLineBytes},
      {"moe_up_gate: grouping", operands.grouping, 16},
      {"moe_up_gate: mid", operands.mid, kLineBytes},
      {"moe_up_gate: mid_codes", operands.mid_codes, 4},
      {"moe_up_gate: workspace", operands.workspace, kLineBytes},
      {"moe_up_gate: status", operands.status, 4, operands.status != nullptr},
      {"moe_up_gate: w13_bias", operands.w13_bias, 4, operands.w13_bias != nullptr},
  };
  return CheckMoeCall(problem, pointers);
}

absl::StatusOr<LaunchCost> MoeUpGate::Cost(const MoeProblem& problem) {
  if (absl::Status status = CheckMoeProblem(problem); !status.ok()) return status;
  LaunchCost cost;
  if (problem.tokens == 0) return cost;
  const int64_t elements = 2 * problem.padded_inter() * problem.padded_hidden();
  cost.weight_bytes = MostGroups(problem) * (elements / 2 + elements / 32);
  cost.activation_bytes = problem.tokens * problem.hidden * 2 + problem.picks() * 4;
  const MoeBetween between = BytesBetween(problem);
  cost.output_bytes = between.grouping + between.mid + between.mid_codes;
  cost.workspace_bytes = WorkspaceBytes(problem);
  cost.launches = 2;
  return cost;
}

absl::Status MoeUpGate::Launch(const MoeProblem& problem, const Operands& operands,
                               const Stream& stream) const {
  if (absl::Status status = Check(problem, operands); !status.ok()) return status;
  if (problem.tokens == 0) return absl::OkStatus();
  if (problem.check_experts) {
    absl::Status status = CheckExperts(problem, operands.experts, stream);
    if (!status.ok()) return status;
  }
  const MoeUpGateArguments a = Arguments(problem, operands);
  const int64_t chunks = problem.tokens * problem.padded_hidden() / 8;
  const auto quantizing = static_cast<uint32_t>((chunks + kItems - 1) / kItems);
  absl::Status status =
      kernels_.first.Launch({.grid = {1 + quantizing}, .block = {kItems}}, stream, a);
  if (!status.ok()) return status;
  return kernels_.second.Launch(
      {.grid = {a.padded_inter / kMoeGroupColumns, a.most_groups}, .block = {kItems}}, stream, a);
}

}  // namespace lanewise::hip::gfx942
