#include "tools/verify/reference_experts.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "reference/aiter/shuffle.h"
#include "reference/checks.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/pad_experts.h"
#include "reference/tensor.h"
#include "tools/verify/logical_weight.h"
#include "tools/verify/zero_sign_bits.h"

namespace lanewise::tools {
namespace {

using Bytes = Tensor<std::uint8_t, 3>;

ReferenceOutput Output(const std::string& name, std::string_view layout, const Bytes& expert) {
  return {name,
          layout,
          DType::kU8,
          {expert.dimension(0), expert.dimension(1), expert.dimension(2)},
          {expert.data(), expert.data() + expert.size()},
          0,
          std::nullopt,
          std::nullopt};
}

Bytes Zeros(std::int64_t rows, std::int64_t columns) {
  Bytes zeros(1, rows, columns);
  zeros.setZero();
  return zeros;
}

// moe_copies takes the gate/up and the down weight together. Here they come one at a time, the
// other one as zeros of the smallest size that belongs to it.
reference::gfx942::Experts WithPartner(bool gate_up, LogicalExpert expert, std::int64_t inter) {
  if (gate_up) {
    return {std::move(expert.rows), std::move(expert.codes), Zeros(16, inter / 2),
            Zeros(16, inter / 32)};
  }
  return {Zeros(2 * inter, 16), Zeros(2 * inter, 1), std::move(expert.rows),
          std::move(expert.codes)};
}

absl::Status Gfx942(const MatchedWeight& weight, const TensorSet& set, const ExpertPart& part,
                    const TakeOutputs& take) {
  const bool gate_up = weight.projection == Projection::kGateUp;
  ZeroSignBits signs;
  for (std::int64_t e = 0; e < part.experts; ++e) {
    LogicalExpert expert = ReadExpert(weight, set, part, e);
    absl::StatusOr<Bytes> logical =
        gate_up ? reference::gfx942::InterleaveGateUp(expert.rows, part.inter) : expert.rows;
    if (!logical.ok()) return logical.status();
    for (std::int64_t i = 0; i < logical->size(); ++i) signs.AddE2m1Pair(logical->data()[i]);
    const auto padded =
        reference::gfx942::PadExperts(WithPartner(gate_up, std::move(expert), part.inter));
    if (!padded.ok()) return padded.status();
    const auto copies = reference::gfx942::MoeCopies(*padded, padded->w13.dimension(1) / 2,
                                                     reference::Checks::All());
    if (!copies.ok()) return copies.status();
    std::vector<ReferenceOutput> outputs = {
        Output(weight.name, layout_tag::kGfx942Fp4TileMajor,
               gate_up ? copies->experts.w13 : copies->experts.w2),
        Output(weight.scale_name,
               gate_up ? layout_tag::kGfx942CodesTileRounds : layout_tag::kGfx942RowCodes,
               gate_up ? copies->experts.w13_codes : copies->experts.w2_codes)};
    outputs[0].negative_zeros = copies->negative_zeros;
    outputs[0].zero_signs = signs.Take(e + 1 == part.experts);
    take(std::move(outputs));
  }
  return absl::OkStatus();
}

absl::Status Gfx950(const MatchedWeight& weight, const TensorSet& set, const ExpertPart& part,
                    const TakeOutputs& take) {
  // Gate and up rows stay in the checkpoint's order: apart, or one beside the other.
  const bool interleaved =
      weight.projection == Projection::kGateUp && weight.order == GateUpOrder::kInterleaved;
  const auto in_order = [&](const Bytes& tensor) -> absl::StatusOr<Bytes> {
    if (interleaved) return reference::gfx942::InterleaveGateUp(tensor, part.inter);
    return tensor;
  };
  // The codes' rows count over all experts.
  std::vector<std::uint8_t> codes;
  std::int64_t columns = 1;
  for (std::int64_t e = 0; e < part.experts; ++e) {
    const LogicalExpert expert = ReadExpert(weight, set, part, e);
    const absl::StatusOr<Bytes> ordered = in_order(expert.rows);
    if (!ordered.ok()) return ordered.status();
    const absl::StatusOr<Bytes> shuffled = reference::aiter::ShuffleWeight16x16(*ordered);
    if (!shuffled.ok()) return shuffled.status();
    const absl::StatusOr<Bytes> ordered_codes = in_order(expert.codes);
    if (!ordered_codes.ok()) return ordered_codes.status();
    codes.insert(codes.end(), ordered_codes->data(), ordered_codes->data() + ordered_codes->size());
    columns = ordered_codes->dimension(2);
    take({Output(weight.name, layout_tag::kAiterShuffleWeight, *shuffled)});
  }
  Tensor<std::uint8_t, 2> flat(std::ssize(codes) / std::max<std::int64_t>(1, columns), columns);
  std::copy(codes.begin(), codes.end(), flat.data());
  const absl::StatusOr<Tensor<std::uint8_t, 2>> shuffled =
      reference::aiter::E8m0Shuffle(reference::aiter::PadE8m0(flat));
  if (!shuffled.ok()) return shuffled.status();
  take({{weight.scale_name,
         layout_tag::kAiterE8m0Shuffle,
         DType::kU8,
         {shuffled->dimension(0), shuffled->dimension(1)},
         {shuffled->data(), shuffled->data() + shuffled->size()},
         0,
         std::nullopt,
         std::nullopt}});
  return absl::OkStatus();
}

}  // namespace

absl::Status ReferenceExperts(const MatchedWeight& weight, const TensorSet& set,
                              const PreparationOptions& options, const TakeOutputs& take) {
  const absl::StatusOr<ExpertPart> part = PartOfExperts(weight, options);
  if (!part.ok()) return part.status();
  if (part->experts == 0) return absl::InvalidArgumentError("there are no experts");
  if (options.target == Target::kGfx942) return Gfx942(weight, set, *part, take);
  if (options.target == Target::kGfx950) return Gfx950(weight, set, *part, take);
  return absl::InvalidArgumentError("experts are copied for this target");
}

}  // namespace lanewise::tools
