#ifndef LANEWISE_HIP_GFX942_SWIGLU_H_
#define LANEWISE_HIP_GFX942_SWIGLU_H_

// The gated activation between an expert's two GEMVs, as data for host and device. With a rounding
// to float32 after every operation:
//
//   g = min(gate, limit)       u = clamp(up, -limit, limit)       t = alpha * g
//   routed experts:  y = bf16((g * rcp(1 + exp2(-t * log2e))) * (u + up_offset))
//   shared expert:   y = bf16(bf16(g / (1 + exp(-t))) * (u + up_offset))
//
// It is reference/gemm/activation.h's Swiglu. In routed experts gate and up are float32 sums and
// exp2 and rcp the chip's instructions, so y lies within that header's ActivationRange. In the
// shared expert gate and up are rounded to bf16, and y is every bit of ActivateSharedExpert. NaN in
// gate or up gives NaN.

namespace lanewise::hip::gfx942 {

// The limit is 0 or more and may be infinite; the others are finite.
struct Swiglu {
  float limit = 10.0f;
  float alpha = 1.0f;
  float up_offset = 0.0f;
};

// DeepSeek V4.1.
inline constexpr Swiglu kDeepSeekSwiglu = {};
// gpt-oss and MiniMax M3.
inline constexpr Swiglu kGptOssSwiglu = {7.0f, 1.702f, 1.0f};

}  // namespace lanewise::hip::gfx942

#endif  // LANEWISE_HIP_GFX942_SWIGLU_H_
