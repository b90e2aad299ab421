#ifndef LANEWISE_HIP_GFX942_MOE_LAYER_H_
#define LANEWISE_HIP_GFX942_MOE_LAYER_H_

// The routed experts of a layer in a decode step, from a prepared file: picks and their weights ->
// up/gate -> down -> sum.
//
//   absl::StatusOr<PreparedCheckpoint> file = PreparedCheckpoint::Open(path, "gfx942");
//   absl::StatusOr<MoeWeights> w = MoeWeights::Upload(*file, ExpertNames("layers.3.ffn.experts"));
//   absl::StatusOr<MoeLayer> layer = MoeLayer::Load(device);
//   const MoeProblem problem = w->Problem(tokens, top_k, kDeepSeekSwiglu);
//   absl::StatusOr<LaunchCost> cost = MoeLayer::Cost(problem);   // workspace_bytes to allocate
//   absl::Status status = layer->Launch(problem, w->pointers(),
//       {.x = x, .experts = picks, .weights = pick_weights, .out = out, .workspace = workspace},
//       stream);
//
// Its arithmetic is moe_up_gate.h's and moe_down.h's, and so reference::gfx942::RoutedExperts with
// the problem's activation.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepared.h"
#include "hip/gfx942/moe_down.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/gfx942/moe_up_gate.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip::gfx942 {

// The four tensors' names in a prepared file.
struct MoeTensorNames {
  std::string w13, w13_codes, w2, w2_codes;
};

// `prefix`.w13.weight, .w13.scale, .w2.weight, .w2.scale: DeepSeek's, say of
// "layers.3.ffn.experts".
MoeTensorNames ExpertNames(std::string_view prefix);

// Where the weights are on the device: moe_up_gate.h and moe_down.h state their shapes.
struct MoeWeightPointers {
  const void* w13;
  const void* w13_codes;
  const void* w2;
  const void* w2_codes;
};

// A layer's experts in device memory.
class MoeWeights {
 public:
  // Copies to the current device. NotFound for a missing tensor; FailedPrecondition for one in
  // another layout than the kernels read, naming it and both; InvalidArgument where the shapes or
  // padded sizes do not belong together.
  static absl::StatusOr<MoeWeights> Upload(const PreparedCheckpoint& file,
                                           const MoeTensorNames& names);

  MoeProblem Problem(int64_t tokens, int64_t top_k, const Swiglu& swiglu) const;
  MoeWeightPointers pointers() const {
    return {w13_.data(), w13_codes_.data(), w2_.data(), w2_codes_.data()};
  }
  int64_t experts() const { return experts_; }
  int64_t hidden() const { return hidden_; }
  int64_t inter() const { return inter_; }

 private:
  MoeWeights(int64_t experts, int64_t hidden, int64_t inter, Buffer w13, Buffer w13_codes,
             Buffer w2, Buffer w2_codes)
      : experts_(experts),
        hidden_(hidden),
        inter_(inter),
        w13_(std::move(w13)),
        w13_codes_(std::move(w13_codes)),
        w2_(std::move(w2)),
        w2_codes_(std::move(w2_codes)) {}

  int64_t experts_, hidden_, inter_;
  Buffer w13_, w13_codes_, w2_, w2_codes_;
};

class MoeLayer {
 public:
  struct Operands {
    const void* x = nullptr;        // bf16 [tokens, hidden], 16-byte aligned
    const void* experts = nullptr;  // int32 [tokens, top_k]
    const void* weights = nullptr;  // float32 [tokens, top_k]
    // The shared expert's output, bf16 [tokens, hidden], 16-byte aligned, or null.
    const void* shared = nullptr;
    void* out = nullptr;        // bf16 [tokens, hidden], 16-byte aligned; may be `shared`
    void* status = nullptr;     // uint32 or null: grows by the picks of no expert
    void* workspace = nullptr;  // 128-byte aligned
  };

  // NotFound for another chip than gfx942.
  static absl::StatusOr<MoeLayer> Load(const Device& device);

  // At most, if all picks are of different experts. Launches: 4.
  static absl::StatusOr<LaunchCost> Cost(const MoeProblem& problem);

  // Queues the kernels; asynchronous and allocates nothing, can be captured (but with
  // check_experts). InvalidArgument as MoeUpGate and MoeDown; nothing is launched then.
  absl::Status Launch(const MoeProblem& problem, const MoeWeightPointers& weights,
                      const Operands& operands, const Stream& stream) const;

 private:
  MoeLayer(MoeUpGate up_gate, MoeDown down)
      : up_gate_(std::move(up_gate)), down_(std::move(down)) {}

  MoeUpGate up_gate_;
  MoeDown down_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_LAYER_H_
