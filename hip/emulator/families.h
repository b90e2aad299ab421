#ifndef LANEWISE_HIP_EMULATOR_FAMILIES_H_
#define LANEWISE_HIP_EMULATOR_FAMILIES_H_

// The instruction families, one registering function a file (dispatch.h says how to add one).

#include "hip/emulator/arch.h"

namespace lanewise::emulator {

class HandlerTable;

// Calls all of the below.
void RegisterFamilies(Arch arch, HandlerTable& table);

void RegisterMoves(Arch arch, HandlerTable& table);        // moves.cc
void RegisterProgramFlow(Arch arch, HandlerTable& table);  // program_flow.cc

}  // namespace lanewise::emulator

#endif  // LANEWISE_HIP_EMULATOR_FAMILIES_H_
