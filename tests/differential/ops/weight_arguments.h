#ifndef LANEWISE_TESTS_DIFFERENTIAL_OPS_WEIGHT_ARGUMENTS_H_
#define LANEWISE_TESTS_DIFFERENTIAL_OPS_WEIGHT_ARGUMENTS_H_

// Arguments that are weights, for operations that multiply with them.

#include <string>
#include <vector>

#include "tests/differential/operation.h"

namespace lanewise::differential {

// Packed e2m1 as it is prepared for gfx942: without -0.
Argument PreparedFp4(const std::string& name, std::vector<std::string> extents);

// Scale codes. Of ordinary numbers they are `lower` less than the engine's, so that sums of a
// model's K stay where an activation is not flat. `code_limit`: Argument's.
Argument WeightCodes(const std::string& name, std::vector<std::string> extents, int lower,
                     int code_limit = 0);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_OPS_WEIGHT_ARGUMENTS_H_
