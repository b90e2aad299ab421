// C = A B^T by matrix instructions, tiles through LDS.

#include <cstdint>

#include "hip/device.h"

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef float Float16 __attribute__((ext_vector_type(16)));
typedef short Short4 __attribute__((ext_vector_type(4)));
typedef __bf16 Bf168 __attribute__((ext_vector_type(8)));
typedef int Int8 __attribute__((ext_vector_type(8)));

// A [16][k], B [16][k] fp8, C [16][16]; one wave, k a multiple of 32.
extern "C" __global__ void MultiplyFp8(const uint8_t* a, const uint8_t* b, float* c, uint32_t k) {
  __shared__ long tiles[2][64];
  const uint32_t lane = threadIdx.x;
  Float4 sum = {0, 0, 0, 0};
  for (uint32_t step = 0; step < k; step += 32) {
    // Each lane brings 8 bytes of a row: row lane / 4, bytes 8 (lane % 4).
    const uint32_t from = (lane / 4) * k + step + 8 * (lane % 4);
    tiles[0][lane] = *reinterpret_cast<const long*>(a + from);
    tiles[1][lane] = *reinterpret_cast<const long*>(b + from);
    __syncthreads();
    // And takes the 8 bytes of row lane % 16 that begin at k 8 (lane / 16).
    const uint32_t take = 4 * (lane % 16) + lane / 16;
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(tiles[0][take], tiles[1][take], sum, 0, 0, 0);
    __syncthreads();
  }
  for (uint32_t r = 0; r < 4; ++r) c[16 * (4 * (lane / 16) + r) + lane % 16] = sum[r];
}

// A [32][k], B [32][k] bf16, C [32][32]; one wave, k a multiple of 16.
extern "C" __global__ void MultiplyBf16(const uint16_t* a, const uint16_t* b, float* c,
                                        uint32_t k) {
  const uint32_t lane = threadIdx.x;
  Float16 sum = {};
#if defined(__gfx950__)
  for (uint32_t step = 0; step < k; step += 16) {
    const uint32_t from = (lane % 32) * k + step + 8 * (lane / 32);
    const Bf168 left = *reinterpret_cast<const Bf168*>(a + from);
    const Bf168 right = *reinterpret_cast<const Bf168*>(b + from);
    sum = __builtin_amdgcn_mfma_f32_32x32x16_bf16(left, right, sum, 0, 0, 0);
  }
#else
  for (uint32_t step = 0; step < k; step += 8) {
    const uint32_t from = (lane % 32) * k + step + 4 * (lane / 32);
    const Short4 left = *reinterpret_cast<const Short4*>(a + from);
    const Short4 right = *reinterpret_cast<const Short4*>(b + from);
    sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(left, right, sum, 0, 0, 0);
  }
#endif
  for (uint32_t r = 0; r < 16; ++r) {
    c[32 * (8 * (r / 4) + 4 * (lane / 32) + r % 4) + lane % 32] = sum[r];
  }
}

#if defined(__gfx950__)
// One scaled instruction: A [16][128] e4m3, B [16][128] e2m1 in nibbles, a scale code for each 32 k.
extern "C" __global__ void MultiplyScaled(const uint8_t* a, const uint8_t* b,
                                          const uint8_t* a_codes, const uint8_t* b_codes,
                                          float* c) {
  const uint32_t lane = threadIdx.x;
  const uint32_t row = lane % 16;
  const uint32_t quarter = lane / 16;
  Int8 left = {}, right = {};
  for (uint32_t word = 0; word < 8; ++word) {
    // Byte 16 h + j of lane 16 q + i is A[i][64 h + 16 q + j].
    left[word] = *reinterpret_cast<const int*>(a + 128 * row + 64 * (word / 4) + 16 * quarter +
                                               4 * (word % 4));
  }
  for (uint32_t word = 0; word < 4; ++word) {
    right[word] = *reinterpret_cast<const int*>(b + 64 * row + 16 * quarter + 4 * word);
  }
  Float4 sum = {0, 0, 0, 0};
  // The codes stand in bytes 1 and 2 of their registers.
  const int a_scale = a_codes[4 * row + quarter] << 8;
  const int b_scale = b_codes[4 * row + quarter] << 16;
  sum = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(left, right, sum, 0, 4, 1, a_scale, 2,
                                                         b_scale);
  for (uint32_t r = 0; r < 4; ++r) c[16 * (4 * quarter + r) + row] = sum[r];
}
#endif
