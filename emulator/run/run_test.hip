// Kernels for the test of the command.

#include <cstdint>

#include "hip/device.h"

extern "C" __global__ void Doubles(const uint32_t* in, uint32_t* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i];
}

extern "C" __global__ void NeverEnds(uint32_t* out) {
  for (;;) *const_cast<volatile uint32_t*>(out) += 1;
}
