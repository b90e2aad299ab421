#include "checkpoint/prepare/weight_planning.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weights/zero_signs.h"

namespace lanewise::internal {

WeightPlanning::WeightPlanning(const MatchedWeight& weight, const TensorsByName& tensors,
                               const PreparationOptions& options)
    : weight_(weight), tensors_(tensors), options_(options) {
  if (options.ranks == 1) return;
  params_["ranks"] = std::int64_t{options.ranks};
  params_["rank"] = std::int64_t{options.rank};
  params_["parallel"] = std::string(RecipeWord(weight.parallel));
}

absl::StatusOr<Range> WeightPlanning::Part(const char* what, std::int64_t size,
                                           std::int64_t multiple) const {
  const std::int64_t ranks = options_.ranks;
  if (size % ranks != 0 || size / ranks % multiple != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " ", size, " does not divide among ", ranks, " ranks",
                     multiple == 1 ? "" : absl::StrCat(" in multiples of ", multiple)));
  }
  return Range{size / ranks * options_.rank, size / ranks};
}

absl::StatusOr<Parallel> WeightPlanning::Split() const {
  if (options_.ranks == 1) return Parallel::kReplicated;
  if (weight_.parallel == Parallel::kUnstated) {
    return absl::InvalidArgumentError(
        absl::StrCat("the recipe does not say how ", options_.ranks, " ranks share it"));
  }
  return weight_.parallel;
}

std::vector<OutputTensor> WeightPlanning::Copies() const {
  std::vector<OutputTensor> copies;
  for (const WeightPart& part : weight_.parts) {
    for (const std::string* name : {&part.weight, &part.scale}) {
      copies.push_back(VerbatimCopy(*tensors_.at(*name)));
    }
  }
  return copies;
}

OutputTensor WeightPlanning::Output(Logical logical, TensorPlan plan,
                                    std::vector<std::string> sources,
                                    std::vector<std::string> from) const {
  OutputTensor output;
  PreparedTensor& what = output.tensor.what;
  what.layout = std::string(plan.layout.tag);
  what.shape = logical.shape;
  what.dtype = logical.dtype;
  what.from = std::move(from);
  what.params = params_;
  const bool plain = plan.layout.tag == layout_tag::kPlain;
  output.tensor.stored = {logical.name, plain ? logical.dtype : DType::kU8,
                          plain ? logical.shape : plan.shape};
  if (DiscardsZeroSigns(plan)) output.tensor.late.emplace_back(kNegativeZerosParam);
  output.verbatim = plain && plan.conversion == Conversion::kNone && plan.agreeing_rows == 1 &&
                    IsWholeSource(plan, sources);
  output.sources = std::move(sources);
  output.plan = std::move(plan);
  return output;
}

// Whether the rows are one source's bytes, first to last.
bool WeightPlanning::IsWholeSource(const TensorPlan& plan,
                                   const std::vector<std::string>& sources) const {
  if (plan.rows() == 0) return false;
  const RowPlace first = plan.place(0);
  if (first.IsPadding() || first.offset != 0) return false;
  const TensorSpec& source = *tensors_.at(sources[first.source]);
  const absl::StatusOr<std::int64_t> bytes = ByteCount(source.dtype, source.shape);
  for (std::int64_t row = 0; row < plan.rows(); ++row) {
    const RowPlace place = plan.place(row);
    if (place.source != first.source || place.offset != row * plan.source_row_bytes) return false;
  }
  return bytes.ok() && *bytes == plan.bytes();
}

DType WeightPlanning::CodeDType(const TensorPlan& plan, const std::string& source) const {
  return plan.layout.tag == layout_tag::kPlain ? tensors_.at(source)->dtype : DType::kF8E8m0;
}

}  // namespace lanewise::internal
