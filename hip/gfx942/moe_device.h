#ifndef LANEWISE_HIP_GFX942_MOE_DEVICE_H_
#define LANEWISE_HIP_GFX942_MOE_DEVICE_H_

// Device code that the routed experts' two GEMVs share: quantizing into the operand's order, and
// the step of four blocks.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/fp4_moves.h"
#include "hip/device/loads.h"
#include "hip/device/quantize_block.h"
#include "hip/device/quantizer.h"
#include "hip/device/round_to_bf16.h"
#include "hip/device/scale_add.h"

namespace lanewise::device {

inline constexpr uint32_t kStepColumns = 128;
inline constexpr uint32_t kStepBlocks = 4;

// reference::gfx942::RoutedActivationOptions.
inline constexpr hip::Quantizer kRoutedQuantizer = {
    .rule = BlockRule::kRoundUp, .maximum = 224.0f, .amax_floor = 1e-10f, .smallest_code = 1};

// Eight K of a row and the code of their block, of which the four lanes side by side have a part
// each. Even K first.
struct QuantizedChunk {
  Uint2 bytes;
  uint32_t code;
};
__device__ inline QuantizedChunk QuantizeChunk(const float (&x)[8]) {
  uint32_t amax = 0;
#pragma unroll
  for (const float value : x) amax = MaxMagnitude(amax, value);
  const uint32_t code = BlockCode(MaxOverLanes<4>(amax), kRoutedQuantizer);
  const BlockEncoder<ElementFormat::kE4m3Fnuz> encode(code, kRoutedQuantizer);
  return {{encode.Four(x[0], x[2], x[4], x[6]), encode.Four(x[1], x[3], x[5], x[7])}, code};
}

// Where chunk `chunk` (8 K) of a quantized row is: moe_arguments.h.
__device__ inline uint32_t ChunkOffset(uint32_t chunk) {
  const uint32_t block = chunk / 4;
  return block / kStepBlocks * kStepColumns + 32 * (chunk % 4) + 8 * (block % kStepBlocks);
}

// A lane's part of a row's step: blocks 0 and 1, then 2 and 3.
struct StepActivation {
  Uint4 half[2];
};

// 2^(w_code + 7 + x_code - 254), NaN where a code is 255. Without comparisons: each would hold two
// scalar registers, and there are many at a time.
__device__ inline ScaleFactor Fp4FactorOf(uint32_t w_code, uint32_t x_code) {
  ScaleFactor factor = FactorOf(static_cast<int>(w_code + x_code) - 254 + kFp4CodeOffset);
  const uint32_t is_nan = ((w_code + 1) | (x_code + 1)) >> 8;
  factor.second = FloatOf(BitsOf(factor.second) | is_nan * 0x7FC00000);
  return factor;
}

// Adds blocks 0 .. kBlocks of a step to the sums of a tile of 16 rows: the lane has rows 4 j .. + 4
// of one pick (j = lane / 16). `packed` are its row's FP4 dwords, block by block; w_codes[q] has
// row 4 j + q's codes, byte by block, x_codes the pick's.
//   acc = RNE32(acc + d * 2^(cw + 7 + cx - 254)), blocks ascending
template <uint32_t kBlocks>
__device__ inline Float4 AddFp4Step(Float4 acc, const uint32_t (&packed)[kBlocks],
                                    const StepActivation& x, const uint32_t (&w_codes)[4],
                                    uint32_t x_codes) {
  Float4 dots[kBlocks];
#pragma unroll
  for (uint32_t b = 0; b < kBlocks; ++b) {
    const FnuzBytes w = FnuzOfFp4(packed[b]);
    const Uint2 bytes = b % 2 == 0 ? x.half[b / 2].xy : x.half[b / 2].zw;
    dots[b] = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(
        __builtin_bit_cast(long, Uint2{w.even, w.odd}), __builtin_bit_cast(long, bytes),
        Float4{0, 0, 0, 0}, 0, 0, 0);
  }
  // Codes of blocks that are not there may be anything; here they are ordinary ones.
  constexpr uint32_t kThere = kBlocks == 4 ? ~0u : (1u << (8 * kBlocks)) - 1;
  constexpr uint32_t kOrdinary = 0x7F7F7F7F & ~kThere;
  // With the offset in it, a byte of x_codes from 249 on carries into the next; what is left of it
  // is not ordinary, so the step goes the long way whatever the next one became.
  const uint32_t raised = ((x_codes & kThere) | kOrdinary) + 0x01010101 * kFp4CodeOffset;
  bool ordinary = true;
#pragma unroll
  for (const uint32_t codes : w_codes) {
    ordinary = ordinary && AreOrdinary((codes & kThere) | kOrdinary, raised);
  }
  if (AllLanes(ordinary)) {
#pragma unroll
    for (uint32_t b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) {
        acc[q] =
            ScaleAdd(acc[q], dots[b][q], OrdinaryFactor(ByteOf(w_codes[q], b) + ByteOf(raised, b)));
      }
    }
  } else {
#pragma unroll
    for (uint32_t b = 0; b < kBlocks; ++b) {
#pragma unroll
      for (uint32_t q = 0; q < 4; ++q) {
        acc[q] =
            ScaleAdd(acc[q], dots[b][q], Fp4FactorOf(ByteOf(w_codes[q], b), ByteOf(x_codes, b)));
      }
    }
  }
  return acc;
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_GFX942_MOE_DEVICE_H_
