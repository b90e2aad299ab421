#ifndef LANEWISE_TOOLS_VERIFY_AGAINST_SOURCE_H_
#define LANEWISE_TOOLS_VERIFY_AGAINST_SOURCE_H_

#include "absl/status/status.h"
#include "checkpoint/prepared.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "tools/verify/verify.h"

namespace lanewise::tools {

// The second half of VerifyPrepared, for one rank: adds to the problems of `report`. An error where
// the prepared file lacks what prepare keeps in it (recipe, options), or the source cannot be
// planned by them, and where limits.memory is too little for a weight.
absl::Status VerifyAgainst(const PreparedCheckpoint& prepared, const TensorSet& source,
                           const VerifyLimits& limits, const Progress& progress,
                           VerifyReport* report);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_AGAINST_SOURCE_H_
