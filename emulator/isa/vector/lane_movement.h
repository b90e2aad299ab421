#ifndef LANEWISE_EMULATOR_ISA_VECTOR_LANE_MOVEMENT_H_
#define LANEWISE_EMULATOR_ISA_VECTOR_LANE_MOVEMENT_H_

// Movement of values between lanes, as functions of arrays of 64: what ds_permute, ds_bpermute and
// ds_swizzle do without touching LDS memory. Lanes outside `exec` neither send nor are written; the
// caller keeps their destinations.

#include <array>
#include <cstdint>

#include "emulator/machine/wave.h"

namespace lanewise::emulator {

using LaneWords = std::array<uint32_t, kLanes>;

// ds_bpermute_b32: lane l receives the value of lane (address[l] + offset) / 4 % 64, and 0 where
// that one is inactive.
LaneWords BackwardPermute(const uint32_t address[kLanes], const uint32_t values[kLanes],
                          uint32_t offset, uint64_t exec);

// ds_permute_b32: lane l sends its value to lane (address[l] + offset) / 4 % 64. Of several senders
// the highest lane wins; who receives nothing gets 0.
LaneWords ForwardPermute(const uint32_t address[kLanes], const uint32_t values[kLanes],
                         uint32_t offset, uint64_t exec);

// The lane that lane l reads under ds_swizzle_b32 with that 16-bit offset:
//   bit 15 set, bits 14..13 not both: quad permutation, two bits a lane from bit 0
//   bit 15 clear: within 32 lanes, ((l & bits 4..0) | bits 9..5) ^ bits 14..10
//   bits 15, 14 and 13 not 0b111, bit 14 set: rotation within 32 lanes by bits 9..5, the direction
//   in bit 10 (0: lane l reads l + n)
int SwizzleSource(uint32_t offset, int lane);

// ds_swizzle_b32: 0 where the source lane is inactive.
LaneWords Swizzle(const uint32_t values[kLanes], uint32_t offset, uint64_t exec);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_VECTOR_LANE_MOVEMENT_H_
