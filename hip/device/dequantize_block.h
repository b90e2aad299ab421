#ifndef LANEWISE_HIP_DEVICE_DEQUANTIZE_BLOCK_H_
#define LANEWISE_HIP_DEVICE_DEQUANTIZE_BLOCK_H_

// Device code that takes microscaled elements back to numbers: element * 2^(code - 127) in float32,
// exact, subnormals included, on gfx942 and gfx950 from this one source. Integer arithmetic and
// multiplications by powers of two; neither chip's own conversions, which differ.
//
// Float32 subnormals must be on, as they are in kernels unless somebody turns them off.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/quantize_block.h"
#include "hip/device/quantizer.h"

namespace lanewise::device {

inline constexpr uint32_t kQuietNan = 0x7FC00000;

// 2^(code - 127), of a code up to 254; 2^-127 is subnormal.
__device__ inline float ScaleOf(uint32_t code) {
  return FloatOf(code == 0 ? 0x00400000u : code << 23);
}

// The number of an element, e4m3 or e2m1, whose bits are the lowest of `bits`.
//
// Exponent and mantissa, put where float32 has its own, read as a float with the wrong bias:
// 2^(127 - bias) too small, and the element's subnormals are float32's, so one multiplication makes
// either right.
template <ElementFormat kFormat>
__device__ inline float DecodeElement(uint32_t bits) {
  using Traits = FormatTraits<kFormat>;
  static_assert(!Traits::kIsE5m2, "infinities would need a case of their own");
  constexpr uint32_t kSign = 1u << (Traits::kBits - 1);
  constexpr uint32_t kMagnitude = kSign - 1;
  const float biased = FloatOf((bits & kMagnitude) << (23 - Traits::kMantissaBits));
  const uint32_t value = BitsOf(biased * FloatOf(static_cast<uint32_t>(254 - Traits::kBias) << 23));
  uint32_t result = value | (bits & kSign) << (32 - Traits::kBits);
  if constexpr (kFormat == ElementFormat::kE4m3Fn) {
    if ((bits & kMagnitude) == kMagnitude) result = kQuietNan;
  }
  if constexpr (kFormat == ElementFormat::kE4m3Fnuz) {
    if ((bits & 0xFF) == kSign) result = kQuietNan;
  }
  return FloatOf(result);
}

// An element times its block's scale. Code 255 and NaN elements give NaN; a magnitude of 2^128 and
// more becomes infinity.
template <ElementFormat kFormat>
__device__ inline float Dequantize(uint32_t bits, uint32_t code) {
  const float value = DecodeElement<kFormat>(bits) * ScaleOf(code);
  return code == hip::kNanCode ? FloatOf(kQuietNan) : value;
}

// The bits of the nearest bfloat16, ties to even; NaN is 0x7FC0.
__device__ inline uint32_t ToBf16(float x) {
  const uint32_t bits = BitsOf(x);
  const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16;
  return (bits & 0x7FFFFFFF) > kInfinityBits ? 0x7FC0 : rounded;
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_DEQUANTIZE_BLOCK_H_
