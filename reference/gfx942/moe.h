#ifndef LANEWISE_REFERENCE_GFX942_MOE_H_
#define LANEWISE_REFERENCE_GFX942_MOE_H_

// The copies of MXFP4 expert tensors that gfx942's routed GEMVs read. Source: seed 000, moe_copies.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/checks.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// Expert tensors in the plain order, or their copies. E experts, K hidden size, H output rows of
// w2; in the plain tensors R = Np, the padded intermediate size, in the copies R = inter.
struct Experts {
  Tensor<std::uint8_t, 3> w13;        // Packed e2m1, [E, 2 R, K / 2].
  Tensor<std::uint8_t, 3> w13_codes;  // [E, 2 R, K / 32].
  Tensor<std::uint8_t, 3> w2;         // Packed e2m1, [E, H, R / 2].
  Tensor<std::uint8_t, 3> w2_codes;   // [E, H, R / 32].
};

struct ExpertsCopied {
  Experts experts;
  std::int64_t negative_zeros = 0;   // Nibbles 0x8 that became 0x0.
  std::int64_t discarded_codes = 0;  // Codes of the padding, cut off, that were not 0.
};

// Rows [E, 2 R, columns], gate rows 0..R - 1 and up rows R..2 R - 1 -> the first `inter` of each,
// gate row i at 2 i and up row i at 2 i + 1: [E, 2 inter, columns]. Refuses an odd number of rows
// and an `inter` that is not in 0..R. Discards rows inter..R - 1 of both halves.
absl::StatusOr<Tensor<std::uint8_t, 3>> InterleaveGateUp(const Tensor<std::uint8_t, 3>& rows,
                                                         std::int64_t inter);
// Interleaved rows [E, 2 inter, columns] -> gate rows, then up rows, each padded with zero rows
// from inter to `padded`: [E, 2 padded, columns].
absl::StatusOr<Tensor<std::uint8_t, 3>> UndoInterleaveGateUp(const Tensor<std::uint8_t, 3>& rows,
                                                             std::int64_t padded);

// Plain tensors, padded with zero bytes from `inter` to Np -> the copies: w13 interleaved
// (InterleaveGateUp), w2 cut to `inter` columns, both without -0 nibbles and in tile-major order
// (Fp4TileMajor); w13_codes interleaved and in rounds of 8 blocks (CodesTileRounds), w2_codes cut
// and else as they are. Refuses (InvalidArgument, with the coordinate or shape): tensors whose
// shapes do not belong together; Np or inter that is not a multiple of 32 (tile-major order wants
// inter in 64s), K that is not a multiple of 256, H that is not a multiple of 16; inter > Np;
// padding bytes that are not zero, -0 included. With checks.large_codes, codes of 250 and more
// outside of the padding.
absl::StatusOr<ExpertsCopied> MoeCopies(const Experts& plain, std::int64_t inter,
                                        const Checks& checks = {});

// The plain tensors of padded size `padded` behind copies. MoeCopies discards the signs of zeros,
// which come back as +0, and the codes of the padding, which come back as `padding_code`. Refuses
// what no copy holds: shapes as above, a -0 nibble, `padded` below inter or not a multiple of 32.
absl::StatusOr<Experts> UndoMoeCopies(const Experts& copies, std::int64_t padded,
                                      std::uint8_t padding_code = 0);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_MOE_H_
