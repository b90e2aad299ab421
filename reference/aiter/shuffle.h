#ifndef LANEWISE_REFERENCE_AITER_SHUFFLE_H_
#define LANEWISE_REFERENCE_AITER_SHUFFLE_H_

// AITER's post-load orders of MXFP4 weights and their scale codes, which gfx950's A16W4 kernels
// read. Source: seed 002 reads them. Rank 3 [experts, rows, columns] counts rows over the experts,
// one after the other, and keeps its shape.
//
// Errors are InvalidArgument and name the shape and the dimension at fault.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/tensor.h"

namespace lanewise::reference::aiter {

// shuffle_weight with layout (16, 16) on packed FP4 bytes [rows, K / 2] or [experts, rows, K / 2]:
// 16 rows by 16 bytes (one block of 32 K) together. With B = K / 2:
//   out[(n / 16) 16 B + (b / 16) 256 + (n % 16) 16 + b % 16] = w[n, b].
// So the 128-wide K step of a 16-row group is 1 KiB, of which lane l's 16 bytes hold row l % 16 and
// block l / 16. Refuses rows (of each expert) that are not a multiple of 16 and bytes a row that
// are not a multiple of 32. Discards nothing.
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> ShuffleWeight16x16(
    const Tensor<std::uint8_t, kRank>& w);
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoShuffleWeight16x16(
    const Tensor<std::uint8_t, kRank>& w);

// e8m0_shuffle on codes [rows, K / 32] or [experts, rows, K / 32]. With C = K / 32 columns:
//   out[((((m / 32) (C / 8) + c / 8) 4 + c % 4) 16 + m % 16) 4 + ((c % 8) / 4) 2 + (m / 16) % 2] =
//   codes[m, c].
// So lane l's dword at (32-row block, 8 columns) holds row l % 16's codes of K steps (even, odd)
// for both 16-row halves of the block. Pads nothing: refuses rows (over all experts) that are not a
// multiple of 32 and columns that are not a multiple of 8; see PadE8m0. Discards nothing.
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> E8m0Shuffle(const Tensor<std::uint8_t, kRank>& codes);
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoE8m0Shuffle(
    const Tensor<std::uint8_t, kRank>& codes);

// What E8m0Shuffle is given in a prepared file: rows padded to a multiple of 256 and columns to a
// multiple of 8 with byte 0x00, so that no prepared byte is uninitialised.
Tensor<std::uint8_t, 2> PadE8m0(const Tensor<std::uint8_t, 2>& codes);

// The first `rows` rows and `columns` columns of padded codes. Refuses codes that are not exactly
// as large as PadE8m0 makes them, and padding that is not 0x00 (InvalidArgument with the
// coordinate).
absl::StatusOr<Tensor<std::uint8_t, 2>> UndoPadE8m0(const Tensor<std::uint8_t, 2>& padded,
                                                    std::int64_t rows, std::int64_t columns);

}  // namespace lanewise::reference::aiter

#endif  // LANEWISE_REFERENCE_AITER_SHUFFLE_H_
