#ifndef LANEWISE_TESTS_DIFFERENTIAL_PREPARED_H_
#define LANEWISE_TESTS_DIFFERENTIAL_PREPARED_H_

// Operations that prepare weights: a plan of weights/ runs, and is then restored with the signs of
// zeros into arrays of its sources' shape. A part of a tensor leaves the rest of those alone.

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tests/differential/operation.h"
#include "weights/tensor_plan.h"

namespace lanewise::differential {

// What outputs are filled with before a plan or a reference runs, where they may leave some bytes.
inline constexpr std::uint8_t kLeftByte = 0x11;

// Fills every output with kLeftByte.
void FillOutputs(const Call& call);

// A plan and the output that takes its bytes, which may be larger than they.
struct Prepared {
  const TensorPlan* plan;
  std::string_view out;
};

// Runs the plans in their order from the two sources into their outputs, and restores them in that
// order into the two outputs `again`. call["threads"] is 1 or 3; 3 means streaming stores too.
absl::Status RunAndRestore(const Call& call, std::initializer_list<std::string_view> sources,
                           std::initializer_list<Prepared> plans,
                           std::initializer_list<std::string_view> again);

// Rows [row0, row0 + rows) and bytes [byte0, byte0 + bytes) of each, from an input [.., row_bytes]
// to an output of the same shape: what restoring a part gives back.
void CopyPart(const Call& call, std::string_view from, std::string_view to, std::int64_t row_bytes,
              std::int64_t row0, std::int64_t rows, std::int64_t byte0, std::int64_t bytes);

// For Argument::layout: the catalogue's layout of that tag over (rows, columns), which are
// expressions of the dimensions; its one parameter, if it has one, is another.
std::function<absl::StatusOr<LayoutView>(const Shape&)> InLayout(std::string tag, std::string rows,
                                                                 std::string columns,
                                                                 std::string parameter = "1");

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_PREPARED_H_
