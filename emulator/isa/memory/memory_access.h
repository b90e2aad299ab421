#ifndef LANEWISE_EMULATOR_ISA_MEMORY_MEMORY_ACCESS_H_
#define LANEWISE_EMULATOR_ISA_MEMORY_MEMORY_ACCESS_H_

// From the address operands of a memory instruction to host memory, with the checks on the way.

#include <bit>
#include <cstdint>

#include "emulator/instruction.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {

enum class Space : uint8_t { kGlobal, kLds, kScratch };
enum class AccessKind : uint8_t { kRead, kWrite, kAtomic };

// The addresses of one instruction, a lane each; entries of inactive lanes hold nothing.
// In kLds and kScratch an address counts from the start of the workgroup's LDS, the lane's scratch.
struct LaneAddresses {
  uint64_t address[kLanes];
  Space space[kLanes];
  // Bytes inside a buffer resource's range: the hardware reads 0 for the rest and drops what is
  // stored there. Everything but buffer instructions has all of them.
  uint8_t valid_bytes[kLanes];
};

// Addresses of a global, flat, scratch or buffer instruction that moves `bytes` a lane, its offsets
// included. Fails the wave on a buffer resource that the emulator does not model.
void VectorAddresses(Wave& wave, const Instruction& inst, uint32_t bytes, LaneAddresses& result);

// The host bytes of an access, or nullptr after Wave::Fail: outside of every allocation, of LDS or
// of scratch, misaligned, a race in LDS, an atomic on LDS never written. A kWrite or kAtomic must
// follow with its bytes: the shadow counts them as written. A kRead of LDS that was never written
// is noted (NoteLdsRead). `data`, where given, is what a kWrite writes: to put into LDS what another
// wave has put there is no race.
uint8_t* Resolve(Wave& wave, Space space, uint64_t address, uint32_t bytes, AccessKind kind,
                 int lane, const uint8_t* data = nullptr);

// Counts one global access of all active lanes: bytes, 128-byte lines, 64-byte segments.
void CountGlobal(Wave& wave, const LaneAddresses& addresses, uint32_t bytes, AccessKind kind);

// Counts one load of the scalar unit in the launch's traffic; its address is good.
void NoteScalarLoad(Wave& wave, uint64_t address, uint32_t bytes);

// Counts one LDS access: bytes and bank conflicts. `offsets` are byte offsets of active lanes.
void CountLds(Wave& wave, const uint32_t offsets[kLanes], uint32_t bytes, AccessKind kind);

// Calls visit(lane) for each set bit, ascending, until it returns false.
template <typename Visit>
bool ForEachLane(uint64_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) {
    if (!visit(std::countr_zero(mask))) return false;
  }
  return true;
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MEMORY_MEMORY_ACCESS_H_
