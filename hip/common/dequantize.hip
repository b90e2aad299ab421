// MXFP8 and MXFP4 back to numbers. A work-item makes 16 bytes of bf16 or float32, so a wave's store
// is 1 KiB without a gap.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/dequantize_block.h"
#include "hip/device/quantizer.h"

namespace lanewise::device {
namespace {

typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

template <int kBytes>
__device__ uint64_t Load(const uint8_t* from) {
  if constexpr (kBytes == 2) return *reinterpret_cast<const uint16_t*>(from);
  if constexpr (kBytes == 4) return *reinterpret_cast<const uint32_t*>(from);
  return *reinterpret_cast<const uint64_t*>(from);
}

// `blocks` blocks of 32, `blocks_per_row` a row; a code serves `rows_per_code` rows, 1 or 32.
template <bool kBf16, ElementFormat kFormat>
__device__ void DequantizeRows(const uint8_t* elements, const uint8_t* codes, uint8_t* out,
                               uint32_t blocks, uint32_t blocks_per_row, uint32_t rows_per_code) {
  constexpr int kCount = kBf16 ? 8 : 4;
  constexpr uint32_t kItemsPerBlock = hip::kBlockSize / kCount;
  constexpr int kElementBits = FormatTraits<kFormat>::kBits;
  constexpr int kLoadBytes = kCount * kElementBits / 8;
  const uint32_t item = blockIdx.x * 256 + threadIdx.x;
  const uint32_t block = item / kItemsPerBlock;
  if (block >= blocks) return;

  uint32_t at = block;
  if (rows_per_code != 1) {
    const uint32_t row = block / blocks_per_row;
    at = row / rows_per_code * blocks_per_row + (block - row * blocks_per_row);
  }
  const uint32_t code = codes[at];
  const uint64_t bits = Load<kLoadBytes>(elements + uint64_t{item} * kLoadBytes);
  float value[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    value[i] = Dequantize<kFormat>(static_cast<uint32_t>(bits >> (i * kElementBits)), code);
  }
  Uint4 result;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if constexpr (kBf16) {
      result[i] = ToBf16(value[2 * i]) | ToBf16(value[2 * i + 1]) << 16;
    } else {
      result[i] = BitsOf(value[i]);
    }
  }
  reinterpret_cast<Uint4*>(out)[item] = result;
}

}  // namespace
}  // namespace lanewise::device

#define LANEWISE_DEQUANTIZE(name, is_bf16, format)                                       \
  extern "C" __global__ void __launch_bounds__(256)                                      \
      name(const uint8_t* elements, const uint8_t* codes, uint8_t* out, uint32_t blocks, \
           uint32_t blocks_per_row, uint32_t rows_per_code) {                            \
    lanewise::device::DequantizeRows<is_bf16, lanewise::ElementFormat::format>(          \
        elements, codes, out, blocks, blocks_per_row, rows_per_code);                    \
  }

LANEWISE_DEQUANTIZE(DequantizeE4m3FnToBf16, true, kE4m3Fn)
LANEWISE_DEQUANTIZE(DequantizeE4m3FnuzToBf16, true, kE4m3Fnuz)
LANEWISE_DEQUANTIZE(DequantizeE2m1ToBf16, true, kE2m1)
LANEWISE_DEQUANTIZE(DequantizeE4m3FnToF32, false, kE4m3Fn)
LANEWISE_DEQUANTIZE(DequantizeE4m3FnuzToF32, false, kE4m3Fnuz)
LANEWISE_DEQUANTIZE(DequantizeE2m1ToF32, false, kE2m1)
