#ifndef LANEWISE_HIP_GFX942_MOE_UP_GATE_H_
#define LANEWISE_HIP_GFX942_MOE_UP_GATE_H_

// The first half of the routed experts on gfx942: bf16 activations and the token's picks in, the
// activated rows of each pick out, quantized for moe_down.h.
//
//   gate[i], up[i] = x[token] by rows 2 i, 2 i + 1 of w13[expert]      (rows of the prepared copy)
//                    + w13_bias[expert], if there is one, each sum rounded to float32
//   mid[pick] = quantized(swiglu(gate, up))
//
// Arithmetic: reference/gfx942/moe_semantics.h, bit for bit before the activation: x quantized by
// RoutedActivationOptions, UpGateGemv with two slices of the padded K; the activation within
// ActivationRange, because exp2 and rcp are the chip's; mid quantized by RoutedActivationOptions.
// So
//  1. MoePrepare groups the picks by expert (ascending experts, in each ascending picks) and
//     quantizes x in the order of the operand, even K first in every 8;
//  2. MoeUpGate: four waves take 32 intermediate columns of one expert, two waves a slice of K each
//     for 16 columns. Weights become FNUZ bytes by bit moves (fp4_moves.h), each block of 32 is one
//     v_mfma_f32_16x16x32_fp8_fp8 from zero and joins the sum as RNE32(sum + d * 2^(cw + 7 + cx -
//     254)), cw the row's own code. Picks of one expert share its weights: they are read once for
//     up to 16 picks, in wave loads of 1 KiB without a gap.
// Deterministic; a pick's result does not depend on the others.
//
// Source: seed 000 (moe_copies), vLLM's DeepSeek V4.1 mono decode for gfx942.

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/gfx942/moe_launch.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip::gfx942 {

class MoeUpGate {
 public:
  // With Kp and Ip the padded sizes of the problem.
  struct Operands {
    const void* x;          // bf16 [tokens, hidden], 16-byte aligned
    const void* experts;    // int32 [tokens, top_k]
    const void* w13;        // [experts, 2 Ip, Kp / 2] bytes as prepared, 128-byte aligned
    const void* w13_codes;  // [experts, 2 Ip, Kp / 32] bytes as prepared, 128-byte aligned
    // Out; sizes: BytesBetween. Rows of mid of picks that are no expert's are left as they are.
    void* grouping;   // 16-byte aligned
    void* mid;        // 128-byte aligned
    void* mid_codes;  // 4-byte aligned
    // uint32 or null: grows by the number of picks whose expert index is below 0 or not below the
    // number of experts in the layer. Those are skipped, as are those of experts that are
    // elsewhere.
    void* status;
    void* workspace;  // 128-byte aligned
    // gpt-oss's, or null: bf16 [experts, 2 inter], gate i at 2 i and up i at 2 i + 1, as the
    // checkpoint has gate_up_proj_bias and `lanewise prepare` passes it on; 4-byte aligned. Rows
    // are w13_bias_stride apart, so rank r of R begins at 2 r inter of rows of 2 R inter. The
    // padding of inter has none.
    const void* w13_bias = nullptr;
  };

  // NotFound for another chip than gfx942. Makes the device current, as it has to be for Launch.
  // The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<MoeUpGate> Load(const Device& device);

  // At most: weight_bytes are those of as many experts as can be picked, each once. Experts with
  // more than 16 picks are read again for every 16 more. Launches: 2.
  static absl::StatusOr<LaunchCost> Cost(const MoeProblem& problem);

  // OK, or InvalidArgument naming what does not fit; Launch asks it too.
  static absl::Status Check(const MoeProblem& problem, const Operands& operands);

  // Queues the kernels; asynchronous and allocates nothing, can be captured (but with
  // check_experts). The workspace is in use until they are done. InvalidArgument for a shape,
  // layout or alignment that does not fit, naming it; nothing is launched then. No tokens are no
  // work.
  absl::Status Launch(const MoeProblem& problem, const Operands& operands,
                      const Stream& stream) const;

 private:
  explicit MoeUpGate(MoeKernels kernels) : kernels_(std::move(kernels)) {}

  MoeKernels kernels_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_UP_GATE_H_
