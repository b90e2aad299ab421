// Weight preparation in reference/.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/aiter/shuffle.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gfx942/codes.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/fp4.h"
#include "reference/gfx942/linear.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx950/linear.h"
#include "reference/tensor.h"
#include "tests/golden/ops.h"
#include "tests/golden/tensors.h"

namespace lanewise::golden {
namespace {

using Bytes2 = Tensor<std::uint8_t, 2>;
using Bytes3 = Tensor<std::uint8_t, 3>;
using Permutation = Tensor<std::int64_t, 1>;

// One tensor of bytes, of any rank, through a function on [lead, rows, columns].
template <class Function>
Operation MoveBytes(const char* role, Function function) {
  return [role, function](const Case& golden_case) -> absl::StatusOr<Results> {
    LANEWISE_ASSIGN_OR_RETURN(TensorView view, golden_case.Input(role));
    LANEWISE_ASSIGN_OR_RETURN(Bytes3 in, ToTensor<std::uint8_t, 3>(view, role, Leading::kFlatten));
    LANEWISE_ASSIGN_OR_RETURN(Bytes3 out, function(golden_case, in));
    Results results;
    results.tensors[role] = ToOutput(out, view.shape);
    return results;
  };
}

absl::StatusOr<Results> Fp4DropNegativeZero(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(TensorView view, golden_case.Input("w"));
  LANEWISE_ASSIGN_OR_RETURN(Bytes2 w, ToTensor<std::uint8_t, 2>(view, "w", Leading::kFlatten));
  Results results;
  results.counts["changed"] = reference::gfx942::Fp4DropNegativeZero(&w);
  results.tensors["w"] = ToOutput(w, view.shape);
  return results;
}

Results DenseResults(const reference::gfx942::DenseCopied& copy) {
  Results results;
  results.tensors["bytes"] = ToOutput(copy.bytes);
  results.tensors["codes"] = ToOutput(copy.codes);
  return results;
}

absl::StatusOr<Results> DenseCopy(const Case& golden_case) {
  absl::StatusOr<Bytes2> w8 = InputTensor<std::uint8_t, 2>(golden_case, "w8");
  absl::StatusOr<Bytes2> scale = InputTensor<std::uint8_t, 2>(golden_case, "scale");
  absl::StatusOr<bool> chunk_q = golden_case.BoolArg("chunk_q", false);
  if (!w8.ok()) return w8.status();
  if (!scale.ok()) return scale.status();
  if (!chunk_q.ok()) return chunk_q.status();
  LANEWISE_ASSIGN_OR_RETURN(
      reference::gfx942::DenseCopied copy,
      reference::gfx942::DenseCopy(*w8, *scale,
                                   *chunk_q ? reference::gfx942::ChunkOrder::kChunkQ
                                            : reference::gfx942::ChunkOrder::kNatural));
  return DenseResults(copy);
}

absl::StatusOr<Results> OcpFromDequant(const Case& golden_case) {
  absl::StatusOr<Tensor<Bf16, 2>> w = InputTensor<Bf16, 2>(golden_case, "w");
  absl::StatusOr<Bytes2> scale = InputTensor<std::uint8_t, 2>(golden_case, "scale");
  if (!w.ok()) return w.status();
  if (!scale.ok()) return scale.status();
  LANEWISE_ASSIGN_OR_RETURN(Bytes2 bytes, reference::gfx942::OcpFromDequant(*w, *scale));
  Results results;
  results.tensors["bytes"] = ToOutput(bytes);
  return results;
}

absl::StatusOr<reference::gfx942::DenseCopied> LinearCopied(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(Bytes2 scale, InputTensor<std::uint8_t, 2>(golden_case, "scale"));
  if (golden_case.HasInput("w_e4m3")) {
    LANEWISE_ASSIGN_OR_RETURN(Bytes2 w8, InputTensor<std::uint8_t, 2>(golden_case, "w_e4m3"));
    return reference::gfx942::LinearCopy(w8, scale);
  }
  LANEWISE_ASSIGN_OR_RETURN(auto w, InputTensor<Bf16, 2>(golden_case, "w"));
  return reference::gfx942::LinearCopy(w, scale);
}

absl::StatusOr<Results> LinearCopy(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(reference::gfx942::DenseCopied copy, LinearCopied(golden_case));
  return DenseResults(copy);
}

absl::StatusOr<Results> MoeCopies(const Case& golden_case) {
  absl::StatusOr<Bytes3> w13 = InputTensor<std::uint8_t, 3>(golden_case, "w13");
  absl::StatusOr<Bytes3> w13_s = InputTensor<std::uint8_t, 3>(golden_case, "w13_s");
  absl::StatusOr<Bytes3> w2 = InputTensor<std::uint8_t, 3>(golden_case, "w2");
  absl::StatusOr<Bytes3> w2_s = InputTensor<std::uint8_t, 3>(golden_case, "w2_s");
  absl::StatusOr<std::int64_t> inter = golden_case.IntArg("inter");
  if (!w13.ok()) return w13.status();
  if (!w13_s.ok()) return w13_s.status();
  if (!w2.ok()) return w2.status();
  if (!w2_s.ok()) return w2_s.status();
  if (!inter.ok()) return inter.status();
  LANEWISE_ASSIGN_OR_RETURN(reference::gfx942::ExpertsCopied copied,
                            reference::gfx942::MoeCopies({*w13, *w13_s, *w2, *w2_s}, *inter));
  Results results;
  results.tensors["w13"] = ToOutput(copied.experts.w13);
  results.tensors["w13_s"] = ToOutput(copied.experts.w13_codes);
  results.tensors["w2"] = ToOutput(copied.experts.w2);
  results.tensors["w2_s"] = ToOutput(copied.experts.w2_codes);
  return results;
}

// No output stands for codes that are not blocks.
absl::StatusOr<Results> AsBlock32Scale(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(Bytes2 scale, InputTensor<std::uint8_t, 2>(golden_case, "scale"));
  Results results;
  const std::optional<Bytes2> blocks = reference::gfx950::AsBlock32Scale(scale);
  if (blocks) results.tensors["scale"] = ToOutput(*blocks);
  return results;
}

// A permutation of heads; the seed's defaults where an argument is missing.
Operation HeadPermutation(const char* heads_arg,
                          absl::StatusOr<Permutation> (*permutation)(std::int64_t heads,
                                                                     std::int64_t head_dim)) {
  return [heads_arg, permutation](const Case& golden_case) -> absl::StatusOr<Results> {
    absl::StatusOr<std::int64_t> heads = golden_case.IntArg(heads_arg, 8);
    absl::StatusOr<std::int64_t> head_dim = golden_case.IntArg("head_dim", 512);
    if (!heads.ok()) return heads.status();
    if (!head_dim.ok()) return head_dim.status();
    LANEWISE_ASSIGN_OR_RETURN(Permutation perm, permutation(*heads, *head_dim));
    Results results;
    results.tensors["perm"] = ToOutput(perm);
    return results;
  };
}

template <class T>
absl::StatusOr<Results> PermuteQOf(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(auto q, InputTensor<T, 3>(golden_case, "q"));
  LANEWISE_ASSIGN_OR_RETURN(auto fused, reference::flashmla::PermuteQToFused(q));
  Results results;
  results.tensors["q"] = ToOutput(fused);
  return results;
}

absl::StatusOr<Results> PermuteQToFused(const Case& golden_case) {
  LANEWISE_ASSIGN_OR_RETURN(TensorView q, golden_case.Input("q"));
  switch (BitsPerElement(q.dtype)) {
    case 8:
      return PermuteQOf<std::uint8_t>(golden_case);
    case 16:
      return PermuteQOf<std::uint16_t>(golden_case);
    case 32:
      return PermuteQOf<std::uint32_t>(golden_case);
    case 64:
      return PermuteQOf<std::uint64_t>(golden_case);
    default:
      return InvalidArgument("'q' has elements of less than a byte");
  }
}

// permute_wq_b and permute_wo_a.
Operation PermuteWeight(const char* heads_arg,
                        absl::StatusOr<reference::flashmla::ScaledWeight> (*permute)(
                            const Bytes2& weight, const Bytes2& codes, std::int64_t heads)) {
  return [heads_arg, permute](const Case& golden_case) -> absl::StatusOr<Results> {
    absl::StatusOr<Bytes2> weight = InputTensor<std::uint8_t, 2>(golden_case, "weight");
    absl::StatusOr<Bytes2> codes = InputTensor<std::uint8_t, 2>(golden_case, "weight_scale");
    absl::StatusOr<std::int64_t> heads = golden_case.IntArg(heads_arg, 8);
    if (!weight.ok()) return weight.status();
    if (!codes.ok()) return codes.status();
    if (!heads.ok()) return heads.status();
    LANEWISE_ASSIGN_OR_RETURN(reference::flashmla::ScaledWeight moved,
                              permute(*weight, *codes, *heads));
    Results results;
    results.tensors["weight"] = ToOutput(moved.weight);
    results.tensors["weight_scale"] = ToOutput(moved.codes);
    return results;
  };
}

}  // namespace

void AddLayoutsReference(OperationTable& table) {
  const auto add = [&table](std::string_view op, Operation operation) {
    table.Add(op, kReference, std::move(operation));
  };
  add("dense_copy", DenseCopy);
  add("linear_copy", LinearCopy);
  add("ocp_from_dequant", OcpFromDequant);
  add("fp4_drop_negative_zero", Fp4DropNegativeZero);
  add("fp4_lane_major", MoveBytes("w", [](const Case&, const Bytes3& w) {
        return reference::gfx942::Fp4LaneMajor(w);
      }));
  add("fp4_tile_major", MoveBytes("w", [](const Case&, const Bytes3& w) {
        return reference::gfx942::Fp4TileMajor(w);
      }));
  add("codes_tile_rounds",
      MoveBytes("codes",
                [](const Case& golden_case, const Bytes3& codes) -> absl::StatusOr<Bytes3> {
                  LANEWISE_ASSIGN_OR_RETURN(std::int64_t blocks, golden_case.IntArg("blocks", 8));
                  return reference::gfx942::CodesTileRounds(codes, blocks);
                }));
  add("moe_copies", MoeCopies);
  add("as_block32_scale", AsBlock32Scale);
  add("aiter_shuffle_weight_16x16", MoveBytes("w", [](const Case&, const Bytes3& w) {
        return reference::aiter::ShuffleWeight16x16(w);
      }));
  add("aiter_e8m0_shuffle", MoveBytes("codes", [](const Case&, const Bytes3& codes) {
        return reference::aiter::E8m0Shuffle(codes);
      }));
  add("q_fused_permutation", HeadPermutation("num_heads", reference::flashmla::QFusedPermutation));
  add("o_fused_permutation",
      HeadPermutation("heads_per_group", reference::flashmla::OFusedPermutation));
  add("o_fused_chunk_permutation",
      HeadPermutation("heads_per_group", reference::flashmla::OFusedChunkPermutation));
  add("permute_q_to_fused", PermuteQToFused);
  add("permute_wq_b", PermuteWeight("num_local_heads", reference::flashmla::PermuteWqB));
  add("permute_wo_a", PermuteWeight("heads_per_group", reference::flashmla::PermuteWoA));
}

}  // namespace lanewise::golden
