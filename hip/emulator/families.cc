#include "hip/emulator/families.h"

namespace lanewise::emulator {

void RegisterFamilies(Arch arch, HandlerTable& table) {
  RegisterMoves(arch, table);
  RegisterProgramFlow(arch, table);
}

}  // namespace lanewise::emulator
