#ifndef LANEWISE_TESTS_GOLDEN_COMPARE_H_
#define LANEWISE_TESTS_GOLDEN_COMPARE_H_

// Whether an operation's results are those of the case.

#include "absl/status/status.h"
#include "tests/golden/case.h"

namespace lanewise::golden {

// OK if the results hold exactly the tensors that the case expects, with their shapes and values
// (OutputTensor says how values compare), and no count that contradicts an argument. Else a message
// that names the tensor, the first wrong element in logical coordinates with both values, and how
// many are wrong.
absl::Status CompareResults(const Case& golden_case, const Results& results);

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_COMPARE_H_
