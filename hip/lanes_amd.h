#ifndef LANEWISE_HIP_LANES_AMD_H_
#define LANEWISE_HIP_LANES_AMD_H_

// The lanes of a wave on gfx942 and gfx950. Part of hip/device.h, which kernels include;
// lanes_nvidia.h has the same functions.

#include <cstdint>

namespace lanewise::device {

inline constexpr int kWaveSize = 64;

// The lane of the wave, from 0.
__device__ inline uint32_t LaneId() {
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
}

// A value that all lanes agree on, moved to a scalar register.
__device__ inline uint32_t Uniform(uint32_t value) {
  return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(value)));
}

// Whether all active lanes say yes: one scalar value, so that a branch on it does not diverge.
__device__ inline bool AllLanes(bool yes) { return __builtin_amdgcn_ballot_w64(!yes) == 0; }

// The value of any lane of the wave. All lanes have to be active.
template <typename T>
__device__ inline T FromLane(T value, uint32_t lane) {
  static_assert(sizeof(T) == 4);
  return __builtin_bit_cast(
      T, __builtin_amdgcn_ds_bpermute(static_cast<int>(4 * lane), __builtin_bit_cast(int, value)));
}

// The value of lane LaneId() ^ kDistance, which is 1, 2, 7, 15 or 16. The lanes of the group of 2,
// 4, 8, 16 or 32 that these exchanges stay within have to be active.
template <int kDistance>
__device__ inline uint32_t FromPartner(uint32_t value) {
  static_assert(kDistance == 1 || kDistance == 2 || kDistance == 7 || kDistance == 15 ||
                kDistance == 16);
  const int bits = static_cast<int>(value);
  if constexpr (kDistance == 16) {
    return static_cast<uint32_t>(__builtin_amdgcn_ds_swizzle(bits, 0x401F));
  } else {
    constexpr int kControl = kDistance == 1   ? 0xB1    // quad_perm 1,0,3,2
                             : kDistance == 2 ? 0x4E    // quad_perm 2,3,0,1
                             : kDistance == 7 ? 0x141   // row_half_mirror
                                              : 0x140;  // row_mirror
    return static_cast<uint32_t>(
        __builtin_amdgcn_update_dpp(0, bits, kControl, 0xF, 0xF, /*bound_ctrl=*/true));
  }
}

// x, at least `low` and at most `high`. NaN gives some number of the three.
__device__ inline float Clamp(float x, float low, float high) {
  return __builtin_amdgcn_fmed3f(x, low, high);
}

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_LANES_AMD_H_
