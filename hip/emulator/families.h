#ifndef LANEWISE_HIP_EMULATOR_FAMILIES_H_
#define LANEWISE_HIP_EMULATOR_FAMILIES_H_

// The instruction families, one registering function a file (dispatch.h says how to add one).

#include "hip/emulator/arch.h"

namespace lanewise::emulator {

class HandlerTable;

// Calls all of the below.
void RegisterFamilies(Arch arch, HandlerTable& table);

void RegisterMoves(Arch arch, HandlerTable& table);            // moves.cc
void RegisterProgramFlow(Arch arch, HandlerTable& table);      // program_flow.cc
void RegisterVectorInteger(Arch arch, HandlerTable& table);    // vector_integer.cc
void RegisterVectorInteger16(Arch arch, HandlerTable& table);  // vector_integer16.cc
void RegisterVectorBits(Arch arch, HandlerTable& table);       // vector_bits.cc
void RegisterByteSums(Arch arch, HandlerTable& table);         // byte_sums.cc

}  // namespace lanewise::emulator

#endif  // LANEWISE_HIP_EMULATOR_FAMILIES_H_
