#ifndef LANEWISE_REFERENCE_GFX942_DENSE_H_
#define LANEWISE_REFERENCE_GFX942_DENSE_H_

// The copy of an MXFP8 weight that gfx942's dense GEMV reads. Source: seed 000, dense_copy.
//
// gfx942's FP8 is FNUZ: the same byte stands for half the OCP value. So the copy keeps the bytes
// and raises the scale codes by one, which is exact for every byte but -0 (0x80), FNUZ's NaN, and
// the OCP NaNs.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/checks.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// The order of the 8 bytes of a chunk, K 8 c .. + 8.
enum class ChunkOrder {
  kNatural,  // As they come: attention and shared experts.
  kChunkQ,   // Even K first, then odd K: 0 2 4 6 1 3 5 7, as the routed experts' FP4 conversion
             // gives them.
};

struct DenseWeight {
  Tensor<std::uint8_t, 2> bytes;  // OCP e4m3, [N, K].
  Tensor<std::uint8_t, 2> codes;  // e8m0 of 32 x 32 blocks, [N / 32, K / 32].
};

struct DenseCopied {
  Tensor<std::uint8_t, 2> bytes;  // FNUZ e4m3, [N, Kp] with Kp = K rounded up to a multiple of 128.
  Tensor<std::uint8_t, 2> codes;  // FNUZ codes (raised by one), [N / 32, Kp / 32].
  std::int64_t negative_zeros = 0;  // Bytes 0x80 that became 0x00.
};

// The copy of OCP e4m3 bytes [N, K] with block codes [N / 32, K / 32]: K padded with zero bytes and
// code 128, and each tile of 16 rows x 128 bytes (2 KiB) together. Lane 16 j + r of the GEMV takes
// the chunks j of row r's four blocks: the tile holds blocks 0 and 1 for all lanes, then blocks 2
// and 3. With k = 128 step + 64 half + 32 block + 8 j + byte and n = 16 tile + r:
//   out[(tile (Kp / 128) + step) 2048 + 1024 half + 256 j + 16 r + 8 block + position(byte)] =
//   w8[n, k].
// Refuses (InvalidArgument) N or K that is not a multiple of 32 or is none, codes of another shape,
// codes of 250 and more, and with checks.nan_bytes the bytes 0x7F and 0xFF.
absl::StatusOr<DenseCopied> DenseCopy(const Tensor<std::uint8_t, 2>& w8,
                                      const Tensor<std::uint8_t, 2>& scale, ChunkOrder order,
                                      const Checks& checks = {});

// The weight behind a copy of K = `k` columns. DenseCopy discards the signs of zeros: they come
// back as +0. Refuses what no copy holds: other shapes, a byte 0x80, a code of 0 or above 250,
// padding that is not a zero byte or code 128.
absl::StatusOr<DenseWeight> UndoDenseCopy(const Tensor<std::uint8_t, 2>& bytes,
                                          const Tensor<std::uint8_t, 2>& codes, std::int64_t k,
                                          ChunkOrder order);

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_DENSE_H_
