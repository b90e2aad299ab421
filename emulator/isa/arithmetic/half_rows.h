#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_ROWS_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_ROWS_H_

// Rows of halves to floats and back, in place: by the host's instructions where it has them, which
// its compilers do not make of a loop.

#include <cstdint>

#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// A half as the float of the same value, or a float that is yet to be rounded to half: the argument
// and result type of operations that VectorOp and PackedOp convert a row at a time.
struct HalfValue {
  float value;
};

// Words with a half each, zero-extended, become float bits. NaN becomes quiet.
void HalvesToFloats(uint32_t words[kLanes]);

// Float bits become halves, zero-extended, rounded in the host's rounding mode; beyond 65504 what
// that mode says.
void FloatsToHalves(uint32_t words[kLanes]);

// The same toward zero, whatever the host's mode.
void FloatsToHalvesTowardZero(uint32_t words[kLanes]);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_ROWS_H_
