// shared_activation.h as a kernel uses it.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/shared_activation.h"

extern "C" __global__ void __launch_bounds__(256)
    Exponentials(const float* x, float* out, uint32_t count) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) out[i] = lanewise::device::Exp(x[i]);
}

extern "C" __global__ void __launch_bounds__(256)
    Activate(const uint16_t* gate, const uint16_t* up, uint16_t* y, uint32_t count,
             lanewise::Swiglu swiglu) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  y[i] = lanewise::device::Bf16Of(lanewise::device::ActivateSharedExpert(
      swiglu, lanewise::device::LowBf16(gate[i]), lanewise::device::LowBf16(up[i])));
}
