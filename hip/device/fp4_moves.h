#ifndef LANEWISE_HIP_DEVICE_FP4_MOVES_H_
#define LANEWISE_HIP_DEVICE_FP4_MOVES_H_

// Device code that turns packed FP4 into FP8 without a conversion instruction, which gfx942 lacks.
//
// The three value bits of an e2m1 nibble, moved to bits 4..2 of an e4m3fnuz byte, read as the value
// times 2^-7 (the biases are 1 and 8, and the subnormal 0.5 becomes 2^-8, FNUZ's own subnormal);
// the sign goes to bit 7. So a scale code grows by kFp4CodeOffset. Nibble 0x8, -0, would become
// 0x80, which is FNUZ's NaN: prepared weights have none (seed 000, fp4_drop_negative_zero_).
//
// A dword's even nibbles come out together, then its odd ones, so the eight bytes lie as K 0 2 4 6
// 1 3 5 7. The activations of a matrix instruction have to lie alike (the order that the layouts
// call chunk_q).

#include <cstdint>

#include "hip/device.h"

namespace lanewise::device {

// What a scale code has to grow by for bytes of FnuzOfFp4.
inline constexpr int kFp4CodeOffset = 7;

// The eight values of a dword times 2^-7, one FNUZ byte each.
struct FnuzBytes {
  uint32_t even;  // K 0, 2, 4, 6, the first in the lowest byte
  uint32_t odd;   // K 1, 3, 5, 7
};

__device__ inline FnuzBytes FnuzOfFp4(uint32_t packed) {
  constexpr uint32_t kValues = 0x1C1C1C1C;
  constexpr uint32_t kSigns = 0x80808080;
  return {((packed << 2) & kValues) | ((packed << 4) & kSigns),
          ((packed >> 2) & kValues) | (packed & kSigns)};
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_FP4_MOVES_H_
