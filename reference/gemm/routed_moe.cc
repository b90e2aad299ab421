#include "reference/gemm/routed_moe.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "reference/gemm/output.h"
#include "reference/quantize/options.h"

namespace lanewise::reference {
namespace {

absl::Status CheckShape(std::string_view name, const std::string& found,
                        std::initializer_list<std::int64_t> expected, const std::string& because) {
  std::string text = "[";
  for (const std::int64_t size : expected) absl::StrAppend(&text, text == "[" ? "" : ", ", size);
  text += "]";
  if (found == text) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(name), " is ", found, ", expected ", text, " ", because));
}

// A token's pick.
struct Pick {
  std::int64_t token;
  std::int64_t slot;
};

Tensor<Bf16, 2> Gather(const Tensor<Bf16, 2>& x, const std::vector<Pick>& picks) {
  Tensor<Bf16, 2> rows(static_cast<std::int64_t>(picks.size()), x.dimension(1));
  for (std::size_t i = 0; i < picks.size(); ++i) {
    rows.chip(static_cast<std::int64_t>(i), 0) = x.chip(picks[i].token, 0);
  }
  return rows;
}

Tensor<Bf16, 2> ActivateRows(const Swiglu& swiglu, const Tensor<float, 2>& gate_up) {
  const std::int64_t inter = gate_up.dimension(1) / 2;
  Tensor<Bf16, 2> y(gate_up.dimension(0), inter);
  for (std::int64_t row = 0; row < y.dimension(0); ++row) {
    for (std::int64_t i = 0; i < inter; ++i) {
      y(row, i) = Activate(swiglu, gate_up(row, i), gate_up(row, inter + i));
    }
  }
  return y;
}

std::int64_t AllExperts(const ExpertTensors& experts, const Routing& routing) {
  return routing.all_experts == 0 ? experts.w13.dimension(0) : routing.all_experts;
}

// Adds the expert's bias to every row of sums.
void AddExpertBias(const Tensor<Bf16, 2>* bias, std::int64_t expert, Tensor<float, 2>* sums) {
  if (bias == nullptr) return;
  for (std::int64_t row = 0; row < sums->dimension(0); ++row) {
    for (std::int64_t i = 0; i < sums->dimension(1); ++i) {
      (*sums)(row, i) += (*bias)(expert, i).ToFloat();
    }
  }
}

absl::Status CheckTokens(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                         const Routing& routing, const Tensor<Bf16, 2>* shared) {
  const std::int64_t tokens = x.dimension(0);
  const std::int64_t k = experts.w13.dimension(2) * 2;
  absl::Status status = CheckShape("x", ShapeText(x), {tokens, k}, "for the experts' K");
  const std::int64_t top_k = routing.experts.dimension(1);
  status.Update(CheckShape("routing.experts", ShapeText(routing.experts), {tokens, top_k},
                           "for the tokens of x"));
  status.Update(CheckShape("routing.weights", ShapeText(routing.weights), {tokens, top_k},
                           "as routing.experts"));
  if (shared != nullptr) {
    status.Update(CheckShape("shared", ShapeText(*shared), {tokens, k}, "as x"));
  }
  const std::int64_t count = experts.w13.dimension(0);
  if (routing.first_expert < 0 || routing.first_expert + count > AllExperts(experts, routing)) {
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("experts ", routing.first_expert, " to ", routing.first_expert + count - 1,
                     " are not among ", AllExperts(experts, routing))));
  }
  return status;
}

}  // namespace

absl::Status CheckExpertTensors(const ExpertTensors& experts) {
  const std::int64_t e = experts.w13.dimension(0);
  const std::int64_t rows = experts.w13.dimension(1);
  const std::int64_t k = experts.w13.dimension(2) * 2;
  const std::int64_t inter = rows / 2;
  if (rows % 2 != 0 || k % kBlockSize != 0 || inter % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("w13 is ", ShapeText(experts.w13),
                     ", expected [E, 2 inter, K / 2] with K and inter multiples of ", kBlockSize));
  }
  absl::Status status = CheckShape("w13_codes", ShapeText(experts.w13_codes),
                                   {e, rows, k / kBlockSize}, "for w13 " + ShapeText(experts.w13));
  status.Update(CheckShape("w2", ShapeText(experts.w2), {e, k, inter / 2},
                           "for w13 " + ShapeText(experts.w13)));
  status.Update(CheckShape("w2_codes", ShapeText(experts.w2_codes), {e, k, inter / kBlockSize},
                           "for w13 " + ShapeText(experts.w13)));
  if (experts.w13_bias != nullptr) {
    status.Update(CheckShape("w13_bias", ShapeText(*experts.w13_bias), {e, rows},
                             "for w13 " + ShapeText(experts.w13)));
  }
  if (experts.w2_bias != nullptr) {
    status.Update(CheckShape("w2_bias", ShapeText(*experts.w2_bias), {e, k},
                             "for w13 " + ShapeText(experts.w13)));
  }
  return status;
}

absl::StatusOr<Tensor<float, 2>> ExpertRows(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                            std::int64_t expert, const MoeStages& stages) {
  const Tensor<std::uint8_t, 2> w13 = experts.w13.chip(expert, 0);
  const Tensor<std::uint8_t, 2> w13_codes = experts.w13_codes.chip(expert, 0);
  const Tensor<std::uint8_t, 2> w2 = experts.w2.chip(expert, 0);
  const Tensor<std::uint8_t, 2> w2_codes = experts.w2_codes.chip(expert, 0);
  LANEWISE_ASSIGN_OR_RETURN(auto gate_up,
                            stages.up_gate(x, {ElementFormat::kE2m1, w13, w13_codes}));
  AddExpertBias(experts.w13_bias, expert, &gate_up);
  LANEWISE_ASSIGN_OR_RETURN(auto down, stages.down(ActivateRows(stages.swiglu, gate_up),
                                                   {ElementFormat::kE2m1, w2, w2_codes}));
  AddExpertBias(experts.w2_bias, expert, &down);
  return down;
}

absl::StatusOr<MoeOutput> RoutedMoe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                    const Routing& routing, const Tensor<Bf16, 2>* shared,
                                    const MoeStages& stages) {
  LANEWISE_RETURN_IF_ERROR(CheckExpertTensors(experts));
  LANEWISE_RETURN_IF_ERROR(CheckTokens(x, experts, routing, shared));
  const std::int64_t tokens = x.dimension(0);
  const std::int64_t top_k = routing.experts.dimension(1);
  const std::int64_t count = experts.w13.dimension(0);

  MoeOutput result;
  std::vector<std::vector<Pick>> picks(static_cast<std::size_t>(count));
  Tensor<bool, 2> exists(tokens, top_k);
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t slot = 0; slot < top_k; ++slot) {
      const std::int64_t of_all = routing.experts(token, slot);
      const std::int64_t expert = of_all - routing.first_expert;
      exists(token, slot) = expert >= 0 && expert < count;
      if (exists(token, slot)) picks[static_cast<std::size_t>(expert)].push_back({token, slot});
      if (of_all < 0 || of_all >= AllExperts(experts, routing)) ++result.skipped;
    }
  }

  Tensor<Bf16, 3> contributions(tokens, top_k, x.dimension(1));
  for (std::int64_t expert = 0; expert < count; ++expert) {
    const std::vector<Pick>& its_picks = picks[static_cast<std::size_t>(expert)];
    if (its_picks.empty()) continue;
    LANEWISE_ASSIGN_OR_RETURN(const auto down,
                              ExpertRows(Gather(x, its_picks), experts, expert, stages));
    for (std::size_t i = 0; i < its_picks.size(); ++i) {
      const auto [token, slot] = its_picks[i];
      const float weight = routing.weights(token, slot);
      for (std::int64_t h = 0; h < x.dimension(1); ++h) {
        const float sum = down(static_cast<std::int64_t>(i), h);
        contributions(token, slot, h) = RoundToBf16(sum * weight);
      }
    }
  }

  result.out.resize(tokens, x.dimension(1));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t h = 0; h < x.dimension(1); ++h) {
      const bool from_shared = shared != nullptr && stages.shared_first;
      Bf16 sum = from_shared ? (*shared)(token, h) : Bf16::FromFloat(0.0f);
      for (std::int64_t slot = 0; slot < top_k; ++slot) {
        if (!exists(token, slot)) continue;
        sum = RoundToBf16(sum.ToFloat() + contributions(token, slot, h).ToFloat());
      }
      if (shared != nullptr && !from_shared)
        sum = RoundToBf16(sum.ToFloat() + (*shared)(token, h).ToFloat());
      result.out(token, h) = sum;
    }
  }
  return result;
}

}  // namespace lanewise::reference
