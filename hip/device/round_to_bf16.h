#ifndef LANEWISE_HIP_DEVICE_ROUND_TO_BF16_H_
#define LANEWISE_HIP_DEVICE_ROUND_TO_BF16_H_

// Device code: float32 to bf16 as reference::RoundToBf16 does it, and back.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/quantize_block.h"

namespace lanewise::device {

// Nearest-even; NaN as 0x7FC0.
__device__ inline uint16_t Bf16Of(float x) {
  const uint32_t bits = BitsOf(x);
  if (x != x) return 0x7FC0;
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
__device__ inline float RoundedToBf16(float x) { return FloatOf(uint32_t{Bf16Of(x)} << 16); }

// The numbers of a dword of two bf16.
__device__ inline float LowBf16(uint32_t pair) { return FloatOf(pair << 16); }
__device__ inline float HighBf16(uint32_t pair) { return FloatOf(pair & 0xFFFF0000); }

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_ROUND_TO_BF16_H_
