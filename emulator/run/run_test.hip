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

// Each workgroup clears the next one's sum before all add to all sums, much later: what a grid that
// is on the device as a whole can rely on, more or less.
extern "C" __global__ void ClearsForOthers(float* sums) {
  if (threadIdx.x != 0) return;
  const uint32_t next = (blockIdx.x + 1) % gridDim.x;
  *const_cast<volatile float*>(&sums[next]) = 0;
  for (uint32_t i = 0; i < 3000; ++i) asm volatile("s_nop 0");
  for (uint32_t i = 0; i < gridDim.x; ++i) atomicAdd(&sums[i], 1.0f);
}

// Tickets in the order in which workgroups come.
extern "C" __global__ void TakesTickets(uint32_t* counter, uint32_t* tickets) {
  if (threadIdx.x == 0) tickets[blockIdx.x] = atomicAdd(counter, 1u);
}

// All wait for the last workgroup, looking at a flag.
extern "C" __global__ void WaitsForTheLast(uint32_t* flag, uint32_t* out) {
  if (blockIdx.x + 1 == gridDim.x) {
    __hip_atomic_store(flag, 7u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  uint32_t seen = 0;
  while (seen != 7) {
    seen = __hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  if (threadIdx.x == 0) out[blockIdx.x] = seen;
}
