// Weight preparation in weights/: every operation as a plan, run and, where the inputs are only
// moved or reversibly converted, restored and compared with what went in.

#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/status.h"
#include "layouts/catalogue.h"
#include "tests/golden/ops.h"
#include "tests/golden/tensors.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/linear.h"
#include "weights/linear_source.h"
#include "weights/tensor_plan.h"
#include "weights/zero_signs.h"

namespace lanewise::golden {
namespace {

// Two threads, so that the seams between them are exercised too.
constexpr RunOptions kOptions = {.threads = 2, .stores = PackOptions::Stores::kAuto};

// The input of that role, which has to have `rank` dimensions (from `rank` on where
// `or_more` says so).
absl::StatusOr<TensorView> Input(const Case& golden_case, std::string_view role, std::int64_t rank,
                                 bool or_more = false) {
  absl::StatusOr<TensorView> view = golden_case.Input(role);
  if (!view.ok()) return view;
  const std::int64_t actual = std::ssize(view->shape);
  if (actual == rank || (or_more && actual > rank)) return view;
  return InvalidArgument("'", role, "' has ", actual, " dimensions, expected ", rank);
}

absl::StatusOr<OutputTensor> Run(const TensorPlan& plan, const Sources& sources,
                                 std::vector<std::int64_t> shape, RewriteCounts* counts = nullptr) {
  OutputTensor output{DType::kU8, std::move(shape), {}};
  output.bytes.assign(static_cast<std::size_t>(plan.bytes()), 0xA5);
  LANEWISE_ASSIGN_OR_RETURN(const RewriteCounts run,
                            RunPlan(plan, sources, kOptions, output.bytes));
  if (counts != nullptr) *counts = run;
  return output;
}

// Restores `plans` one after the other, signs of zeros included, and compares with the sources.
absl::Status CheckRestores(const std::vector<const TensorPlan*>& plans,
                           const std::vector<const OutputTensor*>& memory, const Sources& sources) {
  std::vector<std::vector<std::uint8_t>> restored;
  Sinks sinks;
  for (const auto& source : sources) restored.emplace_back(source.size(), 0x5A);
  for (auto& bytes : restored) sinks.push_back(bytes);
  for (std::size_t i = 0; i < plans.size(); ++i) {
    absl::Status status = RestorePlan(*plans[i], memory[i]->bytes, kOptions.threads, sinks);
    if (!status.ok()) return status;
    status = ApplyZeroSigns(*plans[i], ZeroSigns(*plans[i], sources), sinks);
    if (!status.ok()) return status;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    for (std::size_t at = 0; at < sources[i].size(); ++at) {
      if (restored[i][at] != sources[i][at]) {
        return Internal("restored source ", i, " differs at byte ", at, ": expected ",
                        sources[i][at], ", got ", restored[i][at]);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Results> MoveRows(const Case& golden_case, const char* role, const Layout& layout,
                                 Conversion conversion = Conversion::kNone) {
  LANEWISE_ASSIGN_OR_RETURN(const TensorView view, Input(golden_case, role, 1, /*or_more=*/true));
  const std::int64_t row_bytes = view.shape.back();
  const std::int64_t rows = row_bytes == 0 ? 0 : std::ssize(view.bytes) / row_bytes;
  LANEWISE_ASSIGN_OR_RETURN(TensorPlan plan, MakePlan(layout, rows, row_bytes));
  plan.place = [row_bytes](std::int64_t row) { return RowPlace{0, row * row_bytes}; };
  plan.conversion = conversion;
  const Sources sources = {view.bytes};
  RewriteCounts counts;
  LANEWISE_ASSIGN_OR_RETURN(OutputTensor output, Run(plan, sources, view.shape, &counts));
  LANEWISE_RETURN_IF_ERROR(CheckRestores({&plan}, {&output}, sources));
  Results results;
  results.counts["changed"] = counts.negative_zeros;
  results.tensors[role] = std::move(output);
  return results;
}

// `expert_rows`: what the rows of each expert are a multiple of. A plan sees the rows
// of all together.
Operation Move(const char* role, std::string_view tag, std::int64_t expert_rows = 1) {
  return [role, tag, expert_rows](const Case& golden_case) -> absl::StatusOr<Results> {
    LANEWISE_ASSIGN_OR_RETURN(const TensorView view,
                              Input(golden_case, role, expert_rows > 1 ? 2 : 1, /*or_more=*/true));
    const std::int64_t rows = view.shape.size() < 2 ? 1 : view.shape[view.shape.size() - 2];
    if (rows % expert_rows != 0) {
      return InvalidArgument(rows, " rows: expected a multiple of ", expert_rows);
    }
    Layout layout = *FindLayout(tag);
    LANEWISE_ASSIGN_OR_RETURN(const std::int64_t blocks, golden_case.IntArg("blocks", 8));
    return MoveRows(golden_case, role, layout.WithParameter("blocks", blocks));
  };
}

struct LinearInput {
  LinearSource source;
  Sources bytes;  // {weight, codes}
};

absl::StatusOr<LinearInput> ReadLinear(const Case& golden_case, const char* e4m3_role,
                                       const char* bf16_role) {
  const bool e4m3 = golden_case.HasInput(e4m3_role);
  const absl::StatusOr<TensorView> weight = Input(golden_case, e4m3 ? e4m3_role : bf16_role, 2);
  const absl::StatusOr<TensorView> codes = Input(golden_case, "scale", 2);
  if (!weight.ok()) return weight.status();
  if (!codes.ok()) return codes.status();
  LinearInput input;
  input.source =
      LinearSource::Whole(weight->shape[0], weight->shape[1],
                          e4m3 ? LinearSource::WeightForm::kE4m3 : LinearSource::WeightForm::kBf16,
                          codes->shape[0] == weight->shape[0] ? 1 : 32);
  input.bytes = {weight->bytes, codes->bytes};
  return input;
}

absl::StatusOr<Results> Dense(const LinearInput& input, bool chunk_q) {
  LANEWISE_ASSIGN_OR_RETURN(const WeightPlans plans,
                            gfx942::PlanDense(input.source, {.chunk_q = chunk_q}));
  const std::int64_t padded = plans.weight.packer.layout().extent(1);
  // Codes first, as restoring wants them: rows that do not fold are refused before the weight.
  LANEWISE_ASSIGN_OR_RETURN(OutputTensor codes,
                            Run(plans.codes, input.bytes, {input.source.n / 32, padded / 32}));
  LANEWISE_ASSIGN_OR_RETURN(OutputTensor bytes,
                            Run(plans.weight, input.bytes, {input.source.n, padded}));
  LANEWISE_RETURN_IF_ERROR(
      CheckRestores({&plans.codes, &plans.weight}, {&codes, &bytes}, input.bytes));
  Results results;
  results.tensors["bytes"] = std::move(bytes);
  results.tensors["codes"] = std::move(codes);
  return results;
}

absl::StatusOr<Results> DenseCopy(const Case& golden_case) {
  const absl::StatusOr<LinearInput> input = ReadLinear(golden_case, "w8", "w8");
  const absl::StatusOr<bool> chunk_q = golden_case.BoolArg("chunk_q", false);
  if (!input.ok()) return input.status();
  if (!chunk_q.ok()) return chunk_q.status();
  return Dense(*input, *chunk_q);
}

absl::StatusOr<Results> LinearCopy(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(const LinearInput input, ReadLinear(golden_case, "w_e4m3", "w"));
  return Dense(input, false);
}

absl::StatusOr<Results> OcpFromDequant(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(const LinearInput input, ReadLinear(golden_case, "none", "w"));
  LANEWISE_ASSIGN_OR_RETURN(const WeightPlans plans,
                            gfx950::PlanLinear(input.source, gfx950::LinearKind::kBlockCodes));
  LANEWISE_ASSIGN_OR_RETURN(OutputTensor bytes,
                            Run(plans.weight, input.bytes, {input.source.n, input.source.k}));
  Results results;
  results.tensors["bytes"] = std::move(bytes);
  return results;
}

absl::StatusOr<Results> AsBlock32Scale(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(const TensorView scale, Input(golden_case, "scale", 2));
  Results results;
  const std::int64_t n = scale.shape[0], columns = scale.shape[1];
  if (!RowCodesFold(scale.bytes, n, columns)) return results;
  const LinearSource source =
      LinearSource::Whole(n, 32 * columns, LinearSource::WeightForm::kE4m3, 1);
  LANEWISE_ASSIGN_OR_RETURN(const TensorPlan plan,
                            PlanBlockCodes(source, *FindLayout("plain"), columns));
  LANEWISE_ASSIGN_OR_RETURN(OutputTensor blocks, Run(plan, {{}, scale.bytes}, {n / 32, columns}));
  results.tensors["scale"] = std::move(blocks);
  return results;
}

absl::StatusOr<Results> MoeCopies(const Case& golden_case) {
  std::vector<TensorView> views;
  for (const char* role : {"w13", "w13_s", "w2", "w2_s"}) {
    LANEWISE_ASSIGN_OR_RETURN(const TensorView view, Input(golden_case, role, 3));
    views.push_back(view);
  }
  LANEWISE_ASSIGN_OR_RETURN(const std::int64_t inter, golden_case.IntArg("inter"));
  const std::int64_t experts = views[0].shape[0], padded = views[0].shape[1] / 2;
  const std::int64_t hidden = 2 * views[0].shape[2], out = views[2].shape[1];
  const gfx942::PlainExperts plain = {experts, hidden, inter, padded, out};
  LANEWISE_RETURN_IF_ERROR(plain.CheckPadding(views[0].bytes, views[2].bytes));
  // The seed pads nothing and looks at no code.
  constexpr gfx942::ExpertOptions kAsTheSeed = {
      .hidden_multiple = 1, .inter_multiple = 1, .first_refused_code = 256};
  const absl::StatusOr<WeightPlans> w13 = gfx942::PlanGateUp(plain.GateUp(), kAsTheSeed);
  const absl::StatusOr<WeightPlans> w2 = gfx942::PlanDown(plain.Down(), kAsTheSeed);
  if (!w13.ok()) return w13.status();
  if (!w2.ok()) return w2.status();
  Results results;
  const auto run = [&](const char* role, const TensorPlan& plan, std::size_t first) {
    absl::StatusOr<OutputTensor> output =
        Run(plan, {views[first].bytes, views[first + 1].bytes}, plan.shape);
    if (output.ok()) results.tensors[role] = *std::move(output);
    return output.status();
  };
  for (const absl::Status& status : {run("w13", w13->weight, 0), run("w13_s", w13->codes, 0),
                                     run("w2", w2->weight, 2), run("w2_s", w2->codes, 2)}) {
    if (!status.ok()) return status;
  }
  return results;
}

// The permutation that a layout makes of 0 .. size - 1, as an array of 8-byte numbers.
absl::StatusOr<Results> Permutation(const TensorPlan& plan, std::int64_t size) {
  std::vector<std::int64_t> numbers(size);
  for (std::int64_t i = 0; i < size; ++i) numbers[i] = i;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(numbers.data());
  LANEWISE_ASSIGN_OR_RETURN(
      OutputTensor output,
      Run(plan, {std::span(bytes, static_cast<std::size_t>(8 * size))}, {size}));
  output.dtype = DType::kI64;
  Results results;
  results.tensors["perm"] = std::move(output);
  return results;
}

// Every permutation of heads is q_fused on rows of some elements: o_fused is so with 32 in place
// of 16.
Operation HeadPermutation(const char* heads_arg, std::int64_t chunk) {
  return [heads_arg, chunk](const Case& golden_case) -> absl::StatusOr<Results> {
    const absl::StatusOr<std::int64_t> heads = golden_case.IntArg(heads_arg, 8);
    const absl::StatusOr<std::int64_t> head_dim = golden_case.IntArg("head_dim", 512);
    if (!heads.ok()) return heads.status();
    if (!head_dim.ok()) return head_dim.status();
    Layout layout;
    layout.tag = "permutation";
    layout.main = chunk == 16 ? Pattern("row(head chunk:chunks dim:16) byte -> chunk head dim byte")
                  : chunk == 32
                      ? Pattern("row(head chunk:chunks dim:32) byte -> chunk head dim byte")
                      : Pattern("row(head chunk:chunks) byte -> chunk head byte");
    const std::int64_t inner = chunk == 1 ? 32 : chunk;
    if (*heads < 1 || *head_dim < 1 || *head_dim % inner != 0) {
      return InvalidArgument(*heads, " heads of ", *head_dim, " elements: expected a multiple of ",
                             inner);
    }
    layout = layout.WithParameter("chunks", *head_dim / inner);
    const std::int64_t size = *heads * *head_dim / (chunk == 1 ? 32 : 1);
    LANEWISE_ASSIGN_OR_RETURN(TensorPlan plan, MakePlan(layout, size, 8));
    plan.place = [](std::int64_t row) { return RowPlace{0, 8 * row}; };
    return Permutation(plan, size);
  };
}

absl::StatusOr<Results> PermuteQToFused(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(const TensorView q, Input(golden_case, "q", 3));
  const std::int64_t tokens = q.shape[0], heads = q.shape[1], dim = q.shape[2];
  const std::int64_t element_bytes = BitsPerElement(q.dtype) / 8;
  LANEWISE_ASSIGN_OR_RETURN(const TensorPlan plan,
                            flashmla::PlanQFusedRows(heads, dim, element_bytes));
  OutputTensor output{q.dtype, q.shape, {}};
  for (std::int64_t token = 0; token < tokens; ++token) {
    const std::int64_t bytes = heads * dim * element_bytes;
    LANEWISE_ASSIGN_OR_RETURN(const OutputTensor one,
                              Run(plan, {q.bytes.subspan(token * bytes, bytes)}, {}));
    output.bytes.insert(output.bytes.end(), one.bytes.begin(), one.bytes.end());
  }
  Results results;
  results.tensors["q"] = std::move(output);
  return results;
}

Operation PermuteWeight(const char* heads_arg,
                        absl::StatusOr<WeightPlans> (*make)(const LinearSource&, std::int64_t)) {
  return [heads_arg, make](const Case& golden_case) -> absl::StatusOr<Results> {
    const absl::StatusOr<TensorView> weight = Input(golden_case, "weight", 2);
    const absl::StatusOr<TensorView> codes = Input(golden_case, "weight_scale", 2);
    const absl::StatusOr<std::int64_t> heads = golden_case.IntArg(heads_arg, 8);
    if (!weight.ok()) return weight.status();
    if (!codes.ok()) return codes.status();
    if (!heads.ok()) return heads.status();
    // Codes of rows, or of blocks of 32 rows.
    const std::int64_t code_rows = 32 * codes->shape[0] == weight->shape[0] ? 32 : 1;
    LANEWISE_ASSIGN_OR_RETURN(const WeightPlans plans,
                              make(LinearSource::Whole(weight->shape[0], weight->shape[1],
                                                       LinearSource::WeightForm::kE4m3, code_rows),
                                   *heads));
    const Sources sources = {weight->bytes, codes->bytes};
    absl::StatusOr<OutputTensor> moved = Run(plans.weight, sources, weight->shape);
    absl::StatusOr<OutputTensor> moved_codes = Run(plans.codes, sources, codes->shape);
    if (!moved.ok()) return moved.status();
    if (!moved_codes.ok()) return moved_codes.status();
    LANEWISE_RETURN_IF_ERROR(
        CheckRestores({&plans.codes, &plans.weight}, {&*moved_codes, &*moved}, sources));
    Results results;
    results.tensors["weight"] = *std::move(moved);
    results.tensors["weight_scale"] = *std::move(moved_codes);
    return results;
  };
}

}  // namespace

void AddLayoutsWeights(OperationTable& table) {
  const auto add = [&table](std::string_view op, Operation operation) {
    table.Add(op, kWeights, std::move(operation));
  };
  add("dense_copy", DenseCopy);
  add("linear_copy", LinearCopy);
  add("ocp_from_dequant", OcpFromDequant);
  add("fp4_drop_negative_zero", [](const Case& golden_case) {
    return MoveRows(golden_case, "w", *FindLayout("plain"), Conversion::kE2m1DropNegativeZero);
  });
  add("fp4_lane_major", Move("w", "gfx942/fp4_lane_major"));
  add("fp4_tile_major", Move("w", "gfx942/fp4_tile_major", 16));
  add("codes_tile_rounds", Move("codes", "gfx942/codes_tile_rounds", 16));
  add("moe_copies", MoeCopies);
  add("as_block32_scale", AsBlock32Scale);
  add("aiter_shuffle_weight_16x16", Move("w", "aiter/shuffle_weight_16x16", 16));
  add("aiter_e8m0_shuffle", Move("codes", "aiter/e8m0_shuffle"));
  add("q_fused_permutation", HeadPermutation("num_heads", 16));
  add("o_fused_permutation", HeadPermutation("heads_per_group", 32));
  add("o_fused_chunk_permutation", HeadPermutation("heads_per_group", 1));
  add("permute_q_to_fused", PermuteQToFused);
  add("permute_wq_b", PermuteWeight("num_local_heads", flashmla::PlanWqB));
  add("permute_wo_a", PermuteWeight("heads_per_group", flashmla::PlanWoA));
}

}  // namespace lanewise::golden
