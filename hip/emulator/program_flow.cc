// Ends, branches, waits, barriers and the instructions that do nothing here.

#include "hip/emulator/dispatch.h"
#include "hip/emulator/families.h"
#include "hip/emulator/wave.h"

namespace lanewise::emulator {
namespace {

void EndProgram(Wave& wave, const Instruction& /*inst*/) { wave.state = Wave::State::kDone; }

}  // namespace

void RegisterProgramFlow(Arch /*arch*/, HandlerTable& table) { table.Add("s_endpgm", EndProgram); }

}  // namespace lanewise::emulator
