#ifndef LANEWISE_HIP_GFX942_DENSE_GEMV_ARGUMENTS_H_
#define LANEWISE_HIP_GFX942_DENSE_GEMV_ARGUMENTS_H_

// What dense_gemv.cc passes to the kernels of dense_gemv.hip.

#include <cstdint>

#include "semantics/swiglu.h"

namespace lanewise::hip::gfx942 {

inline constexpr uint32_t kTileRows = 16;     // weight rows of a matrix instruction
inline constexpr uint32_t kPassTokens = 16;   // its columns
inline constexpr uint32_t kStepBytes = 2048;  // a tile's bytes of 128 K

struct DenseGemvArguments {
  const uint16_t* x;       // bf16 [tokens, groups * k]; to be gated: [tokens, 2 k]
  const uint8_t* w;        // [n, 128 steps]
  const uint8_t* w_codes;  // [ceil(n / 32), 4 steps]
  void* out;               // [tokens, n]
  // The workspace. Of each group and pass of up to 16 tokens, one after the other:
  uint8_t* elements;  // [steps][half:2][lane group:4][tokens of the pass][16 bytes]
  uint8_t* codes;     // [steps][tokens of the pass][block:4]
  float* partials;    // [splits][tokens][n], or null for one split
  uint64_t x_stride;  // elements
  uint64_t out_stride;
  uint32_t n;  // of all groups
  uint32_t k;  // of one
  uint32_t tokens;
  uint32_t tiles;  // of one group
  uint32_t steps;
  uint32_t splits;
  uint32_t steps_per_split;
  uint32_t contiguous;  // a wave's steps: a run instead of every eighth or fourth
  uint32_t chunk_q;
  uint32_t bf16_out;
  Swiglu swiglu;  // of QuantizeGated
};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_DENSE_GEMV_ARGUMENTS_H_
