#include "hip/gfx942/shared_expert.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/common/alignment.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr int64_t kMostSize = int64_t{1} << 25;

DenseGemv::Problem GateUp(const SharedExpert::Problem& p) {
  return {.m = p.tokens,
          .n = 2 * p.inter,
          .k = p.hidden,
          .w_layout = p.weight_layout,
          .codes_layout = p.codes_layout};
}

DenseGemv::Problem Down(const SharedExpert::Problem& p) {
  return {.m = p.tokens,
          .n = p.hidden,
          .k = p.inter,
          .gated = p.swiglu,
          .w_layout = p.weight_layout,
          .codes_layout = p.codes_layout};
}

absl::Status InStage(std::string_view stage, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("shared expert, ", AbslView(stage), ": ", status.message()));
}

absl::Status CheckSize(std::string_view what, int64_t size) {
  if (size >= 32 && size <= kMostSize && size % 32 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("shared expert: ", AbslView(what), " is ", size,
                                                 ", expected a multiple of 32 from 32 to 2^25"));
}

struct Costs {
  LaunchCost gate_up;
  LaunchCost down;
};

absl::StatusOr<Costs> CostsOf(const SharedExpert::Problem& problem) {
  absl::Status status = CheckSize("hidden", problem.hidden);
  status.Update(CheckSize("inter", problem.inter));
  if (!status.ok()) return status;
  const absl::StatusOr<LaunchCost> gate_up = DenseGemv::Cost(GateUp(problem));
  if (!gate_up.ok()) return InStage("gate and up", gate_up.status());
  const absl::StatusOr<LaunchCost> down = DenseGemv::Cost(Down(problem));
  if (!down.ok()) return InStage("down", down.status());
  return Costs{*gate_up, *down};
}

// Gate and up, at the workspace's beginning.
int64_t BetweenBytes(const SharedExpert::Problem& problem) {
  return RoundUp(problem.tokens * 2 * problem.inter * 2, kLineBytes);
}

// The two calls' operands, one workspace after the other's.
struct Calls {
  DenseGemv::Operands gate_up;
  DenseGemv::Operands down;
};

Calls CallsOf(const SharedExpert::Problem& problem, const SharedExpert::Weights& weights,
              const SharedExpert::Operands& operands) {
  auto* const between = static_cast<uint8_t*>(operands.workspace);
  uint8_t* const workspace = between == nullptr ? nullptr : between + BetweenBytes(problem);
  return {{operands.x, weights.gate_up, weights.gate_up_codes, between, workspace},
          {between, weights.down, weights.down_codes, operands.out, workspace}};
}

}  // namespace

absl::StatusOr<SharedExpert> SharedExpert::Load(const Device& device) {
  absl::StatusOr<DenseGemv> gemv = DenseGemv::Load(device);
  if (!gemv.ok()) return gemv.status();
  return SharedExpert(*std::move(gemv));
}

absl::StatusOr<LaunchCost> SharedExpert::Cost(const Problem& problem) {
  const absl::StatusOr<Costs> costs = CostsOf(problem);
  if (!costs.ok()) return costs.status();
  LaunchCost cost;
  if (problem.tokens == 0) return cost;
  cost.weight_bytes = costs->gate_up.weight_bytes + costs->down.weight_bytes;
  cost.activation_bytes = costs->gate_up.activation_bytes;
  cost.output_bytes = costs->down.output_bytes;
  cost.workspace_bytes =
      BetweenBytes(problem) + std::max(costs->gate_up.workspace_bytes, costs->down.workspace_bytes);
  cost.launches = costs->gate_up.launches + costs->down.launches;
  return cost;
}

absl::Status SharedExpert::Check(const Problem& problem, const Weights& weights,
                                 const Operands& operands) {
  const absl::StatusOr<Costs> costs = CostsOf(problem);
  if (!costs.ok()) return costs.status();
  const Calls calls = CallsOf(problem, weights, operands);
  absl::Status status = InStage("gate and up", DenseGemv::Check(GateUp(problem), calls.gate_up));
  status.Update(InStage("down", DenseGemv::Check(Down(problem), calls.down)));
  return status;
}

absl::Status SharedExpert::Launch(const Problem& problem, const Weights& weights,
                                  const Operands& operands, const Stream& stream) const {
  if (absl::Status status = Check(problem, weights, operands); !status.ok()) return status;
  const Calls calls = CallsOf(problem, weights, operands);
  absl::Status status = gemv_.Launch(GateUp(problem), calls.gate_up, stream);
  if (!status.ok()) return status;
  return gemv_.Launch(Down(problem), calls.down, stream);
}

}  // namespace lanewise::hip::gfx942
