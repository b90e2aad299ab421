#ifndef LANEWISE_REFERENCE_GFX942_FP4_H_
#define LANEWISE_REFERENCE_GFX942_FP4_H_

// The byte orders of packed e2m1 (FP4) weights for gfx942, and the removal of -0. Source: seed 000.
//
// A packed row holds two elements a byte, the even K in the low nibble, so K elements are K / 2
// bytes; a block of 32 K, which has one scale code, is 16 bytes. All functions take rank 2 [rows, K
// / 2] or rank 3 [experts, rows, K / 2] and keep the shape; rank 3 is as its experts' rows one
// after the other.
//
// Errors are InvalidArgument and name the shape and the dimension at fault.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// Rewrites every -0 nibble (0x8) to +0 in place and returns how many there were. gfx942 turns a
// nibble into an FNUZ byte by moving bits, and 0x8 would become 0x80, the FNUZ NaN. Discards where
// the -0 were, so it has no inverse; products are the same.
template <int kRank>
std::int64_t Fp4DropNegativeZero(Tensor<std::uint8_t, kRank>* w);

// How many nibbles are -0 (0x8).
template <int kRank>
std::int64_t Fp4CountNegativeZero(const Tensor<std::uint8_t, kRank>& w);

// Each row's bytes in lane order. A lane of group j = 0..3 takes the dword of K 32 i + 8 j .. + 8,
// that is bytes 16 i + 4 j .. + 4, of each block i. For all rows, 64-byte steps s, i and j = 0..3,
// b = 0..3:
//   out[row, 64 s + 16 j + 4 i + b] = w[row, 64 s + 16 i + 4 j + b].
// A last step of 32 bytes (two blocks) is ordered alike with 8 bytes a group, i = 0..1:
//   out[row, 64 s + 8 j + 4 i + b] = w[row, 64 s + 16 i + 4 j + b].
// Refuses bytes a row that are not a multiple of 32. Discards nothing.
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> Fp4LaneMajor(const Tensor<std::uint8_t, kRank>& w);
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoFp4LaneMajor(const Tensor<std::uint8_t, kRank>& w);

// Tiles of 16 rows in the order in which a wave loads them: lane 16 j + r holds what Fp4LaneMajor
// gives group j of row r, and each step's 64 lanes follow one another. A tile is 16 * K / 2
// contiguous bytes: its 64-byte steps, 1 KiB each, then its last step of 32 bytes a row, 512 bytes.
// Within tile t, for r = 0..15 (the tile's base is 16 t * K / 2):
//   out[base + 1024 s + 256 j + 16 r + 4 i + b] = w[16 t + r, 64 s + 16 i + 4 j + b]   (i = 0..3)
//   out[base + 1024 s + 128 j + 8 r + 4 i + b] = w[16 t + r, 64 s + 16 i + 4 j + b]    (i = 0..1,
//   last step)
// Refuses rows (of each expert) that are not a multiple of 16 and bytes a row that are not a
// multiple of 32 or none. Discards nothing.
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> Fp4TileMajor(const Tensor<std::uint8_t, kRank>& w);
template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoFp4TileMajor(const Tensor<std::uint8_t, kRank>& w);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_FP4_H_
