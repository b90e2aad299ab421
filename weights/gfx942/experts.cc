#include "weights/gfx942/experts.h"

#include <algorithm>
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

ExpertSource PlainExperts(std::int64_t experts, std::int64_t hidden, std::int64_t inter,
                          std::int64_t padded_inter, std::int64_t out) {
  ExpertSource source;
  source.experts = experts;
  source.hidden = hidden;
  source.inter = inter;
  source.out = out;
  const auto w13 = [=](int tensor, std::int64_t row_bytes) {
    return [=](std::int64_t expert, int half, std::int64_t i) {
      return RowPlace{tensor, ((2 * expert + half) * padded_inter + i) * row_bytes};
    };
  };
  const auto w2 = [=](int tensor, std::int64_t row_bytes) {
    return [=](std::int64_t expert, std::int64_t i) {
      return RowPlace{tensor, (expert * out + i) * row_bytes};
    };
  };
  source.w13 = w13(0, hidden / 2);
  source.w13_codes = w13(1, hidden / 32);
  source.w2 = w2(2, padded_inter / 2);
  source.w2_codes = w2(3, padded_inter / 32);
  return source;
}

absl::Status CheckPlainPadding(std::span<const std::uint8_t> w13, std::span<const std::uint8_t> w2,
                               const ExpertSource& source, std::int64_t padded_inter) {
  const auto refuse = [](const char* tensor, std::int64_t expert, std::int64_t row,
                         std::int64_t byte, std::uint8_t found) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the expert padding is not zero: %s[%d, %d, %d] is 0x%02X", tensor, expert,
                        row, byte, found));
  };
  const auto find = [](const std::uint8_t* begin, std::int64_t count) -> std::int64_t {
    const std::uint8_t* found =
        std::find_if(begin, begin + count, [](std::uint8_t b) { return b != 0; });
    return found == begin + count ? -1 : found - begin;
  };
  const std::int64_t w13_bytes = source.hidden / 2, w2_bytes = padded_inter / 2;
  for (std::int64_t e = 0; e < source.experts; ++e) {
    for (std::int64_t row = 0; row < 2 * padded_inter; ++row) {
      if (row % padded_inter < source.inter) continue;
      const std::uint8_t* begin = w13.data() + (2 * e * padded_inter + row) * w13_bytes;
      const std::int64_t at = find(begin, w13_bytes);
      if (at >= 0) return refuse("w13", e, row, at, begin[at]);
    }
    for (std::int64_t row = 0; row < source.out; ++row) {
      const std::uint8_t* begin = w2.data() + (e * source.out + row) * w2_bytes;
      const std::int64_t at = find(begin + source.inter / 2, w2_bytes - source.inter / 2);
      if (at >= 0) return refuse("w2", e, row, source.inter / 2 + at, begin[source.inter / 2 + at]);
    }
  }
  return absl::OkStatus();
}

}  // namespace lanewise::gfx942
