#ifndef LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_
#define LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/verify/reference_outputs.h"

namespace lanewise::tools {

// ReferenceOutputs of MXFP4 experts, for gfx942 and gfx950, expert by expert.
absl::Status ReferenceExperts(const MatchedWeight& weight, const TensorSet& set,
                              const PreparationOptions& options, const TakeOutputs& take);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_
