#ifndef LANEWISE_EMULATOR_LOAD_PROGRAM_H_
#define LANEWISE_EMULATOR_LOAD_PROGRAM_H_

// The decoded instructions of a code object's text.

#include <cstdint>
#include <vector>

#include "emulator/instruction.h"

namespace lanewise::emulator {

struct Program {
  std::vector<Instruction> instructions;
  // Index into `instructions` of the one that begins at each 4-byte word of the text; kNone inside
  // one that began before.
  std::vector<uint32_t> at_word;
  uint32_t begin = 0;  // image offset of the text
  uint32_t end = 0;

  static constexpr uint32_t kNone = 0xffffffff;

  // The instruction at an image offset, or nullptr outside the text or inside an instruction.
  const Instruction* At(uint32_t pc) const {
    if (pc < begin || pc >= end || (pc & 3) != 0) return nullptr;
    const uint32_t index = at_word[(pc - begin) / 4];
    return index == kNone ? nullptr : &instructions[index];
  }
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_PROGRAM_H_
