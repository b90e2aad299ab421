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

}  // namespace

absl::StatusOr<ExpertPlans> PlanExperts(const ExpertSource& source, GateUpOrder order) {
  if (absl::Status status = CheckExpertSource(source); !status.ok()) return status;
  const auto gate_up = [&](const auto& place) {
    return GateUpRows(place, order, source.inter, source.inter);
  };
  auto w13 = PlanWeight(source.experts, 2 * source.inter, source.hidden / 2, gate_up(source.w13));
  if (!w13.ok()) return w13.status();
  auto w13_codes =
      PlanCodes(source.experts, 2 * source.inter, source.hidden / 32, gate_up(source.w13_codes));
  if (!w13_codes.ok()) return w13_codes.status();
  auto w2 = PlanWeight(source.experts, source.out, source.inter / 2,
                       DownRows(source.w2, source.out));
  if (!w2.ok()) return w2.status();
  auto w2_codes = PlanCodes(source.experts, source.out, source.inter / 32,
                            DownRows(source.w2_codes, source.out));
  if (!w2_codes.ok()) return w2_codes.status();
  return ExpertPlans{*std::move(w13), *std::move(w13_codes), *std::move(w2), *std::move(w2_codes)};
}

}  // namespace lanewise::gfx950
