#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/prepare/weight_planning.h"
#include "weights/expert_source.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"

namespace lanewise::internal {
namespace {

class ExpertPlanner : public WeightPlanning {
 public:
  using WeightPlanning::WeightPlanning;

  absl::StatusOr<std::vector<OutputTensor>> Plan() {
    if (options_.target == Target::kFlashmla) return Copies();
    Range experts = {0, weight_.experts};
    Range inter = {0, weight_.inter()};
    const absl::StatusOr<Parallel> split = Split();
    if (!split.ok()) return split.status();
    const bool gate_up = weight_.projection == Projection::kGateUp;
    if (*split == Parallel::kExpert) {
      const absl::StatusOr<Range> part = Part("the number of experts", weight_.experts, 1);
      if (!part.ok()) return part.status();
      experts = *part;
    } else if (*split == (gate_up ? Parallel::kColumn : Parallel::kRow)) {
      const absl::StatusOr<Range> part = Part("the intermediate size", weight_.inter(), 32);
      if (!part.ok()) return part.status();
      inter = *part;
    } else if (*split != Parallel::kReplicated) {
      return absl::InvalidArgumentError(
          absl::StrCat("experts are split by their intermediate size, which for ",
                       AbslView(RecipeWord(weight_.projection)), " is not ",
                       AbslView(RecipeWord(*split)), "-parallel"));
    }
    absl::StatusOr<WeightPlans> plans = ExpertPlansOf(experts, inter);
    if (!plans.ok()) return plans.status();
    if (options_.target == Target::kGfx942) {
      const std::int64_t padded_columns = 2 * plans->weight.packer.layout().extent(1);
      const std::int64_t padded_rows =
          experts.count == 0 ? 0 : plans->weight.rows() / experts.count;
      params_["padded_k"] = padded_columns;
      if (gate_up) params_["padded_inter"] = padded_rows / 2;
    } else {
      params_["padded_code_rows"] = plans->codes.rows();
      params_["padded_code_columns"] = plans->codes.packer.layout().extent(1);
    }
    const std::int64_t rows = gate_up ? 2 * inter.count : weight_.n;
    const std::int64_t columns = gate_up ? weight_.k : inter.count;
    std::vector<std::string> weights, scales;
    for (const WeightPart& part : weight_.parts) {
      weights.push_back(part.weight);
      scales.push_back(part.scale);
    }
    std::vector<OutputTensor> outputs;
    outputs.push_back(Output({weight_.name, DType::kF4, {experts.count, rows, columns}},
                             std::move(plans->weight), weights, weights));
    outputs.push_back(
        Output({weight_.scale_name, DType::kF8E8m0, {experts.count, rows, columns / 32}},
               std::move(plans->codes), scales, scales));
    return outputs;
  }

 private:
  // Finds the part, by its number, that holds a half of an expert.
  std::shared_ptr<const std::vector<int>> PartTable() const {
    auto table = std::make_shared<std::vector<int>>(2 * weight_.experts, -1);
    for (std::size_t i = 0; i < weight_.parts.size(); ++i) {
      const WeightPart& part = weight_.parts[i];
      for (std::int64_t e = part.first_expert; e < part.first_expert + part.experts; ++e) {
        if (part.half != WeightPart::Half::kUp) (*table)[2 * e] = static_cast<int>(i);
        if (part.half != WeightPart::Half::kGate) (*table)[2 * e + 1] = static_cast<int>(i);
      }
    }
    return table;
  }

  std::vector<std::int64_t> FirstExperts() const {
    std::vector<std::int64_t> first;
    for (const WeightPart& part : weight_.parts) first.push_back(part.first_expert);
    return first;
  }

  GateUpSource::Place GateUpPlace(std::int64_t row_bytes, Range experts, Range inter) const {
    return
        [table = PartTable(), first = FirstExperts(), order = weight_.order, rows = weight_.inter(),
         row_bytes, experts, inter](std::int64_t expert, int half, std::int64_t i) {
          expert += experts.begin;
          i += inter.begin;
          const int part = (*table)[2 * expert + half];
          const bool apart = order == GateUpOrder::kSeparate;
          const std::int64_t row = apart                                ? i
                                   : order == GateUpOrder::kInterleaved ? 2 * i + half
                                                                        : half * rows + i;
          const std::int64_t part_rows = apart ? rows : 2 * rows;
          return RowPlace{part, ((expert - first[part]) * part_rows + row) * row_bytes};
        };
  }

  DownSource::Place DownPlace(std::int64_t row_bytes, std::int64_t first_byte,
                              Range experts) const {
    return [table = PartTable(), first = FirstExperts(), rows = weight_.n, row_bytes, first_byte,
            experts](std::int64_t expert, std::int64_t i) {
      expert += experts.begin;
      const int part = (*table)[2 * expert];
      return RowPlace{part, ((expert - first[part]) * rows + i) * row_bytes + first_byte};
    };
  }

  absl::StatusOr<WeightPlans> ExpertPlansOf(Range experts, Range inter) {
    const bool gfx942 = options_.target == Target::kGfx942;
    if (weight_.projection == Projection::kGateUp) {
      GateUpSource source;
      source.experts = experts.count;
      source.hidden = weight_.k;
      source.inter = inter.count;
      source.rows = GateUpPlace(weight_.k / 2, experts, inter);
      source.codes = GateUpPlace(weight_.k / 32, experts, inter);
      // AITER's order says nothing of gate and up: they stay as the source has them.
      const bool interleaved = gfx942 || weight_.order == GateUpOrder::kInterleaved;
      params_["gate_up"] = std::string(
          RecipeWord(interleaved ? GateUpOrder::kInterleaved : GateUpOrder::kGateThenUp));
      if (gfx942) return gfx942::PlanGateUp(source, {});
      return gfx950::PlanGateUp(
          source, interleaved ? GateUpRowOrder::kInterleaved : GateUpRowOrder::kGateThenUp);
    }
    DownSource source;
    source.experts = experts.count;
    source.out = weight_.n;
    source.inter = inter.count;
    source.rows = DownPlace(weight_.k / 2, inter.begin / 2, experts);
    source.codes = DownPlace(weight_.k / 32, inter.begin / 32, experts);
    return gfx942 ? gfx942::PlanDown(source, {}) : gfx950::PlanDown(source);
  }
};

}  // namespace

absl::StatusOr<std::vector<OutputTensor>> PlanExperts(const MatchedWeight& weight,
                                                      const TensorsByName& tensors,
                                                      const PreparationOptions& options) {
  return ExpertPlanner(weight, tensors, options).Plan();
}

}  // namespace lanewise::internal
