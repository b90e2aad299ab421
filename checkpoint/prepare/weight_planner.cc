#include "checkpoint/prepare/weight_planner.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/prepare/weight_planning.h"

namespace lanewise {

OutputTensor VerbatimCopy(const TensorSpec& tensor) {
  OutputTensor output;
  output.tensor.stored = tensor;
  output.tensor.what.layout = std::string(layout_tag::kPlain);
  output.tensor.what.shape = tensor.shape;
  output.tensor.what.dtype = tensor.dtype;
  output.tensor.what.from = {tensor.name};
  output.sources = {tensor.name};
  output.verbatim = true;
  return output;
}

absl::StatusOr<std::vector<OutputTensor>> PlanWeight(const MatchedWeight& weight,
                                                     const TensorsByName& tensors,
                                                     const PreparationOptions& options,
                                                     const RowCodesFoldQuestion& row_codes_fold) {
  switch (weight.kind) {
    case WeightKind::kMxfp8Linear:
      return internal::PlanLinear(weight, tensors, options, row_codes_fold);
    case WeightKind::kMxfp4Experts:
      return internal::PlanExperts(weight, tensors, options);
    case WeightKind::kMxfp4Linear:
      break;
  }
  if (options.target == Target::kFlashmla) {
    return internal::WeightPlanning(weight, tensors, options).Copies();
  }
  return absl::InvalidArgumentError(absl::StrCat("an MXFP4 linear has no preparation for ",
                                                 AbslView(TargetName(options.target)),
                                                 ", only MXFP4 experts have"));
}

}  // namespace lanewise
