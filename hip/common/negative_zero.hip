// -0 to +0 in place, counted.

#include <cstdint>

#include "hip/device.h"

namespace {

typedef uint32_t Uint4 __attribute__((ext_vector_type(4)));

// The fields of a word that are -0, the sign bit of each set. kSigns has the sign bit of each field
// of a word: a field is -0 where nothing but its sign is set. No carry leaves a field.
template <uint32_t kSigns>
__device__ uint32_t NegativeZeros(uint32_t word) {
  const uint32_t other = word ^ kSigns;  // zero where -0
  const uint32_t some_bit = ((other & ~kSigns) + ~kSigns) | other;
  return ~some_bit & kSigns;
}

// The sum over the wave's lanes, in lane 0.
__device__ uint32_t WaveSum(uint32_t value) {
  for (uint32_t step = lanewise::device::kWaveSize / 2; step > 0; step /= 2) {
    value += lanewise::device::FromLane(value, lanewise::device::LaneId() ^ step);
  }
  return value;
}

// A work-item takes 16 bytes; the last one takes what is left, byte by byte.
template <uint32_t kSigns>
__device__ void Rewrite(uint8_t* bytes, uint64_t count, uint64_t* changed) {
  const uint64_t at = 16 * (uint64_t{blockIdx.x} * 256 + threadIdx.x);
  uint32_t found = 0;
  if (at + 16 <= count) {
    Uint4 words = *reinterpret_cast<const Uint4*>(bytes + at);
    uint32_t any = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint32_t zeros = NegativeZeros<kSigns>(words[i]);
      words[i] ^= zeros;
      any |= zeros;
      found += static_cast<uint32_t>(__builtin_popcount(zeros));
    }
    if (any != 0) *reinterpret_cast<Uint4*>(bytes + at) = words;
  } else {
#pragma unroll 1
    for (uint64_t i = at; i < count; ++i) {
      const uint32_t zeros = NegativeZeros<kSigns>(bytes[i] | 0xFFFFFF00) & 0xFF;
      bytes[i] = static_cast<uint8_t>(bytes[i] ^ zeros);
      found += static_cast<uint32_t>(__builtin_popcount(zeros));
    }
  }
  if (changed == nullptr) return;
  const uint32_t sum = WaveSum(found);
  if (lanewise::device::LaneId() == 0 && sum != 0) {
    atomicAdd(changed, uint64_t{sum});
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    DropNegativeZeroE4m3(uint8_t* bytes, uint64_t count, uint64_t* changed) {
  Rewrite<0x80808080>(bytes, count, changed);
}

extern "C" __global__ void __launch_bounds__(256)
    DropNegativeZeroE2m1(uint8_t* bytes, uint64_t count, uint64_t* changed) {
  Rewrite<0x88888888>(bytes, count, changed);
}
