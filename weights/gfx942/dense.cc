#include "weights/gfx942/dense.h"

#include "layouts/catalogue.h"

namespace lanewise::gfx942 {

absl::StatusOr<WeightPlans> PlanDense(const LinearSource& source, const DenseOptions& options) {
  if (absl::Status status = CheckLinearSource(source, /*whole_blocks=*/true); !status.ok()) {
    return status;
  }
  const std::int64_t padded = (source.columns + 127) / 128 * 128;
  const Layout& layout =
      options.chunk_q ? CatalogueLayout("gfx942/dense_chunk_q") : CatalogueLayout("gfx942/dense");
  absl::StatusOr<TensorPlan> weight = MakePlan(layout, source.rows, padded);
  if (!weight.ok()) return weight.status();
  const bool from_bf16 = source.weight == LinearSource::WeightForm::kBf16;
  weight->source_row_bytes = source.weight_row_bytes();
  weight->row_bytes = source.columns;
  weight->place = source.WeightPlaces();
  weight->code_place = from_bf16 ? [source](std::int64_t row) { return source.CodePlace(row); }
                                 : decltype(weight->code_place)();
  weight->code_repeat = source.code_columns / 32;
  weight->conversion = from_bf16 ? Conversion::kBf16ToFnuz : Conversion::kE4m3ToFnuz;
  weight->refuse_nans = options.refuse_nans;

  absl::StatusOr<TensorPlan> codes =
      PlanBlockCodes(source, CatalogueLayout("gfx942/dense_codes"), padded / 32);
  if (!codes.ok()) return codes.status();
  codes->conversion = Conversion::kScaleCode;
  codes->code_increment = 1;
  codes->first_refused_code = 250;
  codes->padding = 128;
  return WeightPlans{*std::move(weight), *std::move(codes)};
}

}  // namespace lanewise::gfx942
