#include "weights/flashmla/fused_layout.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "layouts/catalogue.h"

namespace lanewise::flashmla {
namespace {

// head_dim / chunk, where `size` is heads x head_dim.
absl::StatusOr<std::int64_t> Chunks(const char* what, std::int64_t size, std::int64_t heads,
                                    std::int64_t chunk) {
  if (heads <= 0 || size <= 0 || size % (heads * chunk) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, " ", size, " for ", heads, " heads: expected a multiple of ", chunk, " for each"));
  }
  return size / heads / chunk;
}

absl::Status RequireBytes(const LinearSource& source) {
  if (source.weight == LinearSource::WeightForm::kE4m3) return absl::OkStatus();
  return absl::InvalidArgumentError("a bf16 weight has no FlashMLA layout: expected e4m3 bytes");
}

}  // namespace

absl::StatusOr<TensorPlan> PlanQFusedRows(std::int64_t heads, std::int64_t head_dim,
                                          std::int64_t row_bytes) {
  const absl::StatusOr<std::int64_t> chunks = Chunks("rows", heads * head_dim, heads, 16);
  if (!chunks.ok()) return chunks.status();
  absl::StatusOr<TensorPlan> plan =
      MakePlan(CatalogueLayout("flashmla/q_fused").WithParameter("chunks", *chunks),
               heads * head_dim, row_bytes);
  if (!plan.ok()) return plan;
  plan->place = RowPlaces::Spaced({0, 0}, row_bytes);
  return plan;
}

absl::StatusOr<WeightPlans> PlanWqB(const LinearSource& source, std::int64_t heads) {
  if (absl::Status status = CheckLinearSource(source, false); !status.ok()) return status;
  if (absl::Status status = RequireBytes(source); !status.ok()) return status;
  const absl::StatusOr<std::int64_t> chunks = Chunks("rows", source.rows, heads, 16);
  if (!chunks.ok()) return chunks.status();
  absl::StatusOr<TensorPlan> weight = PlanQFusedRows(heads, source.rows / heads, source.columns);
  if (!weight.ok()) return weight.status();
  weight->place = source.WeightPlaces();
  absl::StatusOr<TensorPlan> codes = PlanRowCodes(source, weight->layout);
  if (!codes.ok()) return codes.status();
  return WeightPlans{*std::move(weight), *std::move(codes)};
}

absl::StatusOr<WeightPlans> PlanWoA(const LinearSource& source, std::int64_t heads_per_group) {
  if (absl::Status status = CheckLinearSource(source, false); !status.ok()) return status;
  if (absl::Status status = RequireBytes(source); !status.ok()) return status;
  if (source.columns != source.k) {
    return absl::InvalidArgumentError(
        absl::StrCat("wo_a's columns are permuted as a whole: ", source.columns, " of ", source.k,
                     " were asked for"));
  }
  const absl::StatusOr<std::int64_t> chunks =
      Chunks("columns", source.columns, heads_per_group, 32);
  if (!chunks.ok()) return chunks.status();
  absl::StatusOr<TensorPlan> weight =
      MakePlan(CatalogueLayout("flashmla/o_fused").WithParameter("chunks", *chunks), source.rows,
               source.columns);
  if (!weight.ok()) return weight.status();
  weight->place = source.WeightPlaces();

  const Layout code_layout =
      CatalogueLayout("flashmla/o_fused_chunk").WithParameter("chunks", *chunks);
  absl::StatusOr<TensorPlan> codes = source.HasRowCodes()
                                         ? PlanRowCodes(source, code_layout)
                                         : PlanBlockCodes(source, code_layout, source.columns / 32);
  if (!codes.ok()) return codes.status();
  return WeightPlans{*std::move(weight), *std::move(codes)};
}

}  // namespace lanewise::flashmla
