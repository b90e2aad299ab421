// Atomics of memory and LDS, and workgroups that wait for one another.

#include <cstdint>

#include "hip/device.h"

extern "C" __global__ void __launch_bounds__(256)
    Histogram(const uint8_t* in, uint32_t* bins, uint32_t n) {
  __shared__ uint32_t local[64];
  if (threadIdx.x < 64) local[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    atomicAdd(&local[in[i] % 64], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

// Each work-item takes a ticket.
extern "C" __global__ void Tickets(uint32_t* counter, uint32_t* out) {
  const uint32_t ticket = atomicAdd(counter, 1u);
  out[ticket] = blockIdx.x * blockDim.x + threadIdx.x;
}

extern "C" __global__ void FloatSum(const float* in, float* sum) {
  atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

extern "C" __global__ void MaxByCompareAndSwap(const int* in, int* top) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  int seen = __hip_atomic_load(top, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  while (seen < value) {
    if (__hip_atomic_compare_exchange_weak(top, &seen, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                           __HIP_MEMORY_SCOPE_AGENT)) {
      break;
    }
  }
}

extern "C" __global__ void Bits64(const uint64_t* in, uint64_t* ored, uint64_t* added) {
  const uint64_t value = in[blockIdx.x * blockDim.x + threadIdx.x];
  __hip_atomic_fetch_or(ored, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add(added, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// A workgroup adds its own number to what its predecessor left, once that is there.
extern "C" __global__ void Chain(uint32_t* sums, uint32_t* flags) {
  if (threadIdx.x != 0) return;
  const uint32_t group = blockIdx.x;
  uint32_t before = 0;
  if (group > 0) {
    while (__hip_atomic_load(&flags[group - 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    }
    before = sums[group - 1];
  }
  sums[group] = before + group + 1;
  __hip_atomic_store(&flags[group], 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

// Every workgroup waits for all: the first ones must let the last ones start.
extern "C" __global__ void GridBarrier(uint32_t* arrived, uint32_t* out) {
  if (threadIdx.x != 0) return;
  __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
  while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x) {
    __builtin_amdgcn_s_sleep(1);
  }
  out[blockIdx.x] = blockIdx.x + 1;
}
