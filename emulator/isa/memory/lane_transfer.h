#ifndef LANEWISE_EMULATOR_ISA_MEMORY_LANE_TRANSFER_H_
#define LANEWISE_EMULATOR_ISA_MEMORY_LANE_TRANSFER_H_

// Between bytes of memory and one lane's registers, with what the checker has to note about it.

#include <cstdint>
#include <cstring>

#include "emulator/isa/memory/memory_access.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {

// What a load of fewer than 4 bytes does with the rest of the register; d16 forms keep one half.
enum class Extend : uint8_t { kZero, kSign, kZeroToLow, kSignToLow, kZeroToHigh, kSignToHigh };

template <int kBytes, Extend kExtend>
inline uint32_t ExtendTo32(const uint8_t* from) {
  static_assert(kBytes < 4);
  constexpr bool kSigned =
      kExtend == Extend::kSign || kExtend == Extend::kSignToLow || kExtend == Extend::kSignToHigh;
  if constexpr (kBytes == 1) {
    return kSigned ? static_cast<uint32_t>(static_cast<int8_t>(*from)) : *from;
  } else {
    uint16_t half;
    std::memcpy(&half, from, sizeof(half));
    return kSigned ? static_cast<uint32_t>(static_cast<int16_t>(half)) : half;
  }
}

template <int kBytes, Extend kExtend>
inline void ToLane(const uint8_t* from, Wave& wave, int row, int lane) {
  if constexpr (kBytes >= 4) {
    for (int i = 0; i < kBytes / 4; ++i) std::memcpy(&wave.vector[row + i][lane], from + 4 * i, 4);
  } else {
    uint32_t& word = wave.vector[row][lane];
    const uint32_t value = ExtendTo32<kBytes, kExtend>(from);
    switch (kExtend) {
      case Extend::kZero:
      case Extend::kSign:
        word = value;
        break;
      case Extend::kZeroToLow:
      case Extend::kSignToLow:
        word = (word & 0xffff0000u) | (value & 0xffffu);
        break;
      case Extend::kZeroToHigh:
      case Extend::kSignToHigh:
        word = (word & 0xffffu) | value << 16;
        break;
    }
  }
}

template <int kBytes, bool kHigh>
inline void FromLane(const Wave& wave, int row, int lane, uint8_t* to) {
  if constexpr (kBytes >= 4) {
    for (int i = 0; i < kBytes / 4; ++i) std::memcpy(to + 4 * i, &wave.vector[row + i][lane], 4);
  } else {
    const uint32_t value = kHigh ? wave.vector[row][lane] >> 16 : wave.vector[row][lane];
    std::memcpy(to, &value, kBytes);
  }
}

// Stored data may be undefined only in scratch, where compilers spill registers whole: the shadow
// then remembers which bytes are. Elsewhere this fails.
bool CheckStoredData(Wave& wave, const Operand& data, Space space, int lane);
void NoteScratchWrite(Wave& wave, const Operand& data, Space space, uint64_t address,
                      uint32_t bytes, int lane);
// A load from scratch gives back what a store left there, undefined lanes included.
void NoteScratchRead(Wave& wave, const Operand& result, Space space, uint64_t address,
                     uint32_t bytes, int lane);
// After a read of LDS: the dwords of the result, from `dword` on, that hold bytes which were never
// written are undefined in this lane.
void NoteLdsRead(Wave& wave, const Operand& result, int dword, uint64_t address, int lane);
// LDS bytes that a load will write before its vmcnt is awaited.
void NoteArriving(Wave& wave, uint32_t offset, uint32_t bytes);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MEMORY_LANE_TRANSFER_H_
