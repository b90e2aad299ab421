#ifndef LANEWISE_HIP_GFX942_SHARED_EXPERT_H_
#define LANEWISE_HIP_GFX942_SHARED_EXPERT_H_

// The shared expert of a MoE layer on gfx942, or any gated dense layer of MXFP8 weights:
//
//   gate, up = bf16(x by gate_up)       y = bf16 of the activation       out = bf16(y by down)
//
// Its arithmetic is reference::gfx942::SharedExpert, bit for bit: two DenseGemv of Plan::kDense,
// the second of which activates what it quantizes (Problem::gated), so that y never is in memory.
// With weights in gfx942/dense_chunk_q the sums are those of that order of K, as dense_gemv.h says.
//
//   absl::StatusOr<SharedExpert> shared = SharedExpert::Load(device);
//   const SharedExpert::Problem problem = {.tokens = 4, .hidden = 5120, .inter = 576};
//   absl::StatusOr<LaunchCost> cost = SharedExpert::Cost(problem);  // workspace_bytes to allocate
//   absl::Status status = shared->Launch(problem, weights, {x, out, workspace}, stream);
//
// By tensor parallelism a rank has its part of inter, and out is the rank's part of a sum.
//
// Source: vLLM's DeepSeek V4.1 mono decode for gfx942.

#include <cstdint>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/gfx942/dense_gemv.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/stream.h"
#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

class SharedExpert {
 public:
  struct Problem {
    int64_t tokens = 0;  // up to 65535
    int64_t hidden = 0;  // a multiple of 32 up to 2^25
    int64_t inter = 0;   // of one rank, a multiple of 32 up to 2^25
    Swiglu swiglu = kDeepSeekSwiglu;
    // The layout tags of the prepared tensors.
    std::string_view weight_layout = "gfx942/dense";
    std::string_view codes_layout = "gfx942/dense_codes";
  };

  // As prepared; Kp is K rounded up to 128.
  struct Weights {
    // [2 inter, hiddenp] bytes: the prepared gate (w1), and behind it the prepared up (w3), which
    // is the prepared form of both as one matrix. 128-byte aligned.
    const void* gate_up;
    const void* gate_up_codes;  // [2 inter / 32, hiddenp / 32] bytes, likewise; 4-byte aligned
    const void* down;           // [hidden, interp] bytes, 128-byte aligned
    const void* down_codes;     // [hidden / 32, interp / 32] bytes, 4-byte aligned
  };

  struct Operands {
    const void* x;    // bf16 [tokens, hidden], 16-byte aligned
    void* out;        // bf16 [tokens, hidden], 2-byte aligned; may be x
    void* workspace;  // 128-byte aligned; overlaps nothing else
  };

  // NotFound for another chip than gfx942. Makes the device current, as it has to be for Launch.
  // The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<SharedExpert> Load(const Device& device);

  // The workspace holds gate and up in bf16, and DenseGemv's own. Launches: 4.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // OK, or InvalidArgument naming what does not fit; Launch asks it too.
  static absl::Status Check(const Problem& problem, const Weights& weights,
                            const Operands& operands);

  // Queues the kernels; asynchronous and allocates nothing on the device, can be captured. The
  // workspace is in use until they are done. InvalidArgument for a shape, layout or alignment that
  // does not fit, naming it; nothing is launched then. No tokens are no work.
  absl::Status Launch(const Problem& problem, const Weights& weights, const Operands& operands,
                      const Stream& stream) const;

 private:
  explicit SharedExpert(DenseGemv gemv) : gemv_(std::move(gemv)) {}

  DenseGemv gemv_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_SHARED_EXPERT_H_
