#ifndef LANEWISE_BENCHMARKS_KERNEL_COST_DOCUMENT_H_
#define LANEWISE_BENCHMARKS_KERNEL_COST_DOCUMENT_H_

// The table's place in docs/performance.md, between two comments of Markdown:
//
//   <!-- kernel_cost: written by bazel run //benchmarks:kernel_cost -- --update docs/performance.md
//   --> | kernel | ...
//   <!-- kernel_cost end -->

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::benchmarks {

// The document with the table between its marks replaced. NotFound if it has no marks.
absl::StatusOr<std::string> ReplaceTable(std::string_view document, std::string_view table);

// What stands between the marks.
absl::StatusOr<std::string> TableOf(std::string_view document);

// A table's rows, each cut to the columns that do not depend on the compiler (kernel, shape, bytes,
// lines, conflicts, scratch): "load fp4_tile_major | 1152 x 5120 | ...".
std::vector<std::string> StableRows(std::string_view table);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_KERNEL_COST_DOCUMENT_H_
