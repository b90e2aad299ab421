// Kernels that use quantize_block.h as others do: with quantizers that are constants, formats that
// no kernel of hip/common makes, and blocks spread over 1 to 8 lanes.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/quantize_block.h"
#include "hip/device/quantizer.h"

namespace lanewise::device {
namespace {

// A block of 32 floats lies in kLanes lanes, 32 / kLanes in a row each.
template <ElementFormat kFormat, int kLanes>
__device__ void Quantize(const float* x, uint8_t* elements, uint8_t* codes, uint32_t blocks,
                         const hip::Quantizer& quantizer) {
  constexpr int kCount = hip::kBlockSize / kLanes;
  constexpr int kBytes = FormatTraits<kFormat>::kBits / 2;  // of four elements
  const uint32_t item = blockIdx.x * 64 + threadIdx.x;
  if (item / kLanes >= blocks) return;
  uint32_t amax = 0;
  for (int i = 0; i < kCount; ++i) amax = MaxMagnitude(amax, x[item * kCount + i]);
  amax = MaxOverLanes<kLanes>(amax);
  const uint32_t code = BlockCode(amax, quantizer);
  const BlockEncoder<kFormat> encode(code, quantizer);
  for (int i = 0; i < kCount; i += 4) {
    const float* const four = x + item * kCount + i;
    const uint32_t bits = encode.Four(four[0], four[1], four[2], four[3]);
    for (int b = 0; b < kBytes; ++b) {
      elements[(item * kCount + i) / 4 * kBytes + b] = static_cast<uint8_t>(bits >> (8 * b));
    }
  }
  if (item % kLanes == 0) codes[item / kLanes] = static_cast<uint8_t>(code);
}

}  // namespace
}  // namespace lanewise::device

#define LANEWISE_TEST_QUANTIZER(name, format, lanes, ...)                                          \
  extern "C" __global__ void __launch_bounds__(64)                                                 \
      name(const float* x, uint8_t* elements, uint8_t* codes, uint32_t blocks) {                   \
    constexpr lanewise::hip::Quantizer kQuantizer = {__VA_ARGS__};                                 \
    lanewise::device::Quantize<lanewise::ElementFormat::format, lanes>(x, elements, codes, blocks, \
                                                                       kQuantizer);                \
  }

LANEWISE_TEST_QUANTIZER(E4m3FnuzDense, kE4m3Fnuz, 4, .maximum = 224.0f)
LANEWISE_TEST_QUANTIZER(E4m3FnuzMoe, kE4m3Fnuz, 2, .rule = lanewise::BlockRule::kRoundUp,
                        .maximum = 224.0f, .amax_floor = 1e-10f, .smallest_code = 1)
LANEWISE_TEST_QUANTIZER(E4m3FnSaturating, kE4m3Fn, 8, .rule = lanewise::BlockRule::kRoundedLog2,
                        .non_finite = lanewise::NonFinite::kSaturate)
LANEWISE_TEST_QUANTIZER(E2m1Even, kE2m1, 1, .rule = lanewise::BlockRule::kEven, .maximum = 6.0f,
                        .amax_floor = 0.0f)
LANEWISE_TEST_QUANTIZER(E5m2Floor, kE5m2, 4, .rule = lanewise::BlockRule::kFloor,
                        .maximum = 57344.0f)
LANEWISE_TEST_QUANTIZER(E5m2FnuzExact, kE5m2Fnuz, 8, .maximum = 57344.0f, .amax_floor = 0.0f)

// The codes of magnitudes whose bits are first, first + step, ..., by a quantizer known at run
// time.
extern "C" __global__ void __launch_bounds__(256)
    Codes(uint32_t first, uint32_t step, uint32_t count, lanewise::hip::Quantizer quantizer,
          uint8_t* codes) {
  const uint32_t i = blockIdx.x * 256 + threadIdx.x;
  if (i < count) {
    codes[i] = static_cast<uint8_t>(lanewise::device::BlockCode(first + i * step, quantizer));
  }
}

// The maximum over groups of 1, 2, 4, 8, 16 and 32 lanes, 64 results each.
extern "C" __global__ void __launch_bounds__(64) GroupMaxima(const uint32_t* in, uint32_t* out) {
  const uint32_t lane = threadIdx.x;
  const uint32_t value = in[lane];
  out[lane] = lanewise::device::MaxOverLanes<1>(value);
  out[64 + lane] = lanewise::device::MaxOverLanes<2>(value);
  out[128 + lane] = lanewise::device::MaxOverLanes<4>(value);
  out[192 + lane] = lanewise::device::MaxOverLanes<8>(value);
  out[256 + lane] = lanewise::device::MaxOverLanes<16>(value);
  out[320 + lane] = lanewise::device::MaxOverLanes<32>(value);
}
