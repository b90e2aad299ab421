#include "hip/gfx942/moe_layer.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "hip/common/alignment.h"

namespace lanewise::hip::gfx942 {
namespace {

constexpr int64_t kAlignment = 128;

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Where the workspace's parts begin, and its end.
struct Workspace {
  int64_t mid;
  int64_t mid_codes;
  int64_t up_gate;
  int64_t down;
  int64_t bytes;
};

Workspace WorkspaceOf(const MoeProblem& problem, int64_t up_gate_bytes, int64_t down_bytes) {
  const MoeBetween between = BytesBetween(problem);
  Workspace at;
  at.mid = Aligned(between.grouping);
  at.mid_codes = at.mid + Aligned(between.mid);
  at.up_gate = at.mid_codes + Aligned(between.mid_codes);
  // The down half begins when the up/gate half is done with its own.
  at.down = at.up_gate;
  at.bytes = at.up_gate + (up_gate_bytes > down_bytes ? up_gate_bytes : down_bytes);
  return at;
}

absl::StatusOr<Workspace> WorkspaceOf(const MoeProblem& problem) {
  const absl::StatusOr<LaunchCost> up_gate = MoeUpGate::Cost(problem);
  if (!up_gate.ok()) return up_gate.status();
  const absl::StatusOr<LaunchCost> down = MoeDown::Cost(problem);
  if (!down.ok()) return down.status();
  return WorkspaceOf(problem, up_gate->workspace_bytes, down->workspace_bytes);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) absl::StrAppend(&text, text == "[" ? "" : ", ", size);
  return text + "]";
}

absl::Status CheckShape(std::string_view name, const std::vector<int64_t>& found,
                        const std::vector<int64_t>& expected) {
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(name), " is ", ShapeText(found), ", expected ", ShapeText(expected)));
}

absl::Status CheckBytes(std::string_view name, const PreparedCheckpoint::View& tensor,
                        int64_t expected) {
  const auto found = static_cast<int64_t>(tensor.bytes.size());
  if (found == expected) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(name), " has ", found, " bytes, expected ", expected, " for ",
                   ShapeText(tensor.what->shape), " with hidden padded to 256 and inter to 64"));
}

}  // namespace

MoeTensorNames ExpertNames(std::string_view prefix) {
  const std::string begin(prefix);
  return {begin + ".w13.weight", begin + ".w13.scale", begin + ".w2.weight", begin + ".w2.scale"};
}

absl::StatusOr<MoeWeights> MoeWeights::Upload(const PreparedCheckpoint& file,
                                              const MoeTensorNames& names) {
  const auto w13 = file.Get(names.w13, layout_tag::kGfx942Fp4TileMajor);
  if (!w13.ok()) return w13.status();
  const auto w13_codes = file.Get(names.w13_codes, layout_tag::kGfx942CodesTileRounds);
  if (!w13_codes.ok()) return w13_codes.status();
  const auto w2 = file.Get(names.w2, layout_tag::kGfx942Fp4TileMajor);
  if (!w2.ok()) return w2.status();
  const auto w2_codes = file.Get(names.w2_codes, layout_tag::kGfx942RowCodes);
  if (!w2_codes.ok()) return w2_codes.status();

  const std::vector<int64_t>& shape = w13->what->shape;  // [experts, 2 inter, hidden]
  if (shape.size() != 3 || shape[1] % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.w13, " is ", ShapeText(shape), ", expected [experts, 2 inter, hidden]"));
  }
  MoeProblem problem;
  problem.top_k = 1;
  problem.experts = shape[0];
  problem.inter = shape[1] / 2;
  problem.hidden = shape[2];
  if (const absl::Status status = CheckMoeProblem(problem); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(names.w13, " is ", ShapeText(shape), ": ", status.message()));
  }
  absl::Status status = CheckShape(names.w13_codes, w13_codes->what->shape,
                                   {problem.experts, 2 * problem.inter, problem.hidden / 32});
  status.Update(
      CheckShape(names.w2, w2->what->shape, {problem.experts, problem.hidden, problem.inter}));
  status.Update(CheckShape(names.w2_codes, w2_codes->what->shape,
                           {problem.experts, problem.hidden, problem.inter / 32}));
  const int64_t up = problem.experts * 2 * problem.padded_inter() * problem.padded_hidden();
  const int64_t down = problem.experts * problem.hidden * problem.padded_inter();
  status.Update(CheckBytes(names.w13, *w13, up / 2));
  status.Update(CheckBytes(names.w13_codes, *w13_codes, up / 32));
  status.Update(CheckBytes(names.w2, *w2, down / 2));
  status.Update(CheckBytes(names.w2_codes, *w2_codes, down / 32));
  if (!status.ok()) return status;

  absl::StatusOr<Buffer> w13_buffer = Buffer::Of(w13->bytes, names.w13);
  if (!w13_buffer.ok()) return w13_buffer.status();
  absl::StatusOr<Buffer> w13_codes_buffer = Buffer::Of(w13_codes->bytes, names.w13_codes);
  if (!w13_codes_buffer.ok()) return w13_codes_buffer.status();
  absl::StatusOr<Buffer> w2_buffer = Buffer::Of(w2->bytes, names.w2);
  if (!w2_buffer.ok()) return w2_buffer.status();
  absl::StatusOr<Buffer> w2_codes_buffer = Buffer::Of(w2_codes->bytes, names.w2_codes);
  if (!w2_codes_buffer.ok()) return w2_codes_buffer.status();
  return MoeWeights(problem.experts, problem.hidden, problem.inter, *std::move(w13_buffer),
                    *std::move(w13_codes_buffer), *std::move(w2_buffer),
                    *std::move(w2_codes_buffer));
}

MoeProblem MoeWeights::Problem(int64_t tokens, int64_t top_k, const Swiglu& swiglu) const {
  MoeProblem problem;
  problem.tokens = tokens;
  problem.top_k = top_k;
  problem.experts = experts_;
  problem.hidden = hidden_;
  problem.inter = inter_;
  problem.swiglu = swiglu;
  return problem;
}

absl::StatusOr<MoeLayer> MoeLayer::Load(const Device& device) {
  absl::StatusOr<MoeUpGate> up_gate = MoeUpGate::Load(device);
  if (!up_gate.ok()) return up_gate.status();
  absl::StatusOr<MoeDown> down = MoeDown::Load(device);
  if (!down.ok()) return down.status();
  return MoeLayer(*std::move(up_gate), *std::move(down));
}

absl::StatusOr<LaunchCost> MoeLayer::Cost(const MoeProblem& problem) {
  const absl::StatusOr<LaunchCost> up_gate = MoeUpGate::Cost(problem);
  if (!up_gate.ok()) return up_gate.status();
  const absl::StatusOr<LaunchCost> down = MoeDown::Cost(problem);
  if (!down.ok()) return down.status();
  LaunchCost cost;
  if (problem.tokens == 0) return cost;
  cost.weight_bytes = up_gate->weight_bytes + down->weight_bytes;
  cost.activation_bytes = problem.tokens * problem.hidden * 2 + problem.picks() * (4 + 4);
  cost.output_bytes = down->output_bytes;
  cost.workspace_bytes =
      WorkspaceOf(problem, up_gate->workspace_bytes, down->workspace_bytes).bytes;
  cost.launches = up_gate->launches + down->launches;
  return cost;
}

absl::Status MoeLayer::Launch(const MoeProblem& problem, const MoeWeightPointers& weights,
                              const Operands& operands, const Stream& stream) const {
  const absl::StatusOr<Workspace> at = WorkspaceOf(problem);
  if (!at.ok()) return at.status();
  if (problem.tokens == 0) return absl::OkStatus();
  absl::Status status = CheckAligned("moe_layer: workspace", operands.workspace, kAlignment);
  if (!status.ok()) return status;
  auto* const workspace = static_cast<uint8_t*>(operands.workspace);
  const MoeDown::Operands down = {
      workspace,        workspace + at->mid, workspace + at->mid_codes, operands.experts,
      operands.weights, weights.w2,          weights.w2_codes,          operands.shared,
      operands.out,     workspace + at->down};
  // Before anything is launched.
  if (status = MoeDown::CheckOperands(down); !status.ok()) return status;
  status = up_gate_.Launch(
      problem,
      {operands.x, operands.experts, weights.w13, weights.w13_codes, workspace, workspace + at->mid,
       workspace + at->mid_codes, operands.status, workspace + at->up_gate},
      stream);
  if (!status.ok()) return status;
  MoeProblem unchecked = problem;
  unchecked.check_experts = false;  // They were checked.
  return down_.Launch(unchecked, down, stream);
}

}  // namespace lanewise::hip::gfx942
