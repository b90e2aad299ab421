#ifndef LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_
#define LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tools/verify/reference_outputs.h"

namespace lanewise::tools {

// ReferenceOutputs of MXFP4 experts, for gfx942 and gfx950. One expert at a time: a layer of a
// large model would not fit into memory several times over.
absl::StatusOr<std::vector<ReferenceOutput>> ReferenceExperts(const MatchedWeight& weight,
                                                              const TensorSet& set,
                                                              const PreparationOptions& options);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_VERIFY_REFERENCE_EXPERTS_H_
