#ifndef LANEWISE_EMULATOR_CHECK_CHECKER_H_
#define LANEWISE_EMULATOR_CHECK_CHECKER_H_

// The checks that need no knowledge of an instruction beyond its decoded operands: registers read
// before they are written, registers used before s_waitcnt.
//
// Compilers move, spill and select registers that were never written, and combine lane masks of
// which only some bits matter. So moves, selects and bitwise scalar operations
// (Instruction::undefined) hand undefined bits on to their results; everything else must not read
// one, EXEC must not become one.

#include <string>

#include "emulator/instruction.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {

// "v12" or "a3" for a row, "s5", "vcc", "exec", ... for a scalar entry.
std::string VectorName(int row);
std::string ScalarName(int index);

// The end of a report on undefined lanes of a row: ", which was never written" or, of what came from
// LDS, ", read from LDS where byte 256 was never written".
std::string NeverWritten(const WaveShadow& shadow, int row);

// A wave's registers before its first instruction: nothing is written.
void ResetShadow(WaveShadow& shadow);

// Before the handler: fails the wave where a source or destination is not ready.
void CheckBefore(Wave& wave, const Instruction& inst);

// After it: results count as written, those of memory as on their way.
void NoteAfter(Wave& wave, const Instruction& inst);

// s_waitcnt: at most this many operations of each counter remain outstanding.
void NoteWait(Wave& wave, uint32_t vmcnt, uint32_t lgkmcnt);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_CHECK_CHECKER_H_
