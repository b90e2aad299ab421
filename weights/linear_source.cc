#include "weights/linear_source.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lanewise {
namespace {

// The codes of one row: as many as its source has, each repeated where it serves several 32
// columns.
void SetCodeColumns(const LinearSource& source, TensorPlan* plan) {
  plan->row_bytes = source.columns / 32;
  plan->code_repeat = source.code_columns / 32;
  plan->source_row_bytes = (source.columns + source.code_columns - 1) / source.code_columns;
  if (plan->code_repeat > 1) plan->conversion = Conversion::kScaleCode;
}

// CodePlace(row * rows).
RowPlaces CodePlaces(const LinearSource& source, std::int64_t rows) {
  const std::int64_t stride = (source.k + source.code_columns - 1) / source.code_columns;
  if (rows % source.code_rows == 0 && source.row_begin % source.code_rows == 0) {
    return RowPlaces::Spaced(source.CodePlace(0), rows / source.code_rows * stride);
  }
  return [source, rows](std::int64_t row) { return source.CodePlace(row * rows); };
}

}  // namespace

absl::Status CheckLinearSource(const LinearSource& source, bool whole_blocks) {
  const auto multiple = [](const char* what, std::int64_t value, std::int64_t of = 32) {
    if (value % of == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is ", value, ", expected a multiple of ", of));
  };
  if (source.code_rows < 1 || (source.code_rows > 1 && source.code_rows % 32 != 0) ||
      source.code_columns < 32 || source.code_columns % 32 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scale code for each ", source.code_rows, " x ", source.code_columns,
                     " elements: expected 1 or a multiple of 32 rows, "
                     "and a multiple of 32 columns"));
  }
  if (absl::Status status = multiple("K", source.k); !status.ok()) return status;
  if (absl::Status status = multiple("the first column", source.k_begin, source.code_columns);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = multiple("the number of columns", source.columns); !status.ok()) {
    return status;
  }
  const bool block_rows = whole_blocks || !source.HasRowCodes();
  for (const auto& [what, value] : {std::pair("N", source.n),
                                    {"the first row", source.row_begin},
                                    {"the number of rows", source.rows}}) {
    if (!block_rows) break;
    if (absl::Status status = multiple(what, value); !status.ok()) return status;
  }
  if (source.row_begin < 0 || source.rows < 0 || source.rows > source.n - source.row_begin ||
      source.k_begin < 0 || source.columns < 0 || source.columns > source.k - source.k_begin) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows ", source.row_begin, " .. ", source.row_begin + source.rows,
                     " and columns ", source.k_begin, " .. ", source.k_begin + source.columns,
                     " are not within [", source.n, ", ", source.k, "]"));
  }
  return absl::OkStatus();
}

bool RowCodesFold(std::span<const std::uint8_t> codes, std::int64_t n, std::int64_t columns) {
  if (n % 32 != 0) return false;
  for (std::int64_t row = 0; row < n; ++row) {
    const std::uint8_t* first = codes.data() + row / 32 * 32 * columns;
    if (!std::equal(first, first + columns, codes.data() + row * columns)) return false;
  }
  return true;
}

absl::StatusOr<TensorPlan> PlanBlockCodes(const LinearSource& source, const Layout& layout,
                                          std::int64_t memory_columns) {
  absl::StatusOr<TensorPlan> plan = MakePlan(layout, source.rows / 32, memory_columns);
  if (!plan.ok()) return plan;
  SetCodeColumns(source, &*plan);
  plan->place = CodePlaces(source, 32);
  if (source.HasRowCodes()) {
    plan->agreeing_rows = 32;
    plan->agreeing_stride = source.k / 32;
  }
  return plan;
}

absl::StatusOr<TensorPlan> PlanRowCodes(const LinearSource& source, const Layout& layout) {
  absl::StatusOr<TensorPlan> plan = MakePlan(layout, source.rows, source.columns / 32);
  if (!plan.ok()) return plan;
  SetCodeColumns(source, &*plan);
  plan->place = CodePlaces(source, 1);
  return plan;
}

}  // namespace lanewise
