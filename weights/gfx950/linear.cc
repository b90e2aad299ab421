#include "weights/gfx950/linear.h"

#include <utility>

#include "layouts/catalogue.h"

namespace lanewise::gfx950 {

LinearKind ChooseKind(bool blocks, std::int64_t k, bool batch_invariant) {
  if (blocks && !batch_invariant) return LinearKind::kBlockCodes;
  return k % 128 == 0 ? LinearKind::kRowCodes : LinearKind::kBf16;
}

absl::StatusOr<WeightPlans> PlanLinear(const LinearSource& source, LinearKind kind) {
  const bool blocks = kind == LinearKind::kBlockCodes;
  if (absl::Status status = CheckLinearSource(source, blocks); !status.ok()) return status;
  const bool from_bf16 = source.weight == LinearSource::WeightForm::kBf16;
  if (from_bf16 && !blocks) {
    return absl::InvalidArgumentError(
        "a bf16 weight is taken back to e4m3 for block codes only, and these codes are no blocks");
  }
  const Layout& plain = CatalogueLayout("plain");
  const std::int64_t memory_bytes = kind == LinearKind::kBf16 ? 2 * source.columns : source.columns;
  absl::StatusOr<TensorPlan> weight = MakePlan(plain, source.rows, memory_bytes);
  if (!weight.ok()) return weight.status();
  weight->source_row_bytes = source.weight_row_bytes();
  weight->row_bytes = memory_bytes;
  weight->place = source.WeightPlaces();
  if (kind == LinearKind::kBf16 || from_bf16) {
    weight->code_repeat = source.code_columns / 32;
    weight->conversion = from_bf16 ? Conversion::kBf16ToE4m3 : Conversion::kE4m3ToBf16;
    weight->code_place = [source](std::int64_t row) { return source.CodePlace(row); };
  }
  absl::StatusOr<TensorPlan> codes =
      blocks ? PlanBlockCodes(source, plain, source.columns / 32) : PlanRowCodes(source, plain);
  if (!codes.ok()) return codes.status();
  return WeightPlans{*std::move(weight), *std::move(codes)};
}

}  // namespace lanewise::gfx950
