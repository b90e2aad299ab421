#ifndef LANEWISE_HIP_GFX942_MOE_DOWN_H_
#define LANEWISE_HIP_GFX942_MOE_DOWN_H_

// The second half of the routed experts on gfx942: what moe_up_gate.h left, by w2, weighted and
// added up token by token.
//
//   c[pick][h] = bf16((mid[pick] by row h of w2[expert]) * weights[pick])
//   or bf16((mid[pick] by row h of w2[expert] + w2_bias[expert][h]) * weights[pick])
//   s = 0; s = bf16(s + c[pick]) for the token's picks in their order; out = bf16(s + shared), or s
//
// Arithmetic: reference/gfx942/moe_semantics.h, bit for bit: DownGemv, all blocks of 32 ascending
// in one sum; and routed_moe.h's sum. Picks of no expert that is here are left out. A weight of 0
// still multiplies.
//  1. MoeDown: a wave takes 16 hidden rows of an expert by up to 16 of its picks. Weights are read
//     once for those, in wave loads of 1 KiB without a gap, of a last half step 512 bytes.
//  2. MoeSum adds up.
// Deterministic; a token's result does not depend on the others.
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

class MoeDown {
 public:
  // The problem is that of MoeUpGate, whose output `grouping`, `mid` and `mid_codes` are.
  struct Operands {
    const void* grouping;   // 16-byte aligned
    const void* mid;        // 128-byte aligned
    const void* mid_codes;  // 4-byte aligned
    const void* experts;    // int32 [tokens, top_k], as MoeUpGate had them
    const void* weights;    // float32 [tokens, top_k]
    const void* w2;         // [experts, hidden, Ip / 2] bytes as prepared, 128-byte aligned
    const void* w2_codes;   // [experts, hidden, Ip / 32] bytes, 4-byte aligned
    const void* shared;     // bf16 [tokens, hidden], 16-byte aligned, or null
    void* out;              // bf16 [tokens, hidden], 16-byte aligned; may be `shared`
    void* workspace;        // 128-byte aligned
    // gpt-oss's, or null: bf16 [experts, hidden], as the checkpoint has down_proj_bias; 8-byte
    // aligned, rows w2_bias_stride apart. Of ranks that share inter, one alone may add it.
    const void* w2_bias = nullptr;
  };

  // NotFound for another chip than gfx942. Makes the device current, as it has to be for Launch.
  // The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<MoeDown> Load(const Device& device);

  // At most, as MoeUpGate's. The workspace, a bf16 row for each pick, is written and read once.
  // Launches: 2.
  static absl::StatusOr<LaunchCost> Cost(const MoeProblem& problem);

  // OK, or InvalidArgument naming what does not fit; Launch asks it too.
  static absl::Status Check(const MoeProblem& problem, const Operands& operands);

  // As MoeUpGate's.
  absl::Status Launch(const MoeProblem& problem, const Operands& operands,
                      const Stream& stream) const;

 private:
  explicit MoeDown(MoeKernels kernels) : kernels_(std::move(kernels)) {}

  MoeKernels kernels_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_DOWN_H_
