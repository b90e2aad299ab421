// Kernels whose counts are known beforehand.

#include <cstdint>

#include "hip/device.h"

// One load and one store of 4 bytes for each of n work-items, `stride` words apart.
extern "C" __global__ void Strided(const uint32_t* in, uint32_t* out, uint32_t stride, uint32_t n) {
  const uint32_t i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}

// One LDS read of 4 bytes for each lane, `stride` words apart.
extern "C" __global__ void StridedLds(const uint32_t* in, uint32_t* out, uint32_t stride) {
  __shared__ uint32_t local[4096];
  for (uint32_t i = threadIdx.x; i < 4096; i += 64) local[i] = in[i % 64];
  __syncthreads();
  out[threadIdx.x] = local[threadIdx.x * stride];
}

typedef float Float4 __attribute__((ext_vector_type(4)));

extern "C" __global__ void FourMatrixInstructions(const long* in, Float4* out) {
  Float4 sum = {0, 0, 0, 0};
  const long a = in[threadIdx.x];
  for (int i = 0; i < 4; ++i) {
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, a, sum, 0, 0, 0);
  }
  out[threadIdx.x] = sum;
}

extern "C" __global__ void OneAtomic(uint32_t* sum) { atomicAdd(sum, 1u); }

// A multiply-add chain: what the benchmark of vector instructions runs.
extern "C" __global__ void MultiplyAdd(const float* in, float* out, int n) {
  float a = in[threadIdx.x], b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < n; ++i) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      a = __builtin_fmaf(a, 0.5f, b);
      b = __builtin_fmaf(b, 0.25f, c);
      c = __builtin_fmaf(c, 0.125f, d);
      d = __builtin_fmaf(d, 0.5f, a);
    }
  }
  out[blockIdx.x * 64 + threadIdx.x] = a + b + c + d;
}
