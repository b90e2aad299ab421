#ifndef LANEWISE_EMULATOR_ISA_FAMILIES_H_
#define LANEWISE_EMULATOR_ISA_FAMILIES_H_

// The instruction families, one registering function a file (dispatch.h says how to add one).

#include "emulator/arch.h"

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
void RegisterFloat16(Arch arch, HandlerTable& table);          // float16.cc
void RegisterFloat32(Arch arch, HandlerTable& table);          // float32.cc
void RegisterFloat64(Arch arch, HandlerTable& table);          // float64.cc
void RegisterVectorCompare(Arch arch, HandlerTable& table);    // vector_compare.cc
void RegisterTranscendental(Arch arch, HandlerTable& table);   // transcendental.cc
void RegisterDivision(Arch arch, HandlerTable& table);         // division.cc
void RegisterConversions(Arch arch, HandlerTable& table);      // conversions.cc
void RegisterNormalized(Arch arch, HandlerTable& table);       // normalized.cc
void RegisterFp8(Arch arch, HandlerTable& table);              // fp8.cc
void RegisterScaled(Arch arch, HandlerTable& table);           // scaled.cc
void RegisterScaledSixBits(Arch arch, HandlerTable& table);    // scaled_six_bits.cc
void RegisterPacked(Arch arch, HandlerTable& table);           // packed.cc
void RegisterMixed(Arch arch, HandlerTable& table);            // mixed.cc
void RegisterDot(Arch arch, HandlerTable& table);              // dot.cc
void RegisterCrossLane(Arch arch, HandlerTable& table);        // cross_lane.cc
void RegisterScalarInteger(Arch arch, HandlerTable& table);    // scalar_integer.cc
void RegisterScalarBits(Arch arch, HandlerTable& table);       // scalar_bits.cc
void RegisterScalarCompare(Arch arch, HandlerTable& table);    // scalar_compare.cc
void RegisterScalarMasks(Arch arch, HandlerTable& table);      // scalar_masks.cc
void RegisterScalarRegisters(Arch arch, HandlerTable& table);  // scalar_registers.cc
void RegisterSparseMatrix(Arch arch, HandlerTable& table);     // sparse_matrix.cc
void RegisterMatrix(Arch arch, HandlerTable& table);           // matrix.cc
void RegisterLds(Arch arch, HandlerTable& table);              // lds_memory.cc
void RegisterLdsLanes(Arch arch, HandlerTable& table);         // lds_lanes.cc
void RegisterScalarMemory(Arch arch, HandlerTable& table);     // scalar_memory.cc
void RegisterVectorAtomic(Arch arch, HandlerTable& table);     // vector_atomic.cc
void RegisterVectorMemory(Arch arch, HandlerTable& table);     // vector_memory.cc

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_FAMILIES_H_
