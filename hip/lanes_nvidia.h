#ifndef LANEWISE_HIP_LANES_NVIDIA_H_
#define LANEWISE_HIP_LANES_NVIDIA_H_

// The lanes of a wave (a warp) on NVIDIA's chips. Part of hip/device.h, which kernels include;
// lanes_amd.h has the same functions.

#include <cstdint>

namespace lanewise::device {

inline constexpr int kWaveSize = 32;

// The lane of the wave, from 0.
__device__ inline uint32_t LaneId() { return static_cast<uint32_t>(__nvvm_read_ptx_sreg_laneid()); }

// A value that all lanes agree on.
__device__ inline uint32_t Uniform(uint32_t value) { return value; }

namespace internal {

__device__ inline uint32_t ActiveLanes() {
  uint32_t lanes;
  asm volatile("activemask.b32 %0;" : "=r"(lanes));
  return lanes;
}

}  // namespace internal

// Whether all active lanes say yes. Lanes that branched apart before may be asked apart.
__device__ inline bool AllLanes(bool yes) {
  return __nvvm_vote_all_sync(internal::ActiveLanes(), yes);
}

// The value of any lane of the wave. All lanes have to be active.
template <typename T>
__device__ inline T FromLane(T value, uint32_t lane) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(T, __nvvm_shfl_sync_idx_i32(~0u, __builtin_bit_cast(int, value),
                                                        static_cast<int>(lane), kWaveSize - 1));
}

// The value of lane LaneId() ^ kDistance, which is 1, 2, 7, 15 or 16. The lanes of the group of 2,
// 4, 8, 16 or 32 that these exchanges stay within have to be active.
template <int kDistance>
__device__ inline uint32_t FromPartner(uint32_t value) {
  static_assert(kDistance == 1 || kDistance == 2 || kDistance == 7 || kDistance == 15 ||
                kDistance == 16);
  constexpr uint32_t kGroup = kDistance == 1    ? 2
                              : kDistance == 2  ? 4
                              : kDistance == 16 ? 32
                                                : kDistance + 1;
  constexpr uint32_t kMembers = ~0u >> (32 - kGroup);
  return static_cast<uint32_t>(__nvvm_shfl_sync_bfly_i32(
      kMembers << (LaneId() & ~(kGroup - 1)), static_cast<int>(value), kDistance, kWaveSize - 1));
}

// x, at least `low` and at most `high`. NaN gives some number of the three.
__device__ inline float Clamp(float x, float low, float high) {
  return __builtin_fminf(__builtin_fmaxf(x, low), high);
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_LANES_NVIDIA_H_
