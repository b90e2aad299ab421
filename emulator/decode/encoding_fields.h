#ifndef LANEWISE_EMULATOR_DECODE_ENCODING_FIELDS_H_
#define LANEWISE_EMULATOR_DECODE_ENCODING_FIELDS_H_

// The parts of an instruction that are plain bit fields of its words ("AMD Instinct MI300 and CDNA4
// Instruction Set Architecture", chapter "Microcode formats").

#include <cstdint>

#include "emulator/instruction.h"

namespace lanewise::emulator {

// The instruction's words; an 8- or 16-byte instruction has more than one, the rest are 0.
struct InstructionWords {
  uint32_t word[4] = {0, 0, 0, 0};
};

Encoding EncodingOf(const InstructionWords& words);

// What VOP3 and SDWA share their bits with: an instruction with a scalar result beside a vector one
// has no abs and no op_sel.
struct FieldContext {
  bool has_scalar_result = false;
  bool is_matrix = false;
};

// Fills mod, mem, imm and the two has_*_modifiers flags. `inst.encoding` is set already.
void ReadFields(const InstructionWords& words, const FieldContext& context, Instruction& inst);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_DECODE_ENCODING_FIELDS_H_
