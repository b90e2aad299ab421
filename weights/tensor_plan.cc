#include "weights/tensor_plan.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "weights/lead_rows.h"

namespace lanewise {
namespace {

absl::Status CheckPlace(std::span<const std::int64_t> sizes, const RowPlace& place,
                        std::int64_t bytes, std::int64_t row) {
  if (place.IsPadding()) return absl::OkStatus();
  if (place.source >= std::ssize(sizes)) {
    return InvalidArgument("row ", row, " lies in source ", place.source, ", but there are ",
                           sizes.size());
  }
  const std::int64_t size = sizes[place.source];
  if (place.offset < 0 || bytes < 0 || place.offset > size - bytes) {
    return InvalidArgument("row ", row, " lies at bytes ", place.offset, " .. ",
                           place.offset + bytes, " of source ", place.source, ", which has ", size);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckPlaces(const TensorPlan& plan, std::span<const std::int64_t> sizes,
                         RowRange rows) {
  const auto check = [&](std::int64_t row) {
    const RowPlace place = plan.place(row);
    absl::Status status = CheckPlace(sizes, place, plan.source_extent(), row);
    if (!status.ok() || plan.code_place == nullptr || place.IsPadding()) return status;
    return CheckPlace(sizes, plan.code_place(row), plan.code_bytes(), row);
  };
  // Of rows that are evenly spaced all lie between the first and the last.
  const bool spaced =
      plan.place.spaced() && (plan.code_place == nullptr || plan.code_place.spaced());
  if (spaced && rows.begin < rows.end && check(rows.begin).ok() && check(rows.end - 1).ok()) {
    return absl::OkStatus();
  }
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    LANEWISE_RETURN_IF_ERROR(check(row));
  }
  return absl::OkStatus();
}

RowRange RowsOfLeads(const TensorPlan& plan, std::int64_t first, std::int64_t count) {
  const LeadRows lead = LeadRowsOf(plan.packer);
  if (!lead.contiguous) return {0, plan.rows()};
  return {first * lead.rows, (first + count) * lead.rows};
}

absl::StatusOr<TensorPlan> MakePlan(const Layout& layout, std::int64_t rows,
                                    std::int64_t memory_row_bytes) {
  const std::int64_t extents[] = {rows, memory_row_bytes};
  const absl::StatusOr<BoundLayout> bound = Bind(layout, extents);
  if (!bound.ok()) return bound.status();
  absl::StatusOr<Packer> packer = Packer::Create(*bound);
  if (!packer.ok()) return packer.status();
  TensorPlan plan;
  plan.layout = layout;
  plan.packer = *std::move(packer);
  plan.shape = {rows, memory_row_bytes};
  plan.source_row_bytes = plan.row_bytes = memory_row_bytes;
  return plan;
}

TensorPlan SourceRowsOf(const TensorPlan& plan) {
  // Row-major order fits any extents.
  TensorPlan rows = *MakePlan(CatalogueLayout("plain"), plan.rows(), plan.source_row_bytes);
  rows.place = plan.place;
  return rows;
}

}  // namespace lanewise
