#ifndef LANEWISE_HIP_DEVICE_LOADS_H_
#define LANEWISE_HIP_DEVICE_LOADS_H_

// Device code: loads of sixteen bytes, and loads that may pass the end.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/round_to_bf16.h"

namespace lanewise::device {

typedef uint32_t Uint2 __attribute__((ext_vector_type(2)));
typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

// The numbers of eight bf16 at a 16-byte aligned address.
__device__ inline void LoadBf16(const uint16_t* from, float (&x)[8]) {
  const Uint4 loaded = *reinterpret_cast<const Uint4*>(from);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    x[2 * i] = LowBf16(loaded[i]);
    x[2 * i + 1] = HighBf16(loaded[i]);
  }
}

// Memory behind a base address that all lanes share, in which loads past the end give zeros and
// fetch nothing. So a pipeline loads ahead without asking where K ends.
class Range {
 public:
  // An offset past the end of every range.
  static constexpr uint32_t kNowhere = 0x80000000;

  // Weights pass once: kStreamed keeps them from driving out what is used again.
  enum Caching { kCached = 0, kStreamed = 2 };

  __device__ Range(const uint8_t* base, uint32_t bytes)
      : resource_(__builtin_amdgcn_make_buffer_rsrc(const_cast<uint8_t*>(base), /*stride=*/0, bytes,
                                                    /*32-bit data*/ 0x00027000)) {}

  template <Caching kCaching>
  __device__ Uint4 Load16(uint32_t offset) const {
    return __builtin_amdgcn_raw_buffer_load_b128(resource_, static_cast<int>(offset), 0, kCaching);
  }
  template <Caching kCaching>
  __device__ Uint2 Load8(uint32_t offset) const {
    return __builtin_amdgcn_raw_buffer_load_b64(resource_, static_cast<int>(offset), 0, kCaching);
  }
  __device__ uint32_t Load4(uint32_t offset) const {
    return __builtin_amdgcn_raw_buffer_load_b32(resource_, static_cast<int>(offset), 0, kCached);
  }

 private:
  __amdgpu_buffer_rsrc_t resource_;
};

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_LOADS_H_
