#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "checkpoint/prepare/weight_planning.h"
#include "layouts/catalogue.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx950/linear.h"
#include "weights/linear_source.h"

namespace lanewise::internal {
namespace {

class LinearPlanner : public WeightPlanning {
 public:
  LinearPlanner(const MatchedWeight& weight, const TensorsByName& tensors,
                const PreparationOptions& options, const RowCodesFoldQuestion& fold)
      : WeightPlanning(weight, tensors, options), fold_(fold) {}

  absl::StatusOr<std::vector<OutputTensor>> Plan() {
    if (options_.target == Target::kFlashmla && weight_.flashmla == FlashmlaRole::kNone &&
        options_.ranks == 1) {
      return Copies();
    }
    const absl::StatusOr<LinearSource> source = Linear();
    if (!source.ok()) return source.status();
    DType dtype;
    absl::StatusOr<WeightPlans> plans = PlansOf(*source, &dtype);
    if (!plans.ok()) return plans.status();
    if (options_.target == Target::kGfx942) {
      params_["padded_k"] = plans->weight.packer.layout().extent(1);
    }
    const WeightPart& part = weight_.parts[0];
    const std::vector<std::string> sources = {part.weight, part.scale};
    const bool reads_codes = plans->weight.code_place != nullptr;
    const DType code_dtype = CodeDType(plans->codes, part.scale);
    std::vector<std::int64_t> code_shape = {plans->codes.rows(), source->columns / 32};
    std::vector<OutputTensor> outputs;
    outputs.push_back(Output({weight_.name, dtype, {source->rows, source->columns}},
                             std::move(plans->weight), sources,
                             reads_codes ? sources : std::vector<std::string>{part.weight}));
    outputs.push_back(Output({weight_.scale_name, code_dtype, std::move(code_shape)},
                             std::move(plans->codes), sources, {part.scale}));
    return outputs;
  }

 private:
  absl::StatusOr<LinearSource> Linear() const {
    LinearSource source =
        LinearSource::Whole(weight_.n, weight_.k,
                            weight_.dtype == DType::kBf16 ? LinearSource::WeightForm::kBf16
                                                          : LinearSource::WeightForm::kE4m3,
                            weight_.code_rows, weight_.code_columns);
    const absl::StatusOr<Parallel> split = Split();
    if (!split.ok()) return split.status();
    if (*split == Parallel::kColumn) {
      // A head stays whole.
      const bool heads = weight_.flashmla == FlashmlaRole::kQFused && weight_.head_dim > 0;
      const absl::StatusOr<Range> rows = Part("N", weight_.n, heads ? weight_.head_dim : 32);
      if (!rows.ok()) return rows.status();
      source.row_begin = rows->begin;
      source.rows = rows->count;
    } else if (*split == Parallel::kRow) {
      const absl::StatusOr<Range> columns = Part("K", weight_.k, weight_.code_columns);
      if (!columns.ok()) return columns.status();
      source.k_begin = columns->begin;
      source.columns = columns->count;
    } else if (*split == Parallel::kExpert) {
      return absl::InvalidArgumentError("a linear has no experts to share among ranks");
    }
    return source;
  }

  // Whether the codes are 32 x 32 blocks, or row codes that fold to them.
  absl::StatusOr<bool> HasBlockCodes(const LinearSource& source) const {
    if (!source.HasRowCodes()) return true;
    return fold_(weight_);
  }

  absl::StatusOr<WeightPlans> PlansOf(const LinearSource& source, DType* dtype) {
    *dtype = DType::kF8E4m3;
    if (options_.target == Target::kGfx942) {
      const absl::StatusOr<bool> blocks = HasBlockCodes(source);
      if (!blocks.ok()) return blocks.status();
      if (!*blocks) {
        return absl::InvalidArgumentError(absl::StrCat("row scales (", weight_.n, ", ",
                                                       weight_.k / 32,
                                                       ") are not 32 x 32 blocks, the only form "
                                                       "that gfx942 reads"));
      }
      *dtype = DType::kF8E4m3Fnuz;
      return gfx942::PlanDense(source, {.chunk_q = false, .refuse_nans = true});
    }
    if (options_.target == Target::kFlashmla && weight_.flashmla == FlashmlaRole::kQFused) {
      const std::int64_t heads = weight_.head_dim > 0 ? source.rows / weight_.head_dim : 0;
      params_["heads"] = heads;
      params_["head_dim"] = weight_.head_dim;
      return flashmla::PlanWqB(source, heads);
    }
    if (options_.target == Target::kFlashmla && weight_.flashmla == FlashmlaRole::kOFused) {
      params_["heads_per_group"] = weight_.heads_per_group;
      params_["head_dim"] = weight_.head_dim;
      return flashmla::PlanWoA(source, weight_.heads_per_group);
    }
    if (options_.target == Target::kFlashmla) {
      if (weight_.dtype == DType::kBf16) *dtype = DType::kBf16;
      SetCodesParam(source.HasRowCodes());
      return PlanSlices(source);
    }
    const absl::StatusOr<bool> blocks = HasBlockCodes(source);
    if (!blocks.ok()) return blocks.status();
    const gfx950::LinearKind kind =
        gfx950::ChooseKind(*blocks, source.columns, options_.batch_invariant);
    if (kind == gfx950::LinearKind::kBf16) *dtype = DType::kBf16;
    SetCodesParam(kind != gfx950::LinearKind::kBlockCodes);
    return gfx950::PlanLinear(source, kind);
  }

  void SetCodesParam(bool row_codes) {
    params_["codes"] = std::string(row_codes ? kRowCodesParam : kBlockCodesParam);
  }

  // A rank's part of what is else copied: rows and columns as they are.
  static absl::StatusOr<WeightPlans> PlanSlices(const LinearSource& source) {
    if (absl::Status status = CheckLinearSource(source, false); !status.ok()) return status;
    const Layout& plain = CatalogueLayout(layout_tag::kPlain);
    absl::StatusOr<TensorPlan> weight = MakePlan(plain, source.rows, source.weight_row_bytes());
    if (!weight.ok()) return weight.status();
    weight->place = [source](std::int64_t row) { return source.WeightPlace(row); };
    absl::StatusOr<TensorPlan> codes = source.HasRowCodes()
                                           ? PlanRowCodes(source, plain)
                                           : PlanBlockCodes(source, plain, source.columns / 32);
    if (!codes.ok()) return codes.status();
    return WeightPlans{*std::move(weight), *std::move(codes)};
  }

  const RowCodesFoldQuestion& fold_;
};

}  // namespace

absl::StatusOr<std::vector<OutputTensor>> PlanLinear(const MatchedWeight& weight,
                                                     const TensorsByName& tensors,
                                                     const PreparationOptions& options,
                                                     const RowCodesFoldQuestion& row_codes_fold) {
  return LinearPlanner(weight, tensors, options, row_codes_fold).Plan();
}

}  // namespace lanewise::internal
