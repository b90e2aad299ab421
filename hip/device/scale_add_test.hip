// One sum a work-item, by each way that hip/device/scale_add.h has.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/scale_add.h"

using lanewise::device::AllLanes;
using lanewise::device::AreOrdinary;
using lanewise::device::ByteOf;
using lanewise::device::FactorOf;
using lanewise::device::OrdinaryFactor;
using lanewise::device::ScaleAdd;

// out = acc + d * 2^(w_code + x_code - 254 + offset), codes being bytes 0 and 1 of `codes`. `count`
// work-items.
extern "C" __global__ void AddByCodes(const float* acc, const float* d, const uint16_t* codes,
                                      float* out, int offset, uint32_t count) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  out[i] = ScaleAdd(acc[i], d[i], FactorOf(ByteOf(codes[i], 0), ByteOf(codes[i], 1), offset));
}

// The same by the fast way where the wave's codes allow it. taken[i] says which way it was.
extern "C" __global__ void AddAsKernelsDo(const float* acc, const float* d, const uint16_t* codes,
                                          float* out, uint8_t* taken, uint32_t count) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i >= count) return;
  const uint32_t w_code = ByteOf(codes[i], 0);
  const uint32_t x_code = ByteOf(codes[i], 1);
  const bool fast = AllLanes(AreOrdinary(w_code * 0x01010101, x_code * 0x01010101));
  if (fast) {
    out[i] = ScaleAdd(acc[i], d[i], OrdinaryFactor(w_code + x_code));
  } else {
    out[i] = ScaleAdd(acc[i], d[i], FactorOf(w_code, x_code));
  }
  taken[i] = fast ? 1 : 0;
}

// ordinary[i]: AreOrdinary of two dwords of codes.
extern "C" __global__ void Ordinary(const uint32_t* w_codes, const uint32_t* x_codes,
                                    uint8_t* ordinary, uint32_t count) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) ordinary[i] = AreOrdinary(w_codes[i], x_codes[i]) ? 1 : 0;
}
