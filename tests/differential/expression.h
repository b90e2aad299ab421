#ifndef LANEWISE_TESTS_DIFFERENTIAL_EXPRESSION_H_
#define LANEWISE_TESTS_DIFFERENTIAL_EXPRESSION_H_

// Integer arithmetic over the dimensions of a shape, as extents of arguments and grids of kernels
// are written: "K / 32", "ceil(N, 16)", "2 * roundup(inter, 64)".
//
//   sum     := product (('+' | '-') product)*
//   product := unit (('*' | '/' | '%') unit)*          / rounds down
//   unit    := number | NAME | '-' unit | '(' sum ')'
//            | ceil '(' sum ',' sum ')'          a / b rounded up
//            | roundup '(' sum ',' sum ')'       a rounded up to a multiple of b
//            | min '(' sum ',' sum ')' | max '(' sum ',' sum ')'

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"

namespace lanewise::differential {

// InvalidArgument says what is wrong at which character, counted from 1: another token, a name
// without a value, a division by zero or less, a number beyond 2^62.
absl::StatusOr<std::int64_t> Evaluate(
    std::string_view text,
    const std::function<std::optional<std::int64_t>(std::string_view name)>& value_of);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_EXPRESSION_H_
