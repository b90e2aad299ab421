// A kernel of somebody's own: MXFP8 elements [M, K] and their scale codes [M, K / 32] to float32.

#include <cstdint>

#include "formats/formats.h"
#include "hip/device.h"

extern "C" __global__ void MyDequantize(const uint8_t* elements, const uint8_t* codes, float* out,
                                        int m, int64_t k) {
  const int64_t i = int64_t{blockIdx.x} * 256 + threadIdx.x;
  if (i >= m * k) return;
  // The scale as a double: 2^127 times the largest element passes float32, and rounds to infinity.
  const double scale = lanewise::E8m0::FromBits(codes[i / 32]).ToFloat();
  out[i] = static_cast<float>(lanewise::E4m3Fn::FromBits(elements[i]).ToFloat() * scale);
}
