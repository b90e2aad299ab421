#include "weights/gfx942/experts.h"

#include <utility>

#include "layouts/catalogue.h"

namespace lanewise::gfx942 {
namespace {

std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Rows of `bytes` in memory, of which `valid` come from the source.
absl::StatusOr<TensorPlan> PlanRows(const Layout& layout, std::int64_t experts, std::int64_t rows,
                                    std::int64_t bytes, std::int64_t valid,
                                    std::function<RowPlace(std::int64_t)> place) {
  absl::StatusOr<TensorPlan> plan = MakePlan(layout, experts * rows, bytes);
  if (!plan.ok()) return plan;
  plan->shape = {experts, rows, bytes};
  plan->source_row_bytes = plan->row_bytes = valid;
  plan->place = std::move(place);
  return plan;
}

}  // namespace

absl::StatusOr<ExpertPlans> PlanExperts(const ExpertSource& source, const ExpertOptions& options) {
  if (absl::Status status = CheckExpertSource(source); !status.ok()) return status;
  const std::int64_t hidden = RoundUp(source.hidden, options.hidden_multiple);
  const std::int64_t inter = RoundUp(source.inter, options.inter_multiple);
  const auto gate_up = [&](const auto& place) {
    return GateUpRows(place, GateUpOrder::kInterleaved, source.inter, inter);
  };
  const Layout tile_major = CatalogueLayout("gfx942/fp4_tile_major");
  const Layout rounds = CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8);

  auto w13 = PlanRows(tile_major, source.experts, 2 * inter, hidden / 2, source.hidden / 2,
                      gate_up(source.w13));
  if (!w13.ok()) return w13.status();
  auto w13_codes = PlanRows(rounds, source.experts, 2 * inter, hidden / 32, source.hidden / 32,
                            gate_up(source.w13_codes));
  if (!w13_codes.ok()) return w13_codes.status();
  auto w2 = PlanRows(tile_major, source.experts, source.out, inter / 2, source.inter / 2,
                     DownRows(source.w2, source.out));
  if (!w2.ok()) return w2.status();
  auto w2_codes = PlanRows(CatalogueLayout("gfx942/row_codes"), source.experts, source.out,
                           inter / 32, source.inter / 32, DownRows(source.w2_codes, source.out));
  if (!w2_codes.ok()) return w2_codes.status();

  for (TensorPlan* weight : {&*w13, &*w2}) {
    weight->conversion = Conversion::kE2m1DropNegativeZero;
  }
  for (TensorPlan* codes : {&*w13_codes, &*w2_codes}) {
    codes->padding = 127;
    if (options.first_refused_code < 256) {
      codes->conversion = Conversion::kScaleCode;
      codes->first_refused_code = options.first_refused_code;
    }
  }
  return ExpertPlans{*std::move(w13), *std::move(w13_codes), *std::move(w2), *std::move(w2_codes)};
}

}  // namespace lanewise::gfx942
