#ifndef LANEWISE_HIP_DEVICE_SHARED_ACTIVATION_H_
#define LANEWISE_HIP_DEVICE_SHARED_ACTIVATION_H_

// Device code: the gated activation of the shared expert, every bit of
// reference::ActivateSharedExpert. It needs no approximate instruction: exp is computed in
// binary64, which gfx942 has at the rate of float32, and the division is IEEE's.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/round_to_bf16.h"
#include "semantics/swiglu.h"

namespace lanewise::device {

// The float32 nearest to e^x, subnormals made, but for about one x in 2^27 where that lies within
// 2^-52 of a tie between two: reference::Exp. NaN may give anything.
__device__ inline float Exp(float x) {
  // Past both ends the result is 0 or infinity like at them.
  const double wide = __builtin_amdgcn_fmed3f(x, -105.0f, 89.0f);
  // x = n ln 2 + r, |r| <= ln 2 / 2; ln 2 in two parts, the first short enough for n times it to be
  // exact.
  const double n = __builtin_rint(wide * 0x1.71547652b82fep+0);
  double r = __builtin_fma(n, -0x1.62e42fefap-1, wide);
  r = __builtin_fma(n, -0x1.cf79abc9e3b3ap-40, r);
  // 1 / 13! down to 1 / 0!: the next term would be below 2^-57 of the sum.
  constexpr double kInverseFactorials[] = {1.0 / 6227020800,
                                           1.0 / 479001600,
                                           1.0 / 39916800,
                                           1.0 / 3628800,
                                           1.0 / 362880,
                                           1.0 / 40320,
                                           1.0 / 5040,
                                           1.0 / 720,
                                           1.0 / 120,
                                           1.0 / 24,
                                           1.0 / 6,
                                           0.5,
                                           1.0,
                                           1.0};
  double sum = 0;
#pragma unroll
  for (const double factor : kInverseFactorials) sum = __builtin_fma(sum, r, factor);
  return static_cast<float>(__builtin_amdgcn_ldexp(sum, static_cast<int>(n)));
}

// y as bf16 widened. gate and up are bf16 numbers, widened too.
__device__ inline float ActivateSharedExpert(const Swiglu& swiglu, float gate, float up) {
  if (gate != gate || up != up) return __builtin_nanf("");
  const float g = swiglu.limit < gate ? swiglu.limit : gate;
  const float u = up < -swiglu.limit ? -swiglu.limit : swiglu.limit < up ? swiglu.limit : up;
  const float a = RoundedToBf16(g / (1.0f + Exp(-(swiglu.alpha * g))));
  return RoundedToBf16(a * (u + swiglu.up_offset));
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_SHARED_ACTIVATION_H_
