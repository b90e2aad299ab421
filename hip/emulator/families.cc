#include "hip/emulator/families.h"

namespace lanewise::emulator {

void RegisterFamilies(Arch arch, HandlerTable& table) {
  RegisterLds(arch, table);
  RegisterMoves(arch, table);
  RegisterProgramFlow(arch, table);
  RegisterScalarMemory(arch, table);
  RegisterVectorAtomic(arch, table);
  RegisterVectorMemory(arch, table);
}

}  // namespace lanewise::emulator
