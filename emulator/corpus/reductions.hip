// Sums and scans over a wave and over a workgroup.

#include <cstdint>

#include "hip/device.h"

namespace {

template <int kControl, int kRowMask>
__device__ float AddFrom(float value) {
  const int other = __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, value), kControl,
                                                kRowMask, 0xf, false);
  return value + __builtin_bit_cast(float, other);
}

// Lane 63 ends up with the sum of all lanes.
__device__ float WaveSumByDpp(float value) {
  value = AddFrom<0x111, 0xf>(value);  // row_shr 1, 2, 4, 8
  value = AddFrom<0x112, 0xf>(value);
  value = AddFrom<0x114, 0xf>(value);
  value = AddFrom<0x118, 0xf>(value);
  value = AddFrom<0x142, 0xa>(value);  // row_bcast 15, 31
  return AddFrom<0x143, 0xc>(value);
}

__device__ float WaveSumByPermute(float value) {
  const uint32_t lane = lanewise::device::LaneId();
  for (uint32_t step = 32; step > 0; step /= 2) {
    value += lanewise::device::FromLane(value, lane ^ step);
  }
  return value;
}

}  // namespace

extern "C" __global__ void SumByDpp(const float* in, float* out) {
  const uint32_t i = blockIdx.x * 64 + threadIdx.x;
  const float sum = WaveSumByDpp(in[i]);
  if (threadIdx.x == 63) out[blockIdx.x] = sum;
}

extern "C" __global__ void SumByPermute(const float* in, float* out) {
  const float sum = WaveSumByPermute(in[blockIdx.x * 64 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

extern "C" __global__ void SumByReadlane(const int* in, int* out) {
  int value = in[threadIdx.x];
  int sum = 0;
  for (int lane = 0; lane < 64; ++lane) sum += __builtin_amdgcn_readlane(value, lane);
  out[threadIdx.x] = sum - __builtin_amdgcn_readfirstlane(value);
}

extern "C" __global__ void __launch_bounds__(256)
    SumThroughLds(const float* in, float* out, uint32_t n) {
  __shared__ float partial[256];
  float sum = 0;
  for (uint32_t i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (uint32_t half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Inclusive prefix sum of one workgroup, in dynamic LDS.
extern "C" __global__ void PrefixSum(const int* in, int* out, uint32_t n) {
  extern __shared__ int values[];
  const uint32_t i = threadIdx.x;
  values[i] = i < n ? in[i] : 0;
  __syncthreads();
  for (uint32_t step = 1; step < blockDim.x; step *= 2) {
    const int left = i >= step ? values[i - step] : 0;
    __syncthreads();
    values[i] += left;
    __syncthreads();
  }
  if (i < n) out[i] = values[i];
}

// One workgroup a row; n columns.
extern "C" __global__ void __launch_bounds__(128) Softmax(const float* in, float* out, uint32_t n) {
  __shared__ float waves[2];
  const float* row = in + blockIdx.x * n;
  float top = -__builtin_inff();
  for (uint32_t i = threadIdx.x; i < n; i += 128) top = __builtin_fmaxf(top, row[i]);
  const uint32_t lane = lanewise::device::LaneId();
  for (uint32_t step = 32; step > 0; step /= 2) {
    top = __builtin_fmaxf(top, lanewise::device::FromLane(top, lane ^ step));
  }
  if (lane == 0) waves[threadIdx.x / 64] = top;
  __syncthreads();
  top = __builtin_fmaxf(waves[0], waves[1]);
  __syncthreads();
  float sum = 0;
  for (uint32_t i = threadIdx.x; i < n; i += 128) {
    sum += __builtin_amdgcn_exp2f((row[i] - top) * 1.44269504f);
  }
  sum = WaveSumByPermute(sum);
  if (lane == 0) waves[threadIdx.x / 64] = sum;
  __syncthreads();
  sum = waves[0] + waves[1];
  for (uint32_t i = threadIdx.x; i < n; i += 128) {
    out[blockIdx.x * n + i] = __builtin_amdgcn_exp2f((row[i] - top) * 1.44269504f) / sum;
  }
}
