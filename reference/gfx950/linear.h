#ifndef LANEWISE_REFERENCE_GFX950_LINEAR_H_
#define LANEWISE_REFERENCE_GFX950_LINEAR_H_

// What gfx950's native MXFP8 linear makes of a loaded weight. Source: seed 001,
// process_weights_after_loading and _as_block32_scale.

#include <cstdint>
#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/checks.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// Row codes [N, columns] -> block codes [N / 32, columns] if N is a multiple of 32 and every 32
// rows share their codes, else nothing. ExpandBlockCodes (reference/block_codes.h) is the inverse.
std::optional<Tensor<std::uint8_t, 2>> AsBlock32Scale(const Tensor<std::uint8_t, 2>& row_codes);

// Which GEMM serves a linear, and so what its weight becomes.
enum class LinearKind {
  kBlockCodes,  // e4m3 bytes as they are, codes [N / 32, K / 32]: the block GEMM, any K % 32 = 0.
  kRowCodes,    // e4m3 bytes as they are, codes [N, K / 32]: the scaled-MFMA GEMM, K % 128 = 0.
  kBf16,        // Dequantized once: a plain linear. The row codes are kept.
};

struct LinearWeight {
  LinearKind kind;
  // e4m3 bytes [N, K], or for kBf16 the dequantized weight [N, K].
  std::variant<Tensor<std::uint8_t, 2>, Tensor<Bf16, 2>> weight;
  Tensor<std::uint8_t, 2> codes;
};

// The decision for e4m3 bytes [N, K] with row codes in the first N rows and K / 32 columns of
// `scale`, which may be larger (what is beyond is cut off): block codes if they fold, unless
// `batch_invariant`, because the block GEMM's split of K depends on the batch; else row codes if K
// is a multiple of 128; else bf16. Refuses (InvalidArgument) K that is not a multiple of 32, a
// scale smaller than [N, K / 32], and with checks.padding a cut-off code that is not 0.
//
// Inverse: kBlockCodes by ExpandBlockCodes; kRowCodes as it is; kBf16 by UndoDequantize. Discarded
// are cut-off codes.
absl::StatusOr<LinearWeight> ProcessLinear(const Tensor<std::uint8_t, 2>& weight,
                                           const Tensor<std::uint8_t, 2>& scale,
                                           bool batch_invariant = false, const Checks& checks = {});

// e4m3 bytes [N, K] with row codes [N, K / 32] -> the nearest bf16 of value * 2^(code - 127). A NaN
// byte or code 255 gives NaN. Refuses shapes that do not belong together.
absl::StatusOr<Tensor<Bf16, 2>> Dequantize(const Tensor<std::uint8_t, 2>& weight,
                                           const Tensor<std::uint8_t, 2>& row_codes);

// e4m3 bytes that dequantize to `w` under these row codes. Refuses a `w` with values of which there
// is none, with their count and the first of them. Discarded is what Dequantize does not keep: the
// bytes under code 255, which are NaN whatever they are (0x7F comes back), and the difference
// between bytes that bf16's range makes equal (values that overflow, and those of less than 2^-124,
// where bf16 has fewer bits than e4m3).
absl::StatusOr<Tensor<std::uint8_t, 2>> UndoDequantize(const Tensor<Bf16, 2>& w,
                                                       const Tensor<std::uint8_t, 2>& row_codes);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_LINEAR_H_
