#ifndef LANEWISE_HIP_DEVICE_SCALE_ADD_H_
#define LANEWISE_HIP_DEVICE_SCALE_ADD_H_

// Device code that joins a block's dot product to the sum over blocks, exactly as the reference:
//
//   acc = RNE32(acc + d * 2^e)          e = cw + cx - 254 and whatever else the bytes need
//
// the product exact for every pair of E8M0 codes, so that the sum rounds once. Subnormals are made,
// overflow is Inf, a code of 255 makes NaN, an exactly zero sum is +0 (the matrix core gives no d
// of -0).
//
// Bits of an exponent field, (cw + cx - 127) << 23, are such a factor only for sums of codes from
// 128 to 381. Here those have the fast way, one fused multiply-add an element behind a factor of
// two instructions:
//
//   if (AllLanes(AreOrdinary(w_codes, x_codes))) {           // the four blocks of a dword of codes
//     acc = ScaleAdd(acc, d, OrdinaryFactor(ByteOf(w_codes, b) + ByteOf(x_codes, b)));
//   } else {                                                 // any codes: one multiplication more
//     acc = ScaleAdd(acc, d, FactorOf(ByteOf(w_codes, b), ByteOf(x_codes, b)));
//   }
//
// d is +0, Inf, NaN, or 2^-32 <= |d| < 2^32: a block of FP8 or FP4 products is a multiple of 2^-20
// below 2^21. (The fast way takes any d.)
//
// Its judge is AddScaled of reference/exact/rounding.h. float32 denormals have to be kept in MODE,
// as compilers for AMD do by default.

#include <cstdint>

#include "hip/device.h"

namespace lanewise::device {

typedef float Float4 __attribute__((ext_vector_type(4)));

// A power of two as the product of two normal ones, about its square roots; or NaN.
struct ScaleFactor {
  float first;
  float second;
};

__device__ inline uint32_t ByteOf(uint32_t dword, int index) {
  return (dword >> (8 * index)) & 255;
}

// Whether each of four pairs of codes, byte by byte, surely has a sum from 128 to 381: w's bytes
// are in [64, 190] and x's in [64, 191]. Bytes from 64 to 191 are those whose two upper bits
// differ.
__device__ inline bool AreOrdinary(uint32_t w_codes, uint32_t x_codes) {
  // A carry out of a byte of 255 leaves 0 there, which is refused whatever it does to the next.
  const uint32_t w_after = w_codes + 0x01010101;
  const uint32_t differ =
      (w_codes ^ (w_codes << 1)) & (w_after ^ (w_after << 1)) & (x_codes ^ (x_codes << 1));
  return (differ & 0x80808080) == 0x80808080;
}

// 2^(sum - 254), of a sum of codes (and offsets) from 128 to 381.
__device__ inline float OrdinaryFactor(uint32_t sum) {
  return __builtin_bit_cast(float, (sum - 127) << 23);
}

// 2^exponent, for any exponent; as far as sums can tell: beyond 164 every product passes float32 by
// more than any finite accumulator brings back (2^-32 * 2^164 = 2^132), below -184 every product is
// less than half of the smallest subnormal (2^32 * 2^-184 = 2^-152).
__device__ inline ScaleFactor FactorOf(int exponent) {
  exponent = exponent < -184 ? -184 : exponent > 164 ? 164 : exponent;
  const int half = exponent >> 1;
  return {__builtin_bit_cast(float, static_cast<uint32_t>(half + 127) << 23),
          __builtin_bit_cast(float, static_cast<uint32_t>(exponent - half + 127) << 23)};
}

// 2^(w_code + x_code - 254 + offset), NaN where a code is 255.
__device__ inline ScaleFactor FactorOf(uint32_t w_code, uint32_t x_code, int offset = 0) {
  ScaleFactor factor = FactorOf(static_cast<int>(w_code + x_code) - 254 + offset);
  if (w_code == 255 || x_code == 255) factor.second = __builtin_nanf("");
  return factor;
}

// RNE32(acc + d * factor). The product by a ScaleFactor's first half is a normal number, from
// 2^-124 to 2^114, and so keeps d's bits; the second is exact within the fused operation.
__device__ inline float ScaleAdd(float acc, float d, float factor) {
  return __builtin_fmaf(d, factor, acc);
}
__device__ inline float ScaleAdd(float acc, float d, ScaleFactor factor) {
  return __builtin_fmaf(d * factor.first, factor.second, acc);
}

namespace internal {

typedef float Float2 __attribute__((ext_vector_type(2)));

// `x` in both registers of a pair, for packed instructions. Left to itself the compiler names a
// pair whose other register is anything's, for instance an awaited load's, and then waits for that.
__device__ inline Float2 Pair(float x) {
  Float2 pair = {x, x};
#if defined(__AMDGCN__)
  asm("" : "+v"(pair));
#endif
  return pair;
}

__device__ inline Float4 FusedMultiplyAdd(Float4 a, float b, Float4 c) {
  const Float2 both = Pair(b);
  const Float2 low = __builtin_elementwise_fma(a.xy, both, c.xy);
  const Float2 high = __builtin_elementwise_fma(a.zw, both, c.zw);
  return {low.x, low.y, high.x, high.y};
}

}  // namespace internal

// The same for the four rows that a lane holds of a 16x16 result.
__device__ inline Float4 ScaleAdd(Float4 acc, Float4 d, float factor) {
  return internal::FusedMultiplyAdd(d, factor, acc);
}
__device__ inline Float4 ScaleAdd(Float4 acc, Float4 d, ScaleFactor factor) {
  const internal::Float2 first = internal::Pair(factor.first);
  const internal::Float2 low = d.xy * first;
  const internal::Float2 high = d.zw * first;
  return internal::FusedMultiplyAdd({low.x, low.y, high.x, high.y}, factor.second, acc);
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_SCALE_ADD_H_
