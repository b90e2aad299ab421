// Integers of 8 to 64 bits, floats of 16 to 64 bits, and conversions between them.

#include <cstdint>

#include "hip/device.h"

typedef _Float16 Half2 __attribute__((ext_vector_type(2)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));
typedef float Float2 __attribute__((ext_vector_type(2)));
typedef __bf16 Bf162 __attribute__((ext_vector_type(2)));

extern "C" __global__ void Integers64(const int64_t* a, const int64_t* b, int64_t* out) {
  const uint32_t i = threadIdx.x;
  const int64_t x = a[i];
  const int64_t y = b[i];
  int64_t* o = out + 12 * i;
  o[0] = x + y;
  o[1] = x - y;
  o[2] = x * y;
  o[3] = x / y;
  o[4] = x % y;
  o[5] = static_cast<int64_t>(static_cast<uint64_t>(x) / static_cast<uint64_t>(y));
  o[6] = static_cast<int64_t>(static_cast<uint64_t>(x) << (y & 63));
  o[7] = x >> (y & 63);
  o[8] = static_cast<int64_t>(static_cast<uint64_t>(x) >> (y & 63));
  o[9] = (x < y) + 2 * (static_cast<uint64_t>(x) < static_cast<uint64_t>(y)) + 4 * (x == y);
  o[10] = (x & y) ^ (x | ~y);
  o[11] = __builtin_popcountll(static_cast<uint64_t>(x)) +
          100 * __builtin_clzll(static_cast<uint64_t>(x) | 1) +
          10000 * __builtin_ctzll(static_cast<uint64_t>(y) | (1ull << 63));
}

extern "C" __global__ void Integers32(const int* a, const int* b, int* out) {
  const uint32_t i = threadIdx.x;
  const int x = a[i];
  const int y = b[i];
  const auto ux = static_cast<uint32_t>(x);
  const auto uy = static_cast<uint32_t>(y);
  int* o = out + 12 * i;
  o[0] = static_cast<int>(ux * uy);
  o[1] = static_cast<int>((static_cast<uint64_t>(ux) * uy) >> 32);
  o[2] = static_cast<int>((static_cast<int64_t>(x) * y) >> 32);
  o[3] = y == 0 || (y == -1) ? 7 : x / y;
  o[4] = uy == 0 ? 7 : static_cast<int>(ux % uy);
  o[5] = static_cast<int>(__builtin_bitreverse32(ux)) ^ __builtin_popcount(uy);
  o[6] = static_cast<int>((ux << (y & 31)) | (ux >> ((32 - (y & 31)) & 31)));
  o[7] = x < y ? x : y;
  o[8] = static_cast<int>(ux > uy ? ux : uy);
  o[9] = (static_cast<int8_t>(x) * static_cast<int8_t>(y)) + static_cast<int16_t>(x >> 8);
  o[10] =
      static_cast<int>((ux & 0xff) + ((uy >> 8) & 0xff) * 3 + ((ux >> 16) & 0xff) * 5 + (uy >> 24));
  o[11] = __builtin_clz(ux | 1) * 100 + __builtin_ctz(uy | 0x80000000u) + (x >> 31);
}

extern "C" __global__ void Floats(const float* a, const float* b, const float* c, float* out) {
  const uint32_t i = threadIdx.x;
  const float x = a[i];
  const float y = b[i];
  const float z = c[i];
  float* o = out + 14 * i;
  o[0] = x + y;
  o[1] = x * y - z;
  o[2] = __builtin_fmaf(x, y, z);
  o[3] = x / y;
  o[4] = __builtin_sqrtf(__builtin_fabsf(x));
  o[5] = __builtin_floorf(x) + __builtin_ceilf(y) + __builtin_truncf(z) + __builtin_rintf(x);
  o[6] = __builtin_fminf(x, y) - __builtin_fmaxf(y, z);
  o[7] = static_cast<float>(static_cast<int>(x)) +
         static_cast<float>(static_cast<uint32_t>(__builtin_fabsf(y)));
  o[8] = __builtin_copysignf(x, y) * -__builtin_fabsf(z);
  o[9] = x < y ? (x <= z ? 1.0f : 2.0f) : (y != z ? 3.0f : 4.0f);
  o[10] = __builtin_ldexpf(x, static_cast<int>(threadIdx.x % 40) - 20);
  o[11] = __builtin_amdgcn_fmed3f(x, y, z);
  o[12] = __builtin_isnan(x) ? -1.0f : __builtin_isinf(y) ? -2.0f : 0.0f;
  o[13] = static_cast<float>(static_cast<int64_t>(x * 1000000.0f));
}

extern "C" __global__ void Doubles(const double* a, const double* b, double* out) {
  const uint32_t i = threadIdx.x;
  const double x = a[i];
  const double y = b[i];
  double* o = out + 8 * i;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = x / y;
  o[3] = __builtin_fma(x, y, -x);
  o[4] = __builtin_sqrt(__builtin_fabs(x));
  o[5] = __builtin_floor(x) + __builtin_trunc(y);
  o[6] = static_cast<double>(static_cast<int>(x)) + static_cast<double>(static_cast<float>(y));
  o[7] = x < y ? __builtin_fmin(x, y) : __builtin_fmax(x, y);
}

extern "C" __global__ void Halves(const Half2* a, const Half2* b, const Half2* c, Half2* out) {
  const uint32_t i = threadIdx.x;
  const Half2 x = a[i];
  const Half2 y = b[i];
  const Half2 z = c[i];
  Half2* o = out + 6 * i;
  o[0] = x + y;
  o[1] = x * y;
  o[2] = __builtin_elementwise_fma(x, y, z);
  o[3] = __builtin_elementwise_max(x, -y);
  o[4] = Half2{static_cast<_Float16>(static_cast<float>(x.y) * 0.5f), x.x - z.y};
  o[5] = Half2{x.x < y.x ? x.y : y.y, static_cast<_Float16>(static_cast<int16_t>(x.x))};
}

extern "C" __global__ void PackedFloats(const Float2* a, const Float2* b, Float2* out) {
  const uint32_t i = threadIdx.x;
  const Float2 x = a[i];
  const Float2 y = b[i];
  Float2* o = out + 4 * i;
  o[0] = x + y;
  o[1] = x * y.yx;
  o[2] = __builtin_elementwise_fma(x, y, -x);
  o[3] = x * 3.0f + y.xx;
}

// bf16: widening is a shift, narrowing rounds to nearest even.
extern "C" __global__ void Bf16s(const __bf16* a, const float* b, __bf16* out) {
  const uint32_t i = threadIdx.x;
  const float x = static_cast<float>(a[i]);
  out[2 * i] = static_cast<__bf16>(x + b[i]);
  out[2 * i + 1] = static_cast<__bf16>(b[i]);
}

// fp8 and bf8 of the chip: pairs to bytes, bytes to floats.
extern "C" __global__ void Fp8s(const float* in, uint32_t* packed, float* back) {
  const uint32_t i = threadIdx.x;
  int bytes = __builtin_amdgcn_cvt_pk_fp8_f32(in[4 * i], in[4 * i + 1], 0, false);
  bytes = __builtin_amdgcn_cvt_pk_fp8_f32(in[4 * i + 2], in[4 * i + 3], bytes, true);
  packed[i] = static_cast<uint32_t>(bytes);
  back[8 * i] = __builtin_amdgcn_cvt_f32_fp8(bytes, 0);
  back[8 * i + 1] = __builtin_amdgcn_cvt_f32_fp8(bytes, 1);
  back[8 * i + 2] = __builtin_amdgcn_cvt_f32_fp8(bytes, 2);
  back[8 * i + 3] = __builtin_amdgcn_cvt_f32_fp8(bytes, 3);
  const Float2 low = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, false);
  const Float2 high = __builtin_amdgcn_cvt_pk_f32_fp8(bytes, true);
  back[8 * i + 4] = low.x;
  back[8 * i + 5] = low.y;
  back[8 * i + 6] = high.x;
  back[8 * i + 7] = high.y;
}
