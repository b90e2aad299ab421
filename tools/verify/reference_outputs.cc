#include "tools/verify/reference_outputs.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "checkpoint/files/mapped_file.h"
#include "formats/formats.h"
#include "reference/checks.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/linear.h"
#include "reference/gfx950/linear.h"
#include "reference/tensor.h"
#include "tools/verify/logical_weight.h"
#include "tools/verify/reference_experts.h"
#include "tools/verify/zero_sign_bits.h"

namespace lanewise::tools {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Outputs = absl::StatusOr<std::vector<ReferenceOutput>>;

ReferenceOutput Output(const std::string& name, std::string_view layout, DType dtype,
                       const Bytes& bytes) {
  return {name,
          layout,
          dtype,
          {bytes.dimension(0), bytes.dimension(1)},
          {bytes.data(), bytes.data() + bytes.size()},
          0,
          std::nullopt,
          std::nullopt};
}

ReferenceOutput Bf16Output(const std::string& name, const Tensor<Bf16, 2>& values) {
  Bytes halves(values.dimension(0), 2 * values.dimension(1));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    halves.data()[2 * i] = static_cast<std::uint8_t>(values.data()[i].bits());
    halves.data()[2 * i + 1] = static_cast<std::uint8_t>(values.data()[i].bits() >> 8);
  }
  ReferenceOutput output = Output(name, layout_tag::kPlain, DType::kBf16, halves);
  output.shape = {values.dimension(0), values.dimension(1)};
  return output;
}

// Computes the outputs of one linear.
class LinearReference {
 public:
  LinearReference(const MatchedWeight& weight, const TensorSet& set,
                  const PreparationOptions& options, LogicalLinear linear, ZeroSignBits* signs,
                  bool last)
      : weight_(weight),
        options_(options),
        linear_(std::move(linear)),
        signs_(*signs),
        last_(last),
        code_dtype_(set.Find(weight.parts[0].scale)->info->dtype) {}

  Outputs Run() const {
    switch (options_.target) {
      case Target::kGfx942:
        return Gfx942();
      case Target::kGfx950:
        return Gfx950();
      case Target::kFlashmla:
        return Flashmla();
    }
    return absl::InvalidArgumentError("no reference for this target");
  }

 private:
  // The e4m3 bytes; those behind a dequantized weight.
  absl::StatusOr<Bytes> OcpBytes(const Bytes& blocks) const {
    if (!linear_.is_bf16) return linear_.bytes;
    return reference::gfx942::OcpFromDequant(linear_.values, blocks);
  }

  Outputs Gfx942() const {
    const absl::StatusOr<Bytes> blocks = linear_.BlockCodes();
    if (!blocks.ok()) return blocks.status();
    const absl::StatusOr<Bytes> bytes = OcpBytes(*blocks);
    if (!bytes.ok()) return bytes.status();
    const auto copy = reference::gfx942::DenseCopy(
        *bytes, *blocks, reference::gfx942::ChunkOrder::kNatural, reference::Checks::All());
    if (!copy.ok()) return copy.status();
    std::vector<ReferenceOutput> outputs = {
        Output(weight_.name, layout_tag::kGfx942Dense, DType::kU8, copy->bytes),
        Output(weight_.scale_name, layout_tag::kGfx942DenseCodes, DType::kU8, copy->codes)};
    outputs[0].negative_zeros = copy->negative_zeros;
    for (std::int64_t i = 0; i < bytes->size(); ++i) signs_.AddE4m3(bytes->data()[i]);
    outputs[0].zero_signs = signs_.Take(last_);
    return outputs;
  }

  Outputs Gfx950() const {
    // All ranks decide alike, by the whole weight: a part whose codes happen to fold stays
    // as it is.
    const bool no_blocks = options_.batch_invariant || !linear_.folds;
    if (linear_.is_bf16) {
      if (no_blocks) {
        return absl::InvalidArgumentError(
            "a dequantized weight is taken back for block codes only");
      }
      const absl::StatusOr<Bytes> blocks = linear_.BlockCodes();
      if (!blocks.ok()) return blocks.status();
      const absl::StatusOr<Bytes> bytes = OcpBytes(*blocks);
      if (!bytes.ok()) return bytes.status();
      return Plain(Output(weight_.name, layout_tag::kPlain, DType::kF8E4m3, *bytes), *blocks);
    }
    const auto processed = reference::gfx950::ProcessLinear(linear_.bytes, linear_.RowCodes(),
                                                            no_blocks, reference::Checks::All());
    if (!processed.ok()) return processed.status();
    if (const auto* values = std::get_if<Tensor<Bf16, 2>>(&processed->weight)) {
      ReferenceOutput output = Bf16Output(weight_.name, *values);
      output.original.emplace(linear_.bytes.data(), linear_.bytes.data() + linear_.bytes.size());
      return Plain(std::move(output), processed->codes);
    }
    return Plain(Output(weight_.name, layout_tag::kPlain, DType::kF8E4m3,
                        std::get<Bytes>(processed->weight)),
                 processed->codes);
  }

  Outputs Flashmla() const {
    if (weight_.flashmla == FlashmlaRole::kNone) {
      return Plain(linear_.is_bf16
                       ? Bf16Output(weight_.name, linear_.values)
                       : Output(weight_.name, layout_tag::kPlain, DType::kF8E4m3, linear_.bytes),
                   linear_.codes);
    }
    if (linear_.is_bf16) {
      return absl::InvalidArgumentError("a dequantized weight has no FlashMLA layout");
    }
    const bool is_q = weight_.flashmla == FlashmlaRole::kQFused;
    if (is_q && weight_.head_dim < 1) return absl::InvalidArgumentError("no head_dim");
    const auto permuted =
        is_q ? reference::flashmla::PermuteWqB(linear_.bytes, linear_.RowCodes(),
                                               linear_.bytes.dimension(0) / weight_.head_dim)
             : reference::flashmla::PermuteWoA(linear_.bytes, linear_.codes,
                                               weight_.heads_per_group);
    if (!permuted.ok()) return permuted.status();
    return std::vector<ReferenceOutput>{
        Output(weight_.name, is_q ? layout_tag::kFlashmlaQFused : layout_tag::kFlashmlaOFused,
               DType::kU8, permuted->weight),
        Output(weight_.scale_name,
               is_q ? layout_tag::kFlashmlaQFused : layout_tag::kFlashmlaOFusedChunk, DType::kU8,
               permuted->codes)};
  }

  Outputs Plain(ReferenceOutput weight, const Bytes& codes) const {
    return std::vector<ReferenceOutput>{
        std::move(weight), Output(weight_.scale_name, layout_tag::kPlain, code_dtype_, codes)};
  }

  const MatchedWeight& weight_;
  const PreparationOptions& options_;
  const LogicalLinear linear_;
  ZeroSignBits& signs_;  // of all slices so far
  const bool last_;      // whether this is the last slice
  const DType code_dtype_;
};

// Whether some rows of the weight, a multiple of 32, are one stretch of what is stored.
bool RowsFollow(const MatchedWeight& weight, const PreparationOptions& options) {
  return options.target != Target::kFlashmla || weight.flashmla == FlashmlaRole::kNone;
}

std::int64_t SliceRows(const MatchedWeight& weight, const PreparationOptions& options,
                       std::int64_t slice_bytes, const LinearPart& part) {
  if (!RowsFollow(weight, options)) return part.rows.count;
  const std::int64_t row = part.columns.count * (weight.dtype == DType::kBf16 ? 2 : 1);
  return std::max<std::int64_t>(1, slice_bytes / std::max<std::int64_t>(1, 32 * row)) * 32;
}

// Pages of the source that were read.
void Release(const MatchedWeight& weight, const TensorSet& set) {
  for (const WeightPart& part : weight.parts) {
    for (const std::string& name : {part.weight, part.scale}) {
      const TensorSet::Tensor& tensor = *set.Find(name);
      ReleasePages(set.shards()[tensor.shard].file.file_bytes(), set.Bytes(tensor));
    }
  }
}

}  // namespace

absl::Status ReferenceOutputs(const MatchedWeight& weight, const TensorSet& set,
                              const PreparationOptions& options, std::int64_t slice_bytes,
                              const TakeOutputs& take) {
  const TakeOutputs take_and_release = [&](std::vector<ReferenceOutput> outputs) {
    take(std::move(outputs));
    Release(weight, set);
  };
  if (weight.kind == WeightKind::kMxfp4Experts) {
    return ReferenceExperts(weight, set, options, take_and_release);
  }
  if (weight.kind != WeightKind::kMxfp8Linear) {
    return absl::InvalidArgumentError(
        absl::StrCat("no target has a preparation for ", weight.name));
  }
  const absl::StatusOr<LinearPart> part = PartOfLinear(weight, options);
  if (!part.ok()) return part.status();
  const bool folds = CodesAreBlocks(weight, set);
  const std::int64_t rows = part->rows.count;
  const std::int64_t step = SliceRows(weight, options, slice_bytes, *part);
  ZeroSignBits signs;
  for (std::int64_t first = 0; first == 0 || first < rows; first += step) {
    LinearPart slice = *part;
    slice.rows = {part->rows.begin + first, std::min(step, rows - first)};
    absl::StatusOr<std::vector<ReferenceOutput>> outputs =
        LinearReference(weight, set, options, ReadLinear(weight, set, slice, folds), &signs,
                        first + step >= rows)
            .Run();
    if (!outputs.ok()) return outputs.status();
    take_and_release(*std::move(outputs));
  }
  return absl::OkStatus();
}

std::int64_t ReferenceMemory(const MatchedWeight& weight, const TensorSet& set,
                             const PreparationOptions& options, std::int64_t slice_bytes) {
  // Pages of each part's weight and codes, in blocks, at their ends and between.
  std::int64_t memory = 4 * kPageBlockBytes;
  if (weight.kind == WeightKind::kMxfp4Experts) {
    std::int64_t bytes = 0, codes = 0;
    for (const WeightPart& part : weight.parts) {
      bytes += std::ssize(set.Bytes(*set.Find(part.weight)));
      codes += std::ssize(set.Bytes(*set.Find(part.scale)));
    }
    const std::int64_t experts = std::max<std::int64_t>(1, weight.experts);
    // As it is read, in order, padded, packed, and as an output; codes of all experts on gfx950.
    memory += 8 * ((bytes + codes) / experts) + (options.target == Target::kGfx950 ? 4 * codes : 0);
    return memory;
  }
  const absl::StatusOr<LinearPart> part = PartOfLinear(weight, options);
  if (!part.ok()) return memory;
  const std::int64_t rows =
      std::min(part->rows.count, SliceRows(weight, options, slice_bytes, *part));
  const bool bf16 = weight.dtype == DType::kBf16;
  // The bytes and values as they are read, taken back or dequantized, and as an output.
  return memory + rows * part->columns.count * (bf16 ? 12 : 9);
}

bool IsCopiedFor(const MatchedWeight& weight, const PreparationOptions& options) {
  if (options.target != Target::kFlashmla) return false;
  if (weight.kind != WeightKind::kMxfp8Linear) return true;
  return weight.flashmla == FlashmlaRole::kNone && options.ranks == 1;
}

}  // namespace lanewise::tools
