#ifndef LANEWISE_SEMANTICS_SWIGLU_H_
#define LANEWISE_SEMANTICS_SWIGLU_H_

// The gated activation between the two GEMMs of an expert, as data: the reference and kernels take
// the same numbers. With a rounding to float32 after every operation:
//
//   g = min(gate, limit)       u = clamp(up, -limit, limit)       t = alpha * g
//   routed experts:  y = bf16((g * rcp(1 + exp2(-t * log2e))) * (u + up_offset))
//   shared expert:   y = bf16(bf16(g / (1 + exp(-t))) * (u + up_offset))
//
// reference/gemm/activation.h computes both and says what exp2, rcp and exp are, and how far a
// chip's instructions may stray from them. NaN in gate or up gives NaN. For host and device;
// includes nothing.

namespace lanewise {

struct Swiglu {
  float limit = 10.0f;     // 0 or more, infinite for none
  float alpha = 1.0f;      // finite
  float up_offset = 0.0f;  // finite
};

// DeepSeek V4.1.
inline constexpr Swiglu kDeepSeekSwiglu = {.limit = 10.0f};
// gpt-oss and MiniMax M3: g * sigmoid(1.702 g) * (u + 1).
inline constexpr Swiglu kGptOssSwiglu = {.limit = 7.0f, .alpha = 1.702f, .up_offset = 1.0f};

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_SWIGLU_H_
