// Rows to MXFP8 and MXFP4. A work-item loads 16 bytes, so a block of 32 bf16 lies in 4 lanes and a
// block of 32 floats in 8, and a wave's load is 1 KiB without a gap.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/quantize_block.h"
#include "hip/device/quantizer.h"

namespace lanewise::device {
namespace {

typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

// The 16 bytes of a lane as floats.
template <bool kBf16>
struct LaneValues {
  static constexpr int kCount = kBf16 ? 8 : 4;
  static constexpr int kLanesPerBlock = hip::kBlockSize / kCount;
  float value[kCount];

  __device__ explicit LaneValues(Uint4 bytes) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kBf16) {
        value[2 * i] = FloatOf(bytes[i] << 16);
        value[2 * i + 1] = FloatOf(bytes[i] & 0xFFFF0000);
      } else {
        value[i] = FloatOf(bytes[i]);
      }
    }
  }
};

// Stores the lowest kBytes of `value`.
template <int kBytes>
__device__ void Store(uint8_t* to, uint64_t value) {
  if constexpr (kBytes == 2) *reinterpret_cast<uint16_t*>(to) = static_cast<uint16_t>(value);
  if constexpr (kBytes == 4) *reinterpret_cast<uint32_t*>(to) = static_cast<uint32_t>(value);
  if constexpr (kBytes == 8) *reinterpret_cast<uint64_t*>(to) = value;
}

// `blocks` blocks, `blocks_per_row` a row; rows of x are `stride` bytes apart, those of the results
// have no gaps. A row's blocks without a gap to the next row's need no division.
template <bool kBf16, ElementFormat kFormat>
__device__ void Quantize(const uint8_t* x, uint8_t* elements, uint8_t* codes, uint32_t blocks,
                         uint32_t blocks_per_row, uint64_t stride, hip::Quantizer quantizer) {
  using Values = LaneValues<kBf16>;
  constexpr uint32_t kBlockBytes = hip::kBlockSize * (kBf16 ? 2 : 4);
  constexpr int kElementBits = FormatTraits<kFormat>::kBits;
  const uint32_t item = blockIdx.x * 256 + threadIdx.x;
  const uint32_t block = item / Values::kLanesPerBlock;
  const uint32_t part = item % Values::kLanesPerBlock;
  if (block >= blocks) return;

  uint64_t from = uint64_t{block} * kBlockBytes;
  if (stride != uint64_t{blocks_per_row} * kBlockBytes) {
    const uint32_t row = block / blocks_per_row;
    from = row * stride + uint64_t{block - row * blocks_per_row} * kBlockBytes;
  }
  const Values values(*reinterpret_cast<const Uint4*>(x + from + 16 * part));

  uint32_t amax = 0;
#pragma unroll
  for (const float value : values.value) amax = MaxMagnitude(amax, value);
  amax = MaxOverLanes<Values::kLanesPerBlock>(amax);
  const uint32_t code = BlockCode(amax, quantizer);
  const BlockEncoder<kFormat> encode(code, quantizer);
  uint64_t bits = 0;
#pragma unroll
  for (int i = 0; i < Values::kCount; i += 4) {
    bits |= uint64_t{encode.Four(values.value[i], values.value[i + 1], values.value[i + 2],
                                 values.value[i + 3])}
            << (i * kElementBits);
  }
  constexpr int kStoreBytes = Values::kCount * kElementBits / 8;
  Store<kStoreBytes>(elements + uint64_t{item} * kStoreBytes, bits);
  if (part == 0) codes[block] = static_cast<uint8_t>(code);
}

}  // namespace
}  // namespace lanewise::device

#define LANEWISE_QUANTIZE(name, is_bf16, format)                                           \
  extern "C" __global__ void __launch_bounds__(256)                                        \
      name(const uint8_t* x, uint8_t* elements, uint8_t* codes, uint32_t blocks,           \
           uint32_t blocks_per_row, uint64_t stride, lanewise::hip::Quantizer quantizer) { \
    lanewise::device::Quantize<is_bf16, lanewise::ElementFormat::format>(                  \
        x, elements, codes, blocks, blocks_per_row, stride, quantizer);                    \
  }

LANEWISE_QUANTIZE(QuantizeBf16ToE4m3Fn, true, kE4m3Fn)
LANEWISE_QUANTIZE(QuantizeBf16ToE4m3Fnuz, true, kE4m3Fnuz)
LANEWISE_QUANTIZE(QuantizeBf16ToE2m1, true, kE2m1)
LANEWISE_QUANTIZE(QuantizeF32ToE4m3Fn, false, kE4m3Fn)
LANEWISE_QUANTIZE(QuantizeF32ToE4m3Fnuz, false, kE4m3Fnuz)
LANEWISE_QUANTIZE(QuantizeF32ToE2m1, false, kE2m1)
