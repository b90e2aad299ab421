#include "reference/flashmla/fused_layout.h"

#include <array>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/require.h"

namespace lanewise::reference::flashmla {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Permutation = Tensor<std::int64_t, 1>;

// Far above any model; it keeps a permutation's size from overflowing.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 31;

absl::Status CheckHeads(std::int64_t heads, std::int64_t head_dim) {
  if (heads < 1 || head_dim < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(heads, " heads of ", head_dim, " elements: expected at least 1 of each"));
  }
  if (heads > kMaxElements / head_dim) {
    return absl::InvalidArgumentError(
        absl::StrCat(heads, " heads of ", head_dim, " elements are more than ", kMaxElements));
  }
  return absl::OkStatus();
}

absl::Status CheckHeadDim(std::int64_t heads, std::int64_t head_dim, std::int64_t chunk) {
  if (absl::Status status = CheckHeads(heads, head_dim); !status.ok()) return status;
  if (head_dim % chunk == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a head_dim of ", head_dim, " is not a multiple of ", chunk));
}

// The chunk of a head in which Q is interleaved. One head alone is not reordered, whatever its
// size.
std::int64_t QChunk(std::int64_t heads, std::int64_t head_dim) {
  return heads == 1 ? head_dim : kQChunk;
}

Permutation Iota(std::int64_t count) {
  Permutation standard(count);
  std::iota(standard.data(), standard.data() + count, std::int64_t{0});
  return standard;
}

// The head size of `size` elements in `heads` heads.
absl::StatusOr<std::int64_t> HeadDim(const Bytes& weight, int axis, std::int64_t heads) {
  if (heads < 1) {
    return absl::InvalidArgumentError(absl::StrCat(heads, " heads: expected at least 1"));
  }
  if (absl::Status status = RequireMultiple(weight, "weight", axis, heads); !status.ok()) {
    return status;
  }
  return weight.dimension(axis) / heads;
}

template <class T>
absl::StatusOr<Tensor<T, 3>> PermuteQ(const Tensor<T, 3>& q, Way way) {
  const std::int64_t tokens = q.dimension(0), heads = q.dimension(1), head_dim = q.dimension(2);
  const std::int64_t chunk = QChunk(heads, head_dim);
  if (absl::Status status = CheckHeadDim(heads, head_dim, chunk); !status.ok()) return status;
  // [token, head, chunk, element] -> [token, chunk, head, element]
  return Rearranged(q, Factors{tokens, heads, head_dim / chunk, chunk}, Order{0, 2, 1, 3},
                    q.dimensions(), way);
}

absl::StatusOr<ScaledWeight> PermuteRows(const Bytes& weight, const Bytes& codes,
                                         std::int64_t heads, Way way) {
  absl::StatusOr<std::int64_t> head_dim = HeadDim(weight, 0, heads);
  if (!head_dim.ok()) return head_dim.status();
  const std::int64_t chunk = QChunk(heads, *head_dim);
  if (absl::Status status = CheckHeadDim(heads, *head_dim, chunk); !status.ok()) return status;
  if (absl::Status status = RequireShape(codes, "codes", {weight.dimension(0), codes.dimension(1)},
                                         absl::StrCat("weight ", ShapeText(weight)));
      !status.ok()) {
    return status;
  }
  // [head, chunk, row, column] -> [chunk, head, row, column]
  const auto rows_moved = [&](const Bytes& rows) {
    return Rearranged(rows, Factors{heads, *head_dim / chunk, chunk, rows.dimension(1)},
                      Order{1, 0, 2, 3}, rows.dimensions(), way);
  };
  return ScaledWeight{rows_moved(weight), rows_moved(codes)};
}

absl::StatusOr<ScaledWeight> PermuteColumns(const Bytes& weight, const Bytes& codes,
                                            std::int64_t heads, Way way) {
  absl::StatusOr<std::int64_t> head_dim = HeadDim(weight, 1, heads);
  if (!head_dim.ok()) return head_dim.status();
  if (absl::Status status = CheckHeadDim(heads, *head_dim, kOChunk); !status.ok()) return status;
  const std::int64_t chunks = *head_dim / kOChunk;
  if (absl::Status status = RequireShape(codes, "codes", {codes.dimension(0), heads * chunks},
                                         absl::StrCat("weight ", ShapeText(weight)));
      !status.ok()) {
    return status;
  }
  // [row, head, chunk, element] -> [row, chunk, head, element]; a code stands for its chunk.
  return ScaledWeight{Rearranged(weight, Factors{weight.dimension(0), heads, chunks, kOChunk},
                                 Order{0, 2, 1, 3}, weight.dimensions(), way),
                      Rearranged(codes, Factors{codes.dimension(0), heads, chunks}, Order{0, 2, 1},
                                 codes.dimensions(), way)};
}

}  // namespace

absl::StatusOr<Permutation> QFusedPermutation(std::int64_t num_heads, std::int64_t head_dim) {
  const std::int64_t chunk = QChunk(num_heads, head_dim);
  if (absl::Status status = CheckHeadDim(num_heads, head_dim, chunk); !status.ok()) return status;
  const Permutation standard = Iota(num_heads * head_dim);
  // [head, chunk, element] -> [chunk, head, element]
  return Rearranged(standard, Factors{num_heads, head_dim / chunk, chunk}, Order{1, 0, 2},
                    standard.dimensions(), Way::kForward);
}

absl::StatusOr<Permutation> OFusedPermutation(std::int64_t heads_per_group, std::int64_t head_dim) {
  if (absl::Status status = CheckHeadDim(heads_per_group, head_dim, kOChunk); !status.ok()) {
    return status;
  }
  const Permutation standard = Iota(heads_per_group * head_dim);
  // [head, chunk, element] -> [chunk, head, element]
  return Rearranged(standard, Factors{heads_per_group, head_dim / kOChunk, kOChunk}, Order{1, 0, 2},
                    standard.dimensions(), Way::kForward);
}

absl::StatusOr<Permutation> OFusedChunkPermutation(std::int64_t heads_per_group,
                                                   std::int64_t head_dim) {
  if (absl::Status status = CheckHeadDim(heads_per_group, head_dim, kOChunk); !status.ok()) {
    return status;
  }
  const Permutation standard = Iota(heads_per_group * (head_dim / kOChunk));
  // [head, chunk] -> [chunk, head]
  return Rearranged(standard, Factors{heads_per_group, head_dim / kOChunk}, Order{1, 0},
                    standard.dimensions(), Way::kForward);
}

Permutation InversePermutation(const Permutation& perm) {
  Permutation inverse(perm.size());
  for (std::int64_t i = 0; i < perm.size(); ++i) inverse(perm(i)) = i;
  return inverse;
}

template <class T>
absl::StatusOr<Tensor<T, 3>> PermuteQToFused(const Tensor<T, 3>& q) {
  return PermuteQ(q, Way::kForward);
}

template <class T>
absl::StatusOr<Tensor<T, 3>> UndoPermuteQToFused(const Tensor<T, 3>& q) {
  return PermuteQ(q, Way::kBack);
}

absl::StatusOr<ScaledWeight> PermuteWqB(const Bytes& weight, const Bytes& codes,
                                        std::int64_t num_local_heads) {
  return PermuteRows(weight, codes, num_local_heads, Way::kForward);
}

absl::StatusOr<ScaledWeight> UndoPermuteWqB(const Bytes& weight, const Bytes& codes,
                                            std::int64_t num_local_heads) {
  return PermuteRows(weight, codes, num_local_heads, Way::kBack);
}

absl::StatusOr<ScaledWeight> PermuteWoA(const Bytes& weight, const Bytes& codes,
                                        std::int64_t heads_per_group) {
  return PermuteColumns(weight, codes, heads_per_group, Way::kForward);
}

absl::StatusOr<ScaledWeight> UndoPermuteWoA(const Bytes& weight, const Bytes& codes,
                                            std::int64_t heads_per_group) {
  return PermuteColumns(weight, codes, heads_per_group, Way::kBack);
}

template absl::StatusOr<Tensor<std::uint8_t, 3>> PermuteQToFused(const Tensor<std::uint8_t, 3>&);
template absl::StatusOr<Tensor<std::uint16_t, 3>> PermuteQToFused(const Tensor<std::uint16_t, 3>&);
template absl::StatusOr<Tensor<std::uint32_t, 3>> PermuteQToFused(const Tensor<std::uint32_t, 3>&);
template absl::StatusOr<Tensor<std::uint64_t, 3>> PermuteQToFused(const Tensor<std::uint64_t, 3>&);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoPermuteQToFused(
    const Tensor<std::uint8_t, 3>&);
template absl::StatusOr<Tensor<std::uint16_t, 3>> UndoPermuteQToFused(
    const Tensor<std::uint16_t, 3>&);
template absl::StatusOr<Tensor<std::uint32_t, 3>> UndoPermuteQToFused(
    const Tensor<std::uint32_t, 3>&);
template absl::StatusOr<Tensor<std::uint64_t, 3>> UndoPermuteQToFused(
    const Tensor<std::uint64_t, 3>&);

}  // namespace lanewise::reference::flashmla
