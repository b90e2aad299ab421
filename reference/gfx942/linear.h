#ifndef LANEWISE_REFERENCE_GFX942_LINEAR_H_
#define LANEWISE_REFERENCE_GFX942_LINEAR_H_

// An MXFP8 linear as a loader holds it on gfx942 -> its dense copy. Source: seed 000,
// ocp_from_dequant and linear_copy. The loader may have dequantized the weight to bf16 and repeated
// each block's code over the block's 32 rows; both are reversible.

#include <cstdint>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/checks.h"
#include "reference/gfx942/dense.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx942 {

// The OCP e4m3 bytes [N, K] behind a dequantized weight, w = value * 2^(code - 127), with codes of
// 32 x 32 blocks [N / 32, K / 32]. In binary32: m = 2^(127 - code) (also for code 255), q =
// e4m3fn(w * m), nearest even, NaN above 464; then bf16(q / m) has to be w, as numbers: a zero of
// either sign equals the other, a NaN nothing. Refuses (InvalidArgument) shapes that do not belong
// together, and a weight with values that the bytes do not give back: "B of N values are not e4m3 x
// scale" and the first of them. Discards nothing.
absl::StatusOr<Tensor<std::uint8_t, 2>> OcpFromDequant(const Tensor<Bf16, 2>& w,
                                                       const Tensor<std::uint8_t, 2>& scale);

// The inverse: bf16(q / m), which is the dequantized weight [N, K]. On bytes that did not come from
// OcpFromDequant it rounds to the nearest bf16. Refuses shapes that do not belong together.
absl::StatusOr<Tensor<Bf16, 2>> UndoOcpFromDequant(const Tensor<std::uint8_t, 2>& bytes,
                                                   const Tensor<std::uint8_t, 2>& scale);

// The dense copy, in the natural chunk order, of a weight as dequantized bf16 or as e4m3 bytes [N,
// K], with block codes [N / 32, K / 32] or row codes [N, K / 32]. Refuses row codes that do not
// fold to blocks
// ("row scales (N, C) are not 32 x 32 blocks", FoldRowCodes), then what OcpFromDequant refuses,
// then what DenseCopy refuses.
//
// UndoDenseCopy gives the bytes and block codes back, UndoOcpFromDequant the dequantized weight of
// these and ExpandBlockCodes the row codes. Discarded are the signs of zeros and which of these
// forms came in.
absl::StatusOr<DenseCopied> LinearCopy(const Tensor<Bf16, 2>& w,
                                       const Tensor<std::uint8_t, 2>& scale,
                                       const Checks& checks = {});
absl::StatusOr<DenseCopied> LinearCopy(const Tensor<std::uint8_t, 2>& w8,
                                       const Tensor<std::uint8_t, 2>& scale,
                                       const Checks& checks = {});

}  // namespace lanewise::reference::gfx942

#endif  // LANEWISE_REFERENCE_GFX942_LINEAR_H_
