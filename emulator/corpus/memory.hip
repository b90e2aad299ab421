// The ways to memory: global, LDS, scratch, generic pointers, buffers, global-to-LDS loads.

#include <cstdint>

#include "hip/device.h"

typedef uint32_t Uint3 __attribute__((ext_vector_type(3)));
typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

// out [n][m] of in [m][n], 16 x 16 tiles through LDS with a column of padding.
extern "C" __global__ void Transpose(const float* in, float* out, uint32_t m, uint32_t n) {
  __shared__ float tile[16][17];
  const uint32_t row = blockIdx.y * 16 + threadIdx.y;
  const uint32_t column = blockIdx.x * 16 + threadIdx.x;
  if (row < m && column < n) tile[threadIdx.y][threadIdx.x] = in[row * n + column];
  __syncthreads();
  const uint32_t out_row = blockIdx.x * 16 + threadIdx.y;
  const uint32_t out_column = blockIdx.y * 16 + threadIdx.x;
  if (out_row < n && out_column < m) out[out_row * m + out_column] = tile[threadIdx.x][threadIdx.y];
}

// Loads and stores of every width.
extern "C" __global__ void Widths(const uint8_t* in, uint8_t* out) {
  const uint32_t i = threadIdx.x;
  const uint8_t* from = in + 64 * i;
  uint8_t* to = out + 64 * i;
  to[0] = from[1];
  reinterpret_cast<uint16_t*>(to)[1] = reinterpret_cast<const uint16_t*>(from)[2];
  reinterpret_cast<uint32_t*>(to)[1] = static_cast<uint32_t>(
      reinterpret_cast<const int8_t*>(from)[9] + reinterpret_cast<const int16_t*>(from)[5]);
  reinterpret_cast<uint64_t*>(to)[1] = reinterpret_cast<const uint64_t*>(from)[2];
  *reinterpret_cast<Uint3*>(to + 16) = *reinterpret_cast<const Uint3*>(from + 32) + 1u;
  *reinterpret_cast<Uint4*>(to + 32) = *reinterpret_cast<const Uint4*>(from + 48) ^ 0x55u;
  to[1] = 0x11;
  for (int j = 28; j < 32; ++j) to[j] = from[j];
  for (int j = 48; j < 64; ++j) to[j] = static_cast<uint8_t>(from[j] + from[j - 48]);
}

namespace {

// A generic pointer: the callee does not know which memory it is.
__device__ __attribute__((noinline)) int SumOf(const int* values, int n) {
  int sum = 0;
  for (int j = 0; j < n; ++j) sum += values[j];
  return sum;
}

}  // namespace

extern "C" __global__ void GenericPointers(const int* in, int* out) {
  __shared__ int local[64];
  int own[4];
  local[threadIdx.x] = in[threadIdx.x] * 2;
  for (int j = 0; j < 4; ++j) own[j] = in[(threadIdx.x + static_cast<uint32_t>(j)) % 64] + j;
  __syncthreads();
  const int* pointers[3] = {in, local, own};
  out[threadIdx.x] = SumOf(pointers[threadIdx.x % 3], 4);
}

extern "C" __global__ void Buffers(uint32_t* in, uint32_t* out, uint32_t bytes) {
  const auto from = __builtin_amdgcn_make_buffer_rsrc(in, 0, static_cast<int>(bytes), 0x00020000);
  const auto to = __builtin_amdgcn_make_buffer_rsrc(out, 0, 64 * 8, 0x00020000);
  const int offset = static_cast<int>(8 * threadIdx.x);
  // Past `bytes` a load gives 0; stores past the end are dropped.
  const uint32_t a = __builtin_amdgcn_raw_buffer_load_b32(from, offset, 0, 0);
  const uint32_t b = __builtin_amdgcn_raw_buffer_load_b32(from, offset, 4, 0);
  __builtin_amdgcn_raw_buffer_store_b32(a + 1, to, offset, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(b + 2, to, offset + 4, 0, 0);
  __builtin_amdgcn_raw_buffer_store_b32(b, to, offset + 512, 0, 0);
}

// Four bytes a lane straight to LDS, read back rotated by a lane.
extern "C" __global__ void GlobalToLds(uint32_t* in, uint32_t* out) {
  __shared__ uint32_t local[64];
  __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) uint32_t*)(in + threadIdx.x),
                                   (__attribute__((address_space(3))) uint32_t*)local, 4, 0, 0);
  __syncthreads();
  out[threadIdx.x] = local[(threadIdx.x + 1) % 64];
}
