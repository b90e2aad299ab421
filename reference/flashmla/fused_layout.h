#ifndef LANEWISE_REFERENCE_FLASHMLA_FUSED_LAYOUT_H_
#define LANEWISE_REFERENCE_FLASHMLA_FUSED_LAYOUT_H_

// Weight permutations for FlashMLA's mega-attention kernel: it reads Q with chunks of 16 head-dim
// elements interleaved across the heads and writes O with chunks of 32 interleaved across the heads
// of a wo_a group. Every permutation satisfies fused[i] = standard[perm[i]]. Source: seed 003. None
// discards anything.
//
// Errors are InvalidArgument and name the sizes at fault.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/rearrange.h"
#include "reference/tensor.h"

namespace lanewise::reference::flashmla {

inline constexpr std::int64_t kQChunk = 16;
inline constexpr std::int64_t kOChunk = 32;

// With H heads of D elements: fused[(d / 16) (16 H) + 16 h + d % 16] = standard[D h + d]. Refuses
// sizes below 1, more than 2^31 elements and a head_dim that is not a multiple of 16 (one head
// alone may have any: nothing moves).
absl::StatusOr<Tensor<std::int64_t, 1>> QFusedPermutation(std::int64_t num_heads,
                                                          std::int64_t head_dim = 512);

// Per group of G heads of D elements: fused[(c G + h) 32 + j] = standard[D h + 32 c + j]. Refuses
// sizes below 1, more than 2^31 elements and a head_dim that is not a multiple of 32.
absl::StatusOr<Tensor<std::int64_t, 1>> OFusedPermutation(std::int64_t heads_per_group = 8,
                                                          std::int64_t head_dim = 512);

// The same for the scale codes of 32-element chunks: fused[c G + h] = standard[(D / 32) h + c].
absl::StatusOr<Tensor<std::int64_t, 1>> OFusedChunkPermutation(std::int64_t heads_per_group = 8,
                                                               std::int64_t head_dim = 512);

// The permutation that undoes `perm`: result[perm[i]] = i. `perm` must be a permutation.
Tensor<std::int64_t, 1> InversePermutation(const Tensor<std::int64_t, 1>& perm);

// [tokens, heads, head_dim] in the standard order -> the same shape, each token in the fused order.
// T is any element of 1, 2, 4 or 8 bytes, unsigned (move other types as their bits).
template <class T>
absl::StatusOr<Tensor<T, 3>> PermuteQToFused(const Tensor<T, 3>& q);
template <class T>
absl::StatusOr<Tensor<T, 3>> UndoPermuteQToFused(const Tensor<T, 3>& q);

// Weight bytes and scale codes after (or before) a permutation.
struct ScaledWeight {
  Tensor<std::uint8_t, 2> weight;
  Tensor<std::uint8_t, 2> codes;
};

// An MXFP8 wq_b shard: rows of `weight` [heads * head_dim, K] and of its per-row `codes` [heads *
// head_dim, columns] in the fused order. Chunks of 16 rows split 32-row blocks, so block codes must
// be expanded to one a row first (reference/block_codes.h). Refuses rows that are not a multiple of
// num_local_heads, a head_dim that QFusedPermutation refuses, and codes that are not one row a
// weight row.
absl::StatusOr<ScaledWeight> PermuteWqB(const Tensor<std::uint8_t, 2>& weight,
                                        const Tensor<std::uint8_t, 2>& codes,
                                        std::int64_t num_local_heads);
absl::StatusOr<ScaledWeight> UndoPermuteWqB(const Tensor<std::uint8_t, 2>& weight,
                                            const Tensor<std::uint8_t, 2>& codes,
                                            std::int64_t num_local_heads);

// An MXFP8 wo_a shard: columns of `weight` [rows, heads * head_dim] in the fused order and columns
// of `codes` [rows or row blocks, heads * head_dim / 32] in the chunk order. Refuses columns that
// are not a multiple of heads_per_group, a head_dim that OFusedPermutation refuses, and codes that
// are not one column a chunk.
absl::StatusOr<ScaledWeight> PermuteWoA(const Tensor<std::uint8_t, 2>& weight,
                                        const Tensor<std::uint8_t, 2>& codes,
                                        std::int64_t heads_per_group = 8);
absl::StatusOr<ScaledWeight> UndoPermuteWoA(const Tensor<std::uint8_t, 2>& weight,
                                            const Tensor<std::uint8_t, 2>& codes,
                                            std::int64_t heads_per_group = 8);

}  // namespace lanewise::reference::flashmla

#endif  // LANEWISE_REFERENCE_FLASHMLA_FUSED_LAYOUT_H_
