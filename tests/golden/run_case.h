#ifndef LANEWISE_TESTS_GOLDEN_RUN_CASE_H_
#define LANEWISE_TESTS_GOLDEN_RUN_CASE_H_

// Runs one golden case in one implementation.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tests/golden/case.h"
#include "tests/golden/operations.h"

namespace lanewise::golden {

// OK if the implementation gives what the case expects: its tensors and counts (CompareResults),
// or, for a case "NAME.refuse", a refusal whose message contains every number that stands in the
// argument "message" (counts and shapes; the words are free). Else says what is wrong; an operation
// that the table lacks is Unimplemented.
absl::Status RunCase(const OperationTable& table, const Case& golden_case,
                     std::string_view implementation);

// "case 7 dense_copy {"chunk_q":true} in reference", the beginning of a failure's line.
std::string CaseText(const Case& golden_case, std::string_view implementation);

}  // namespace lanewise::golden

#endif  // LANEWISE_TESTS_GOLDEN_RUN_CASE_H_
