#ifndef LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNER_H_
#define LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNER_H_

// Plans one matched weight; preparation.h does it for a checkpoint.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"

namespace lanewise {

using TensorsByName = std::map<std::string_view, const TensorSpec*>;

// The outputs of a weight for the target and the rank of `options`. InvalidArgument says why there
// are none: the target has no preparation for it, or its sizes do not fit the layout or do not
// divide among the ranks.
absl::StatusOr<std::vector<OutputTensor>> PlanWeight(const MatchedWeight& weight,
                                                     const TensorsByName& tensors,
                                                     const PreparationOptions& options,
                                                     const RowCodesFoldQuestion& row_codes_fold);

// A source tensor as it is.
OutputTensor VerbatimCopy(const TensorSpec& tensor);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_WEIGHT_PLANNER_H_
