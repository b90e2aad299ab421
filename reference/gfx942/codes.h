#ifndef LANEWISE_REFERENCE_GFX942_CODES_H_
#define LANEWISE_REFERENCE_GFX942_CODES_H_

// The order of the e8m0 scale codes that gfx942's up/gate GEMV loads. Source: seed 000.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// Codes [rows, K / 32] or [experts, rows, K / 32] in rounds: for each tile t of 16 rows and each
// round of `blocks` K blocks, the 16 rows' codes of the round row after row. With C = K / 32, for r
// = 0..15, c = 0..blocks - 1 and every round:
//   out[16 t C + 16 blocks round + blocks r + c] = codes[16 t + r, blocks round + c].
// Keeps the shape. Refuses (InvalidArgument) blocks < 1, columns that are not a multiple of
// `blocks` and rows (of each expert) that are not a multiple of 16. Discards nothing.
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> CodesTileRounds(
    const Tensor<std::uint8_t, kRank>& codes, std::int64_t blocks = 8);
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoCodesTileRounds(
    const Tensor<std::uint8_t, kRank>& codes, std::int64_t blocks = 8);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_CODES_H_
