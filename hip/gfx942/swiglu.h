#ifndef LANEWISE_HIP_GFX942_SWIGLU_H_
#define LANEWISE_HIP_GFX942_SWIGLU_H_

// The gated activation between an expert's two GEMVs, as data for host and device. With a rounding
// to float32 after every operation:
//
//   g = min(gate, limit)       u = clamp(up, -limit, limit)       t = alpha * g
//   y = bf16((g * rcp(1 + exp2(-t * log2e))) * (u + up_offset))
//
// It is reference/gemm/activation.h's Swiglu; exp2 and rcp are the chip's instructions, so y lies
// within that header's ActivationRange. NaN in gate or up gives NaN.

namespace lanewise::hip::gfx942 {

struct Swiglu {
  float limit = 10.0f;  // not NaN, 0 or more
  float alpha = 1.0f;
  float up_offset = 0.0f;
};

// Routed experts of DeepSeek V4.1.
inline constexpr Swiglu kDeepSeekSwiglu = {};
// gpt-oss and MiniMax M3.
inline constexpr Swiglu kGptOssSwiglu = {7.0f, 1.702f, 1.0f};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_SWIGLU_H_
