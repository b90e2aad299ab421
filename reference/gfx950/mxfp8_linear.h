#ifndef LANEWISE_REFERENCE_GFX950_MXFP8_LINEAR_H_
#define LANEWISE_REFERENCE_GFX950_MXFP8_LINEAR_H_

// gfx950's whole MXFP8 linear, as `Planned`: which GEMM serves which weight and activation.
//
//   weight (linear.h)        activation  GEMM
//   block codes              bf16        Block32Gemm, SelectBlock32Quantizing(M, N, K); where that
//                                        has no configuration, as of a quantized x
//   block codes              quantized   Block32Gemm, SelectBlock32(M, N, K)
//   row codes, K % 128 = 0   either      RowScaleGemm
//   bf16 (K % 128 != 0)      bf16        Bf16Gemm
//   bf16                     quantized   Bf16Gemm of x dequantized to bf16
//   row codes, K % 128 != 0  either      as bf16, the weight dequantized on the fly: for weights that
//                                        did not pass through ProcessLinear
// then one rounding to bf16, then the bias, added in bf16.
//
// A bf16 activation is quantized per 32 along K with ActivationOptions, the same bytes in the
// kernel and apart. Batch invariance (an output row does not depend on the other rows): row codes
// and bf16 have it as they are; ProcessLinear(batch_invariant) keeps weights from becoming block
// codes.
//
// Source: seed 001, RocmDotScaledMxfp8LinearKernel.apply_weights. Its float32 log2 stands here as
// kExact (the default) or kRoundedLog2.

#include <optional>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/gemm/operand.h"
#include "reference/gfx950/linear.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference::gfx950 {

// MXFP8 of e4m3fn with maximum 448; NaN and infinity as vLLM's Triton quantizer has them
// (kNanElements).
QuantizeOptions ActivationOptions(BlockRule rule = BlockRule::kExact);

struct Mxfp8LinearOptions {
  // [N]; none if null.
  const Tensor<Bf16, 1>* bias = nullptr;
  // How a bf16 activation is quantized.
  BlockRule rule = BlockRule::kExact;
};

// out [M, N] of x [M, K] bf16. InvalidArgument for shapes that do not match, K that the weight's
// GEMM does not take, a bias that is not [N].
absl::StatusOr<Tensor<Bf16, 2>> Mxfp8Linear(const Tensor<Bf16, 2>& x, const LinearWeight& weight,
                                            const Mxfp8LinearOptions& options = {});

// The same of an x that arrives quantized (e4m3fn elements [M, K], codes [M, K / 32]).
absl::StatusOr<Tensor<Bf16, 2>> Mxfp8Linear(const Quantized& x, const LinearWeight& weight,
                                            const Mxfp8LinearOptions& options = {});

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_MXFP8_LINEAR_H_
