#ifndef LANEWISE_REFERENCE_GEMM_ACTIVATION_H_
#define LANEWISE_REFERENCE_GEMM_ACTIVATION_H_

// The gated activations (SwiGLU) between the two GEMMs of an expert.

#include "formats/formats.h"
#include "semantics/swiglu.h"

namespace lanewise::reference {

// With fl() rounding to float32 after every operation:
//   g = min(gate, limit)       u = clamp(up, -limit, limit)       t = fl(alpha * g)
//   y = bf16(fl(fl(g * rcp(fl(1 + exp2(fl(-t * log2e))))) * fl(u + up_offset)))
// with log2e = 0x3FB8AA3B. exp2 and rcp are hardware_math.h's. A NaN gate or up gives NaN.
Bf16 Activate(const Swiglu& swiglu, float gate, float up);

// What y may be where exp2 and rcp are each within kApproximationUlps of the nearest float32 and
// may flush subnormal results: every result lies between low and high, which are NaN where Activate
// is.
struct Bf16Range {
  Bf16 low;
  Bf16 high;

  bool Contains(Bf16 y) const;
};
Bf16Range ActivationRange(const Swiglu& swiglu, float gate, float up);

// The shared expert, which rounds on the way: gate and up are bf16 already,
//   g = min(gate, limit)      u = clamp(up, -limit, limit)       t = fl(alpha * g)
//   a = bf16(fl(g / fl(1 + exp(-t))))      y = bf16(fl(a * fl(u + up_offset)))
// exp is hardware_math.h's Exp; the division is IEEE's. A NaN gate or up gives NaN, and so does a
// gate of -infinity. With kDeepSeekSwiglu it is the shared expert of DeepSeek V4.1. That MiniMax
// M3's has kGptOssSwiglu's numbers and rounds at the same places is this project's choice: for
// gfx942 there is no source.
Bf16 ActivateSharedExpert(const Swiglu& swiglu, Bf16 gate, Bf16 up);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_ACTIVATION_H_
