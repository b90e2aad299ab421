#ifndef LANEWISE_HIP_GFX942_MOE_LAYER_H_
#define LANEWISE_HIP_GFX942_MOE_LAYER_H_

// The experts of a layer in a decode step, from a prepared file: picks and their weights -> up/gate
// -> down -> sum, and the shared expert.
//
//   absl::StatusOr<PreparedCheckpoint> file = PreparedCheckpoint::Open(path, "gfx942");
//   absl::StatusOr<MoeWeights> w = MoeWeights::Upload(*file, ExpertNames("layers.3.ffn.experts"));
//   absl::StatusOr<SharedWeights> s =
//       SharedWeights::Upload(*file, SharedExpertNames("layers.3.ffn.shared_experts"));
//   absl::StatusOr<MoeLayer> layer = MoeLayer::Load(device);
//   const MoeLayer::Problem problem = {w->Problem(tokens, top_k, kDeepSeekSwiglu),
//                                      s->Problem(tokens, kDeepSeekSwiglu)};
//   absl::StatusOr<LaunchCost> cost = MoeLayer::Cost(problem);   // workspace_bytes to allocate
//   absl::Status status = layer->Launch(problem, {w->pointers(), s->pointers()},
//       {.x = x, .experts = picks, .weights = pick_weights, .out = out, .workspace = workspace},
//       stream);
//
// Its arithmetic is moe_up_gate.h's, moe_down.h's and shared_expert.h's, and so
// reference::gfx942::RoutedExperts with reference::gfx942::SharedExpert as its `shared`.

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/gfx942/moe_down.h"
#include "hip/gfx942/moe_problem.h"
#include "hip/gfx942/moe_up_gate.h"
#include "hip/gfx942/shared_expert.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip::gfx942 {

class MoeLayer {
 public:
  struct Problem {
    MoeProblem routed;
    // If the layer has a shared expert that is computed here; of as many tokens and columns.
    std::optional<SharedExpert::Problem> shared = {};
  };

  struct Weights {
    MoeWeightPointers routed;
    SharedExpert::Weights shared = {};
  };

  struct Operands {
    const void* x = nullptr;        // bf16 [tokens, hidden], 16-byte aligned
    const void* experts = nullptr;  // int32 [tokens, top_k]
    const void* weights = nullptr;  // float32 [tokens, top_k]
    // What is added to the routed experts' sum, bf16 [tokens, hidden], 16-byte aligned, or null: a
    // shared expert's output that was computed elsewhere. Null where the problem has a shared one.
    const void* shared = nullptr;
    // bf16 [tokens, hidden], 16-byte aligned; may be `shared`, and x where the problem has no
    // shared expert, whose output lies here while x is still read. Nothing else overlaps.
    void* out = nullptr;
    void* status = nullptr;     // uint32 or null: grows by the picks of no expert
    void* workspace = nullptr;  // 128-byte aligned
  };

  // NotFound for another chip than gfx942. Makes the device current, as it has to be for Launch.
  // The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<MoeLayer> Load(const Device& device);

  // At most, if all picks are of different experts; biases are not counted. Launches: 4, with a
  // shared expert 8.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Queues the kernels; asynchronous and allocates nothing on the device, can be captured (but with
  // check_experts). InvalidArgument as MoeUpGate, MoeDown and SharedExpert, and where out overlaps
  // x and must not; nothing is launched then.
  absl::Status Launch(const Problem& problem, const Weights& weights, const Operands& operands,
                      const Stream& stream) const;

 private:
  MoeLayer(MoeUpGate up_gate, MoeDown down, SharedExpert shared)
      : up_gate_(std::move(up_gate)), down_(std::move(down)), shared_(std::move(shared)) {}

  MoeUpGate up_gate_;
  MoeDown down_;
  SharedExpert shared_;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_LAYER_H_
