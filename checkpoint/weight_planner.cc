#include "checkpoint/weight_planner.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "layouts/catalogue.h"
#include "weights/expert_source.h"
#include "weights/flashmla/fused_layout.h"
#include "weights/gfx942/dense.h"
#include "weights/gfx942/experts.h"
#include "weights/gfx950/experts.h"
#include "weights/gfx950/linear.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

using Params = std::map<std::string, Param>;
using Shape = std::vector<std::int64_t>;

// A part of 0 .. size - 1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// What a tensor of the output holds, in the words of its description.
struct Logical {
  std::string name;
  DType dtype = DType::kU8;
  Shape shape;
};

class WeightPlanner {
 public:
  WeightPlanner(const MatchedWeight& weight, const TensorsByName& tensors,
                const PreparationOptions& options, const RowCodesFoldQuestion& fold)
      : weight_(weight), tensors_(tensors), options_(options), fold_(fold) {}

  absl::StatusOr<std::vector<OutputTensor>> Plan() {
    if (options_.ranks > 1) {
      params_["ranks"] = std::int64_t{options_.ranks};
      params_["rank"] = std::int64_t{options_.rank};
      params_["parallel"] = std::string(RecipeWord(weight_.parallel));
    }
    switch (weight_.kind) {
      case WeightKind::kMxfp8Linear:
        return PlanLinear();
      case WeightKind::kMxfp4Experts:
        return PlanExperts();
      case WeightKind::kMxfp4Linear:
        break;
    }
    if (options_.target == Target::kFlashmla) return Copies();
    return absl::InvalidArgumentError(absl::StrCat("an MXFP4 linear has no preparation for ",
                                                   AbslView(TargetName(options_.target)),
                                                   ", only MXFP4 experts have"));
  }

 private:
  // ---- tensor parallelism ----

  // This rank's part of `size`, which must divide into equal multiples of `multiple`.
  absl::StatusOr<Range> Part(const char* what, std::int64_t size, std::int64_t multiple) const {
    const std::int64_t ranks = options_.ranks;
    if (size % ranks != 0 || size / ranks % multiple != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " ", size, " does not divide among ", ranks, " ranks",
                       multiple == 1 ? "" : absl::StrCat(" in multiples of ", multiple)));
    }
    return Range{size / ranks * options_.rank, size / ranks};
  }

  // What is split. One rank takes all, whatever the recipe says.
  absl::StatusOr<Parallel> Split() const {
    if (options_.ranks == 1) return Parallel::kReplicated;
    if (weight_.parallel == Parallel::kUnstated) {
      return absl::InvalidArgumentError(
          absl::StrCat("the recipe does not say how ", options_.ranks, " ranks share it"));
    }
    return weight_.parallel;
  }

  // ---- outputs ----

  std::vector<OutputTensor> Copies() const {
    std::vector<OutputTensor> copies;
    for (const WeightPart& part : weight_.parts) {
      for (const std::string* name : {&part.weight, &part.scale}) {
        copies.push_back(VerbatimCopy(*tensors_.at(*name)));
      }
    }
    return copies;
  }

  OutputTensor Output(Logical logical, TensorPlan plan, std::vector<std::string> sources,
                      std::vector<std::string> from) const {
    OutputTensor output;
    PreparedTensor& what = output.tensor.what;
    what.layout = std::string(plan.layout.tag);
    what.shape = logical.shape;
    what.dtype = logical.dtype;
    what.from = std::move(from);
    what.params = params_;
    const bool plain = plan.layout.tag == layout_tag::kPlain;
    output.tensor.stored = {logical.name, plain ? logical.dtype : DType::kU8,
                            plain ? logical.shape : plan.shape};
    if (DiscardsZeroSigns(plan)) output.tensor.late.emplace_back(kNegativeZerosParam);
    output.verbatim = plain && plan.conversion == Conversion::kNone && plan.agreeing_rows == 1 &&
                      IsWholeSource(plan, sources);
    output.sources = std::move(sources);
    output.plan = std::move(plan);
    return output;
  }

  // Whether the rows are one source's bytes, first to last.
  bool IsWholeSource(const TensorPlan& plan, const std::vector<std::string>& sources) const {
    if (plan.rows() == 0) return false;
    const RowPlace first = plan.place(0);
    if (first.IsPadding() || first.offset != 0) return false;
    const TensorSpec& source = *tensors_.at(sources[first.source]);
    const absl::StatusOr<std::int64_t> bytes = ByteCount(source.dtype, source.shape);
    for (std::int64_t row = 0; row < plan.rows(); ++row) {
      const RowPlace place = plan.place(row);
      if (place.source != first.source || place.offset != row * plan.source_row_bytes) return false;
    }
    return bytes.ok() && *bytes == plan.bytes();
  }

  // The dtype of a scale tensor that keeps its meaning: U8 and F8_E8M0 are the same bytes.
  DType CodeDType(const TensorPlan& plan, const std::string& source) const {
    return plan.layout.tag == layout_tag::kPlain ? tensors_.at(source)->dtype : DType::kF8E8m0;
  }

  // ---- MXFP8 linears ----

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

  absl::StatusOr<std::vector<OutputTensor>> PlanLinear() {
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
    Shape code_shape = {plans->codes.rows(), source->columns / 32};
    std::vector<OutputTensor> outputs;
    outputs.push_back(Output({weight_.name, dtype, {source->rows, source->columns}},
                             std::move(plans->weight), sources,
                             reads_codes ? sources : std::vector<std::string>{part.weight}));
    outputs.push_back(Output({weight_.scale_name, code_dtype, std::move(code_shape)},
                             std::move(plans->codes), sources, {part.scale}));
    return outputs;
  }

  // ---- MXFP4 experts ----

  // Finds the part, by its number, that holds a half of an expert.
  std::shared_ptr<const std::vector<int>> PartTable() const {
    auto table = std::make_shared<std::vector<int>>(2 * weight_.experts, -1);
    for (std::size_t i = 0; i < weight_.parts.size(); ++i) {
      const WeightPart& part = weight_.parts[i];
      for (std::int64_t e = part.first_expert; e < part.first_expert + part.experts; ++e) {
        if (part.half != WeightPart::Half::kUp) (*table)[2 * e] = static_cast<int>(i);
        if (part.half != WeightPart::Half::kGate) (*table)[2 * e + 1] = static_cast<int>(i);
      }
    }
    return table;
  }

  std::vector<std::int64_t> FirstExperts() const {
    std::vector<std::int64_t> first;
    for (const WeightPart& part : weight_.parts) first.push_back(part.first_expert);
    return first;
  }

  GateUpSource::Place GateUpPlace(std::int64_t row_bytes, Range experts, Range inter) const {
    return
        [table = PartTable(), first = FirstExperts(), order = weight_.order, rows = weight_.inter(),
         row_bytes, experts, inter](std::int64_t expert, int half, std::int64_t i) {
          expert += experts.begin;
          i += inter.begin;
          const int part = (*table)[2 * expert + half];
          const bool apart = order == GateUpOrder::kSeparate;
          const std::int64_t row = apart                                ? i
                                   : order == GateUpOrder::kInterleaved ? 2 * i + half
                                                                        : half * rows + i;
          const std::int64_t part_rows = apart ? rows : 2 * rows;
          return RowPlace{part, ((expert - first[part]) * part_rows + row) * row_bytes};
        };
  }

  DownSource::Place DownPlace(std::int64_t row_bytes, std::int64_t first_byte,
                              Range experts) const {
    return [table = PartTable(), first = FirstExperts(), rows = weight_.n, row_bytes, first_byte,
            experts](std::int64_t expert, std::int64_t i) {
      expert += experts.begin;
      const int part = (*table)[2 * expert];
      return RowPlace{part, ((expert - first[part]) * rows + i) * row_bytes + first_byte};
    };
  }

  absl::StatusOr<WeightPlans> ExpertPlansOf(Range experts, Range inter) {
    const bool gfx942 = options_.target == Target::kGfx942;
    if (weight_.projection == Projection::kGateUp) {
      GateUpSource source;
      source.experts = experts.count;
      source.hidden = weight_.k;
      source.inter = inter.count;
      source.rows = GateUpPlace(weight_.k / 2, experts, inter);
      source.codes = GateUpPlace(weight_.k / 32, experts, inter);
      // AITER's order says nothing of gate and up: they stay as the source has them.
      const bool interleaved = gfx942 || weight_.order == GateUpOrder::kInterleaved;
      params_["gate_up"] = std::string(
          RecipeWord(interleaved ? GateUpOrder::kInterleaved : GateUpOrder::kGateThenUp));
      if (gfx942) return gfx942::PlanGateUp(source, {});
      return gfx950::PlanGateUp(
          source, interleaved ? GateUpRowOrder::kInterleaved : GateUpRowOrder::kGateThenUp);
    }
    DownSource source;
    source.experts = experts.count;
    source.out = weight_.n;
    source.inter = inter.count;
    source.rows = DownPlace(weight_.k / 2, inter.begin / 2, experts);
    source.codes = DownPlace(weight_.k / 32, inter.begin / 32, experts);
    return gfx942 ? gfx942::PlanDown(source, {}) : gfx950::PlanDown(source);
  }

  absl::StatusOr<std::vector<OutputTensor>> PlanExperts() {
    if (options_.target == Target::kFlashmla) return Copies();
    Range experts = {0, weight_.experts};
    Range inter = {0, weight_.inter()};
    const absl::StatusOr<Parallel> split = Split();
    if (!split.ok()) return split.status();
    const bool gate_up = weight_.projection == Projection::kGateUp;
    if (*split == Parallel::kExpert) {
      const absl::StatusOr<Range> part = Part("the number of experts", weight_.experts, 1);
      if (!part.ok()) return part.status();
      experts = *part;
    } else if (*split == (gate_up ? Parallel::kColumn : Parallel::kRow)) {
      const absl::StatusOr<Range> part = Part("the intermediate size", weight_.inter(), 32);
      if (!part.ok()) return part.status();
      inter = *part;
    } else if (*split != Parallel::kReplicated) {
      return absl::InvalidArgumentError(
          absl::StrCat("experts are split by their intermediate size, which for ",
                       AbslView(RecipeWord(weight_.projection)), " is not ",
                       AbslView(RecipeWord(*split)), "-parallel"));
    }
    absl::StatusOr<WeightPlans> plans = ExpertPlansOf(experts, inter);
    if (!plans.ok()) return plans.status();
    if (options_.target == Target::kGfx942) {
      const std::int64_t padded_columns = 2 * plans->weight.packer.layout().extent(1);
      const std::int64_t padded_rows =
          experts.count == 0 ? 0 : plans->weight.rows() / experts.count;
      params_["padded_k"] = padded_columns;
      if (gate_up) params_["padded_inter"] = padded_rows / 2;
    } else {
      params_["padded_code_rows"] = plans->codes.rows();
      params_["padded_code_columns"] = plans->codes.packer.layout().extent(1);
    }
    const std::int64_t rows = gate_up ? 2 * inter.count : weight_.n;
    const std::int64_t columns = gate_up ? weight_.k : inter.count;
    std::vector<std::string> weights, scales;
    for (const WeightPart& part : weight_.parts) {
      weights.push_back(part.weight);
      scales.push_back(part.scale);
    }
    std::vector<OutputTensor> outputs;
    outputs.push_back(Output({weight_.name, DType::kF4, {experts.count, rows, columns}},
                             std::move(plans->weight), weights, weights));
    outputs.push_back(
        Output({weight_.scale_name, DType::kF8E8m0, {experts.count, rows, columns / 32}},
               std::move(plans->codes), scales, scales));
    return outputs;
  }

  const MatchedWeight& weight_;
  const TensorsByName& tensors_;
  const PreparationOptions& options_;
  const RowCodesFoldQuestion& fold_;
  Params params_;
};

}  // namespace

OutputTensor VerbatimCopy(const TensorSpec& tensor) {
  OutputTensor output;
  output.tensor.stored = tensor;
  output.tensor.what.layout = std::string(layout_tag::kPlain);
  output.tensor.what.shape = tensor.shape;
  output.tensor.what.dtype = tensor.dtype;
  output.tensor.what.from = {tensor.name};
  output.sources = {tensor.name};
  output.verbatim = true;
  return output;
}

absl::StatusOr<std::vector<OutputTensor>> PlanWeight(const MatchedWeight& weight,
                                                     const TensorsByName& tensors,
                                                     const PreparationOptions& options,
                                                     const RowCodesFoldQuestion& row_codes_fold) {
  return WeightPlanner(weight, tensors, options, row_codes_fold).Plan();
}

}  // namespace lanewise
