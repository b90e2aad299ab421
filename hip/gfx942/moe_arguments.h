#ifndef LANEWISE_HIP_GFX942_MOE_ARGUMENTS_H_
#define LANEWISE_HIP_GFX942_MOE_ARGUMENTS_H_

// What the launchers of the routed experts pass to their kernels, and the memory between these.
//
// A pick is a token's slot: pick p is slot p % top_k of token p / top_k. Kp and Ip are the padded
// hidden and intermediate sizes.

#include <cstdint>

#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

inline constexpr uint32_t kMoeTileRows = 16;      // weight rows of a matrix instruction
inline constexpr uint32_t kMoePassPicks = 16;     // its columns
inline constexpr uint32_t kMoeGroupColumns = 32;  // intermediate columns of an up/gate workgroup

// The picks of one expert: places first .. first + count of the order.
struct PickGroup {
  uint32_t expert;  // counted from the first that is here
  uint32_t first;
  uint32_t count;
  uint32_t unused;
};

// The grouping in memory: the number of groups, then the groups by ascending expert, then the picks
// in the groups' order, ascending within one.
inline constexpr uint32_t kGroupingHeaderBytes = 16;

// Quantized rows, of x and of the activated picks alike: [step of 128][lane group:4][block:4][8
// bytes, even K first], so that a lane's bytes of a step are 32 in a row; and a code for each
// block.

struct MoeUpGateArguments {
  const uint16_t* x;         // bf16 [tokens, hidden]
  const int32_t* experts;    // [tokens, top_k]
  const uint8_t* w13;        // [experts][2 Ip / 16 tiles][Kp / 128 steps][1024]
  const uint8_t* w13_codes;  // [experts][2 Ip / 16 tiles][Kp / 256 rounds][row:16][block:8]
  const uint16_t* bias;      // bf16 [experts][column][gate, up], bias_stride apart, or null
  uint8_t* grouping;
  uint32_t* status;    // or null
  uint8_t* mid;        // [picks][steps of Ip][128]
  uint8_t* mid_codes;  // [picks][steps of Ip][4]
  uint8_t* elements;   // the workspace: [tokens][Kp], then codes [tokens][Kp / 32]
  uint32_t tokens;
  uint32_t picks;
  uint32_t top_k;
  uint32_t expert_count;
  uint32_t first_expert;
  uint32_t layer_experts;
  uint32_t most_groups;
  uint32_t hidden;
  uint32_t padded_hidden;
  uint32_t inter;
  uint32_t padded_inter;
  uint64_t bias_stride;
  Swiglu swiglu;
};

struct MoeDownArguments {
  const uint8_t* grouping;
  const uint8_t* mid;
  const uint8_t* mid_codes;
  const int32_t* experts;  // [tokens, top_k]
  const float* weights;    // [tokens, top_k]
  const uint8_t* w2;  // [experts][hidden / 16 tiles][Ip / 128 steps][1024], of a last half step 512
  const uint8_t* w2_codes;  // [experts][hidden][Ip / 32]
  const uint16_t* bias;     // bf16 [experts][hidden], bias_stride apart, or null
  const uint16_t* shared;   // bf16 [tokens, hidden] or null
  uint16_t* out;            // bf16 [tokens, hidden]
  uint16_t* contributions;  // the workspace: bf16 [picks, hidden]
  uint32_t tokens;
  uint32_t picks;
  uint32_t top_k;
  uint32_t expert_count;
  uint32_t first_expert;
  uint32_t most_groups;
  uint32_t hidden;
  uint32_t padded_inter;
  uint64_t bias_stride;
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_MOE_ARGUMENTS_H_
