#include "weights/gfx950/experts.h"

#include <utility>

#include "layouts/catalogue.h"

namespace lanewise::gfx950 {
namespace {

using Rows = std::function<RowPlace(std::int64_t)>;

absl::StatusOr<TensorPlan> PlanWeight(std::int64_t experts, std::int64_t rows, std::int64_t bytes,
                                      Rows place) {
  absl::StatusOr<TensorPlan> plan =
      MakePlan(CatalogueLayout("aiter/shuffle_weight_16x16"), experts * rows, bytes);
  if (!plan.ok()) return plan;
  plan->shape = {experts, rows, bytes};
  plan->place = std::move(place);
  return plan;
}

absl::StatusOr<TensorPlan> PlanCodes(std::int64_t experts, std::int64_t rows, std::int64_t columns,
                                     Rows place) {
  const std::int64_t all = experts * rows;
  absl::StatusOr<TensorPlan> plan = MakePlan(CatalogueLayout("aiter/e8m0_shuffle"),
                                             (all + 255) / 256 * 256, (columns + 7) / 8 * 8);
  if (!plan.ok()) return plan;
  plan->source_row_bytes = plan->row_bytes = columns;
  plan->place = [place = std::move(place), all](std::int64_t row) {
    return row < all ? place(row) : RowPlace::Padding();
  };
  return plan;
}

absl::StatusOr<WeightPlans> Both(absl::StatusOr<TensorPlan> weight,
                                 absl::StatusOr<TensorPlan> codes) {
  if (!weight.ok()) return weight.status();
  if (!codes.ok()) return codes.status();
  return WeightPlans{*std::move(weight), *std::move(codes)};
}

}  // namespace

absl::StatusOr<WeightPlans> PlanGateUp(const GateUpSource& source, GateUpRowOrder order) {
  if (absl::Status status = CheckExperts(source); !status.ok()) return status;
  const auto in_order = [&](const GateUpSource::Place& place) {
    return GateUpRows(place, order, source.inter, source.inter);
  };
  return Both(
      PlanWeight(source.experts, 2 * source.inter, source.hidden / 2, in_order(source.rows)),
      PlanCodes(source.experts, 2 * source.inter, source.hidden / 32, in_order(source.codes)));
}

absl::StatusOr<WeightPlans> PlanDown(const DownSource& source) {
  if (absl::Status status = CheckExperts(source); !status.ok()) return status;
  return Both(
      PlanWeight(source.experts, source.out, source.inter / 2, DownRows(source.rows, source.out)),
      PlanCodes(source.experts, source.out, source.inter / 32, DownRows(source.codes, source.out)));
}

}  // namespace lanewise::gfx950
