#include "emulator/isa/families.h"

namespace lanewise::emulator {

void RegisterFamilies(Arch arch, HandlerTable& table) {
  RegisterLds(arch, table);
  RegisterLdsLanes(arch, table);
  RegisterMoves(arch, table);
  RegisterProgramFlow(arch, table);
  RegisterVectorInteger(arch, table);
  RegisterVectorInteger16(arch, table);
  RegisterVectorBits(arch, table);
  RegisterByteSums(arch, table);
  RegisterFloat16(arch, table);
  RegisterFloat32(arch, table);
  RegisterFloat64(arch, table);
  RegisterVectorCompare(arch, table);
  RegisterTranscendental(arch, table);
  RegisterDivision(arch, table);
  RegisterConversions(arch, table);
  RegisterNormalized(arch, table);
  RegisterFp8(arch, table);
  RegisterScaled(arch, table);
  RegisterScaledSixBits(arch, table);
  RegisterPacked(arch, table);
  RegisterMixed(arch, table);
  RegisterDot(arch, table);
  RegisterCrossLane(arch, table);
  RegisterScalarInteger(arch, table);
  RegisterScalarBits(arch, table);
  RegisterScalarCompare(arch, table);
  RegisterScalarMasks(arch, table);
  RegisterScalarRegisters(arch, table);
  RegisterMatrix(arch, table);
  RegisterSparseMatrix(arch, table);
  RegisterScalarMemory(arch, table);
  RegisterVectorAtomic(arch, table);
  RegisterVectorMemory(arch, table);
}

}  // namespace lanewise::emulator
