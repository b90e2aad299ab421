#ifndef LANEWISE_HIP_GFX942_MOE_PROBLEM_H_
#define LANEWISE_HIP_GFX942_MOE_PROBLEM_H_

// The shape that both halves of the routed experts are called with, and the memory between them.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

struct MoeProblem {
  int64_t tokens = 0;   // up to 65535
  int64_t top_k = 0;    // picks of a token, 1 to 16
  int64_t experts = 0;  // whose weights there are, 1 to 65535
  // By expert parallelism: they are the run from first_expert on of the layer's all_experts (0: the
  // layer has no others), and expert indices count those. Picks of experts that are elsewhere add
  // nothing here.
  int64_t first_expert = 0;
  int64_t all_experts = 0;  // up to 2^24
  // Logical, multiples of 32 up to 2^24; inter is one rank's. The kernels run on Kp, hidden rounded
  // up to 256, and Ip, inter rounded up to 64; tokens * Kp is 2^30 at most.
  int64_t hidden = 0;
  int64_t inter = 0;
  Swiglu swiglu = kDeepSeekSwiglu;
  // Of the biases, where there are any, elements from expert to expert: an even number, or 0 for 2
  // inter; a multiple of 4, or 0 for hidden. So a rank finds its part in the checkpoint's tensor.
  int64_t w13_bias_stride = 0;
  int64_t w2_bias_stride = 0;
  // The layout tags of the prepared tensors.
  std::string_view w13_layout = "gfx942/fp4_tile_major";
  std::string_view w13_codes_layout = "gfx942/codes_tile_rounds";
  std::string_view w2_layout = "gfx942/fp4_tile_major";
  std::string_view w2_codes_layout = "gfx942/row_codes";
  // For debugging: before anything is launched, waits for the stream and reads the expert indices
  // back, and refuses the first that the layer does not have. Cannot be captured.
  bool check_experts = false;

  int64_t layer_experts() const { return all_experts == 0 ? experts : all_experts; }
  int64_t picks() const { return tokens * top_k; }
  int64_t padded_hidden() const { return (hidden + 255) / 256 * 256; }
  int64_t padded_inter() const { return (inter + 63) / 64 * 64; }
};

// Where the weights are on the device: moe_up_gate.h and moe_down.h state their shapes.
struct MoeWeightPointers {
  const void* w13;
  const void* w13_codes;
  const void* w2;
  const void* w2_codes;
  const void* w13_bias = nullptr;  // or null, as the next
  const void* w2_bias = nullptr;
};

// OK, or InvalidArgument naming the field, what it is and what it may be.
absl::Status CheckMoeProblem(const MoeProblem& problem);

// Bytes of what MoeUpGate leaves for MoeDown, of a problem that is OK.
struct MoeBetween {
  int64_t grouping;   // the picks by expert
  int64_t mid;        // the activated picks in FNUZ e4m3, in the order of the operand
  int64_t mid_codes;  // and a code for 32 of each
};
MoeBetween BytesBetween(const MoeProblem& problem);

// Experts that can be picked at most.
int64_t MostGroups(const MoeProblem& problem);

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_PROBLEM_H_
