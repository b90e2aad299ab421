// FnuzOfFp4 on an array, for fp4_moves_test.cc.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/fp4_moves.h"

// Dword i is (first + i) * multiplier.
extern "C" __global__ void __launch_bounds__(256)
    MoveFp4(uint32_t first, uint32_t multiplier, uint32_t* even, uint32_t* odd) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  const auto bytes = lanewise::device::FnuzOfFp4((first + i) * multiplier);
  even[i] = bytes.even;
  odd[i] = bytes.odd;
}
