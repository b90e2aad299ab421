#include "reference/gfx950/a16w4_moe_semantics.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/bf16_reduction.h"
#include "reference/gemm/output.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {
namespace {

constexpr std::int64_t kStep = 128;
constexpr std::int64_t kInstructionsPerStep = 4;
constexpr std::int64_t kUpGateWaves = 8;
constexpr std::int64_t kDownWaves = 4;

absl::Status CheckSteps(std::string_view name, std::int64_t k) {
  if (k % kStep == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(AbslView(name), " = ", k, " is not a multiple of ", kStep, ", a step of A16W4"));
}

// [rows, K] with the K sets of the instructions one after the other: instruction 4 st + d has the
// 32 columns from there.
Tensor<Bf16, 2> InInstructionOrder(const Tensor<Bf16, 2>& x) {
  Tensor<Bf16, 2> ordered(x.dimension(0), x.dimension(1));
  for (std::int64_t row = 0; row < x.dimension(0); ++row) {
    for (std::int64_t k = 0; k < x.dimension(1); ++k) {
      const std::int64_t step = k / kStep;
      const std::int64_t j = k % kStep / 32;
      const std::int64_t d = k % 32 / 8;
      ordered(row, kStep * step + 32 * d + 8 * j + k % 8) = x(row, k);
    }
  }
  return ordered;
}

absl::StatusOr<Tensor<Bf16, 2>> Dequantized(const MxMatrix& w) {
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (w.format != ElementFormat::kE2m1) {
    return absl::InvalidArgumentError(
        absl::StrCat("w is of ", AbslView(ElementFormatName(w.format)), ", expected e2m1"));
  }
  return DequantizeToBf16({w.elements, w.codes}, ElementFormat::kE2m1);
}

Reduction StepChain(std::int64_t first, std::int64_t last) {
  return Ascending(kInstructionsPerStep * first, kInstructionsPerStep * last);
}

// Each step of K by itself, from zero: [steps] of float32 [M, N].
absl::StatusOr<std::vector<Tensor<float, 2>>> StepSums(const Tensor<Bf16, 2>& x,
                                                       const MxMatrix& w) {
  const absl::StatusOr<Tensor<Bf16, 2>> weight = Dequantized(w);
  if (!weight.ok()) return weight.status();
  const Tensor<Bf16, 2> x_ordered = InInstructionOrder(x);
  const Tensor<Bf16, 2> w_ordered = InInstructionOrder(*weight);
  std::vector<Tensor<float, 2>> sums;
  for (std::int64_t step = 0; step < w.k() / kStep; ++step) {
    sums.push_back(EvaluateBf16Reduction(StepChain(step, step + 1), x_ordered, w_ordered));
  }
  return sums;
}

// The activated rows of some tokens in one expert, and their units of the down GEMM.
class ExpertUnits {
 public:
  static absl::StatusOr<ExpertUnits> Compute(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                             std::int64_t expert,
                                             const std::vector<std::int64_t>& tokens) {
    Tensor<Bf16, 2> rows(static_cast<std::int64_t>(tokens.size()), x.dimension(1));
    ExpertUnits units;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      rows.chip(static_cast<std::int64_t>(i), 0) = x.chip(tokens[i], 0);
      units.row_of_token_[tokens[i]] = static_cast<std::int64_t>(i);
    }
    const Tensor<std::uint8_t, 2> w13 = experts.w13.chip(expert, 0);
    const Tensor<std::uint8_t, 2> w13_codes = experts.w13_codes.chip(expert, 0);
    const Tensor<std::uint8_t, 2> w2 = experts.w2.chip(expert, 0);
    const Tensor<std::uint8_t, 2> w2_codes = experts.w2_codes.chip(expert, 0);
    absl::StatusOr<Tensor<float, 2>> gate_up =
        A16w4UpGate(rows, {ElementFormat::kE2m1, w13, w13_codes});
    if (!gate_up.ok()) return gate_up.status();
    const std::int64_t inter = gate_up->dimension(1) / 2;
    Tensor<Bf16, 2> mid(rows.dimension(0), inter);
    for (std::int64_t row = 0; row < mid.dimension(0); ++row) {
      for (std::int64_t i = 0; i < inter; ++i) {
        mid(row, i) = Activate(kGptOssSwiglu, (*gate_up)(row, i), (*gate_up)(row, inter + i));
      }
    }
    absl::StatusOr<std::vector<Tensor<float, 2>>> sums =
        StepSums(mid, {ElementFormat::kE2m1, w2, w2_codes});
    if (!sums.ok()) return sums.status();
    units.sums_ = *std::move(sums);
    return units;
  }

  std::int64_t steps() const { return static_cast<std::int64_t>(sums_.size()); }
  float Sum(std::int64_t token, std::int64_t step, std::int64_t h) const {
    return sums_[static_cast<std::size_t>(step)](row_of_token_.at(token), h);
  }

 private:
  std::map<std::int64_t, std::int64_t> row_of_token_;
  std::vector<Tensor<float, 2>> sums_;
};

// One pick of a token, at its expert's place in the order that units are numbered in.
struct PlacedPick {
  std::int64_t place;
  std::int64_t slot;
  std::int64_t expert;
  float weight;
};

using Sums = std::array<float, kDownWaves>;

// Adds an expert's units, the first of which has number `first_unit`.
void AddUnits(const ExpertUnits& units, std::int64_t token, std::int64_t h, float weight,
              std::int64_t first_unit, Sums* waves) {
  for (std::int64_t step = 0; step < units.steps(); ++step) {
    const float product = units.Sum(token, step, h) * weight;
    (*waves)[static_cast<std::size_t>((first_unit + step) % kDownWaves)] += product;
  }
}

absl::Status CheckArguments(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                            const Routing& routing, const SharedPick* shared) {
  if (absl::Status status = CheckExpertTensors(experts); !status.ok()) return status;
  const std::int64_t k = experts.w13.dimension(2) * 2;
  if (x.dimension(1) != k) return CheckSameK("x", x.dimension(1), "w13", k);
  absl::Status status = CheckSteps("K", k);
  status.Update(CheckSteps("inter", experts.w13.dimension(1) / 2));
  const std::int64_t tokens = x.dimension(0);
  if (routing.experts.dimension(0) != tokens ||
      routing.weights.dimensions() != routing.experts.dimensions()) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "routing.experts is ", ShapeText(routing.experts), " and routing.weights ",
        ShapeText(routing.weights), ", expected both [", tokens, ", top_k] for x ", ShapeText(x))));
  }
  if (shared != nullptr && (shared->weights.dimension(0) != tokens || shared->expert < 0 ||
                            shared->expert >= experts.w13.dimension(0))) {
    status.Update(absl::InvalidArgumentError(absl::StrCat(
        "the shared expert is ", shared->expert, " with weights ", ShapeText(shared->weights),
        ", expected one of ", experts.w13.dimension(0), " experts and [", tokens, "]")));
  }
  return status;
}

}  // namespace

absl::StatusOr<Tensor<float, 2>> A16w4UpGate(const Tensor<Bf16, 2>& x, const MxMatrix& w) {
  const absl::StatusOr<Tensor<Bf16, 2>> weight = Dequantized(w);
  if (!weight.ok()) return weight.status();
  if (absl::Status status = CheckSameK("x", x.dimension(1), "w", w.k()); !status.ok()) {
    return status;
  }
  if (absl::Status status = CheckSteps("K", w.k()); !status.ok()) return status;
  const std::int64_t steps = w.k() / kStep;
  const std::int64_t run = (steps + kUpGateWaves - 1) / kUpGateWaves;
  Reduction waves;
  for (std::int64_t wave = 0; wave < kUpGateWaves; ++wave) {
    const std::int64_t first = std::min(steps, wave * run);
    waves.parts.push_back(StepChain(first, std::min(steps, first + run)));
  }
  return EvaluateBf16Reduction(waves, InInstructionOrder(x), InInstructionOrder(*weight));
}

absl::StatusOr<MoeOutput> A16w4Moe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                   const Routing& routing, const SharedPick* shared) {
  if (absl::Status status = CheckArguments(x, experts, routing, shared); !status.ok()) {
    return status;
  }
  const std::int64_t tokens = x.dimension(0);
  const std::int64_t count = experts.w13.dimension(0);
  MoeOutput result;
  std::vector<std::vector<PlacedPick>> picks(static_cast<std::size_t>(tokens));
  std::map<std::int64_t, std::set<std::int64_t>> tokens_of_expert;
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t slot = 0; slot < routing.experts.dimension(1); ++slot) {
      const std::int64_t expert = routing.experts(token, slot);
      if (expert < 0 || expert >= count) {
        ++result.skipped;
        continue;
      }
      picks[static_cast<std::size_t>(token)].push_back(
          {slot, slot, expert, routing.weights(token, slot)});
      tokens_of_expert[expert].insert(token);
    }
  }
  if (tokens > kNarrowTokens) {
    std::map<std::int64_t, std::int64_t> place;
    for (const auto& [expert, its_tokens] : tokens_of_expert) {
      const auto next = static_cast<std::int64_t>(place.size());
      place[expert] = next;
    }
    for (std::vector<PlacedPick>& list : picks) {
      for (PlacedPick& pick : list) pick.place = place[pick.expert];
      std::sort(list.begin(), list.end(), [](const PlacedPick& a, const PlacedPick& b) {
        return std::pair(a.place, a.slot) < std::pair(b.place, b.slot);
      });
    }
  }

  std::map<std::int64_t, ExpertUnits> units;
  if (shared != nullptr) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      tokens_of_expert[shared->expert].insert(token);
    }
  }
  for (const auto& [expert, its_tokens] : tokens_of_expert) {
    absl::StatusOr<ExpertUnits> computed = ExpertUnits::Compute(
        x, experts, expert, std::vector<std::int64_t>(its_tokens.begin(), its_tokens.end()));
    if (!computed.ok()) return computed.status();
    units.emplace(expert, *std::move(computed));
  }

  result.out.resize(tokens, x.dimension(1));
  for (std::int64_t token = 0; token < tokens; ++token) {
    for (std::int64_t h = 0; h < x.dimension(1); ++h) {
      Sums waves = {};
      for (const PlacedPick& pick : picks[static_cast<std::size_t>(token)]) {
        const ExpertUnits& its_units = units.at(pick.expert);
        AddUnits(its_units, token, h, pick.weight, pick.place * its_units.steps(), &waves);
      }
      float sum = ((waves[0] + waves[1]) + waves[2]) + waves[3];
      if (shared != nullptr) {
        Sums shared_waves = {};
        AddUnits(units.at(shared->expert), token, h, shared->weights(token), 0, &shared_waves);
        for (const float wave : shared_waves) sum += wave;
      }
      result.out(token, h) = RoundToBf16(sum);
    }
  }
  return result;
}

}  // namespace lanewise::reference::gfx950
