#include "weights/gfx942/experts.h"

#include <utility>

#include "absl/strings/str_format.h"
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

// What weights and codes of experts have in common on gfx942.
WeightPlans Finished(TensorPlan weight, TensorPlan codes, const ExpertOptions& options) {
  weight.conversion = Conversion::kE2m1DropNegativeZero;
  codes.padding = 127;
  if (options.first_refused_code < 256) {
    codes.conversion = Conversion::kScaleCode;
    codes.first_refused_code = options.first_refused_code;
  }
  return {std::move(weight), std::move(codes)};
}

}  // namespace

absl::StatusOr<WeightPlans> PlanGateUp(const GateUpSource& source, const ExpertOptions& options) {
  if (absl::Status status = CheckExperts(source); !status.ok()) return status;
  const std::int64_t hidden = RoundUp(source.hidden, options.hidden_multiple);
  const std::int64_t inter = RoundUp(source.inter, options.inter_multiple);
  const auto in_order = [&](const GateUpSource::Place& place) {
    return GateUpRows(place, GateUpRowOrder::kInterleaved, source.inter, inter);
  };
  auto weight = PlanRows(CatalogueLayout("gfx942/fp4_tile_major"), source.experts, 2 * inter,
                         hidden / 2, source.hidden / 2, in_order(source.rows));
  if (!weight.ok()) return weight.status();
  auto codes =
      PlanRows(CatalogueLayout("gfx942/codes_tile_rounds").WithParameter("blocks", 8),
               source.experts, 2 * inter, hidden / 32, source.hidden / 32, in_order(source.codes));
  if (!codes.ok()) return codes.status();
  return Finished(*std::move(weight), *std::move(codes), options);
}

absl::StatusOr<WeightPlans> PlanDown(const DownSource& source, const ExpertOptions& options) {
  if (absl::Status status = CheckExperts(source); !status.ok()) return status;
  const std::int64_t inter = RoundUp(source.inter, options.inter_multiple);
  auto weight = PlanRows(CatalogueLayout("gfx942/fp4_tile_major"), source.experts, source.out,
                         inter / 2, source.inter / 2, DownRows(source.rows, source.out));
  if (!weight.ok()) return weight.status();
  auto codes = PlanRows(CatalogueLayout("gfx942/row_codes"), source.experts, source.out, inter / 32,
                        source.inter / 32, DownRows(source.codes, source.out));
  if (!codes.ok()) return codes.status();
  return Finished(*std::move(weight), *std::move(codes), options);
}

GateUpSource PlainExperts::GateUp() const {
  const auto place = [padded = padded_inter](int tensor, std::int64_t row_bytes) {
    return [=](std::int64_t expert, int half, std::int64_t i) {
      return RowPlace{tensor, ((2 * expert + half) * padded + i) * row_bytes};
    };
  };
  return {experts, hidden, inter, place(0, hidden / 2), place(1, hidden / 32)};
}

DownSource PlainExperts::Down() const {
  const auto place = [rows = out](int tensor, std::int64_t row_bytes) {
    return [=](std::int64_t expert, std::int64_t i) {
      return RowPlace{tensor, (expert * rows + i) * row_bytes};
    };
  };
  return {experts, out, inter, place(0, padded_inter / 2), place(1, padded_inter / 32)};
}

absl::Status PlainExperts::CheckPadding(std::span<const std::uint8_t> w13,
                                        std::span<const std::uint8_t> w2) const {
  // Looks at bytes from `begin` on of one row of a tensor.
  const auto check_row = [](const char* tensor, std::span<const std::uint8_t> bytes,
                            std::int64_t rows, std::int64_t row_bytes, std::int64_t expert,
                            std::int64_t row, std::int64_t begin) {
    const auto of_row = bytes.subspan((expert * rows + row) * row_bytes, row_bytes);
    for (std::int64_t at = begin; at < row_bytes; ++at) {
      if (of_row[at] == 0) continue;
      return absl::InvalidArgumentError(
          absl::StrFormat("the expert padding is not zero: %s[%d, %d, %d] is 0x%02X", tensor,
                          expert, row, at, of_row[at]));
    }
    return absl::OkStatus();
  };
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t row = 0; row < 2 * padded_inter; ++row) {
      if (row % padded_inter < inter) continue;
      absl::Status status = check_row("w13", w13, 2 * padded_inter, hidden / 2, e, row, 0);
      if (!status.ok()) return status;
    }
    for (std::int64_t row = 0; row < out; ++row) {
      absl::Status status = check_row("w2", w2, out, padded_inter / 2, e, row, inter / 2);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace lanewise::gfx942
