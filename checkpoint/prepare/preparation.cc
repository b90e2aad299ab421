#include "checkpoint/prepare/preparation.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/printable.h"
#include "base/text.h"
#include "checkpoint/prepare/weight_planner.h"

namespace lanewise {
namespace {

constexpr std::pair<Target, std::string_view> kTargets[] = {
    {Target::kGfx942, "gfx942"}, {Target::kGfx950, "gfx950"}, {Target::kFlashmla, "flashmla"}};

// Source tensors in the order of the checkpoint, with what each becomes.
class OutputsInOrder {
 public:
  explicit OutputsInOrder(std::span<const TensorSpec> tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) position_[tensors[i].name] = i;
  }

  void Add(OutputTensor output) {
    std::size_t first = position_.size();
    for (const std::string& source : output.tensor.what.from) {
      first = std::min(first, position_.at(source));
    }
    outputs_.emplace(first, std::move(output));
  }

  std::vector<OutputTensor> Take() {
    std::vector<OutputTensor> result;
    for (auto& [position, output] : outputs_) result.push_back(std::move(output));
    return result;
  }

 private:
  std::map<std::string_view, std::size_t> position_;
  std::multimap<std::size_t, OutputTensor> outputs_;  // by the position of the first source
};

std::vector<std::string> TensorsOf(const MatchedWeight& weight) {
  std::vector<std::string> tensors;
  for (const WeightPart& part : weight.parts) {
    tensors.push_back(part.weight);
    tensors.push_back(part.scale);
  }
  return tensors;
}

absl::Status CheckRanks(const PreparationOptions& options) {
  if (options.ranks >= 1 && options.rank >= 0 && options.rank < options.ranks) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " of ", options.ranks,
                                                 " ranks: expected 0 to ranks - 1"));
}

absl::Status Refused(const std::vector<Refusal>& refusals, std::string_view target) {
  constexpr std::size_t kShown = 20;
  std::string message = absl::StrCat(refusals.size(), refusals.size() == 1 ? " weight" : " weights",
                                     " cannot be prepared for ", AbslView(target), ":");
  for (std::size_t i = 0; i < std::min(kShown, refusals.size()); ++i) {
    absl::StrAppend(&message, "\n  ", Printable(refusals[i].reason));
  }
  if (refusals.size() > kShown) {
    absl::StrAppend(&message, "\n  and ", refusals.size() - kShown, " more");
  }
  absl::StrAppend(&message, "\n  --pass-through copies them as they are");
  return absl::InvalidArgumentError(message);
}

}  // namespace

std::string_view TargetName(Target target) {
  for (const auto& [value, name] : kTargets) {
    if (value == target) return name;
  }
  return "unknown";
}

absl::StatusOr<Target> TargetNamed(std::string_view name) {
  for (const auto& [value, known] : kTargets) {
    if (known == name) return value;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("target ", AbslView(name), ": expected gfx942, gfx950 or flashmla"));
}

absl::StatusOr<Preparation> PlanPreparation(const RecipeMatch& match,
                                            std::span<const TensorSpec> tensors,
                                            const PreparationOptions& options,
                                            const RowCodesFoldQuestion& row_codes_fold) {
  if (absl::Status status = CheckRanks(options); !status.ok()) return status;
  TensorsByName by_name;
  for (const TensorSpec& tensor : tensors) by_name[tensor.name] = &tensor;
  Preparation preparation;
  OutputsInOrder outputs(tensors);
  std::vector<Refusal> refusals = match.refused;
  for (const MatchedWeight& weight : match.weights) {
    absl::StatusOr<std::vector<OutputTensor>> planned =
        PlanWeight(weight, by_name, options, row_codes_fold);
    std::vector<std::string> sources = TensorsOf(weight);
    if (!planned.ok()) {
      refusals.push_back({absl::StrCat(weight.name, " [", weight.n, ", ", weight.k,
                                       "]: ", AbslView(StdView(planned.status().message()))),
                          std::move(sources)});
      continue;
    }
    bool copied = true;
    for (const OutputTensor& output : *planned) copied = copied && output.plan.place == nullptr;
    (copied ? preparation.copied : preparation.prepared) += std::ssize(sources);
    for (OutputTensor& output : *planned) outputs.Add(std::move(output));
  }
  if (!refusals.empty() && !options.pass_through) {
    return Refused(refusals, TargetName(options.target));
  }
  for (const Refusal& refusal : refusals) {
    for (const std::string& name : refusal.tensors) {
      outputs.Add(VerbatimCopy(*by_name.at(name)));
      ++preparation.passed;
    }
  }
  for (const std::string& name : match.copied) {
    outputs.Add(VerbatimCopy(*by_name.at(name)));
    ++preparation.copied;
  }
  preparation.outputs = outputs.Take();
  return preparation;
}

}  // namespace lanewise
