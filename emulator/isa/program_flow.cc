// Ends, branches, calls, waits and barriers.

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/check/checker.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {
namespace {

void EndProgram(Wave& wave, const Instruction& /*inst*/) { wave.state = Wave::State::kDone; }

void Nothing(Wave& /*wave*/, const Instruction& /*inst*/) {}

void Barrier(Wave& wave, const Instruction& /*inst*/) { wave.state = Wave::State::kAtBarrier; }

// What the wave waits for others have to do first.
void Sleep(Wave& wave, const Instruction& /*inst*/) { wave.gives_up_turn = true; }

void Trap(Wave& wave, const Instruction& inst) {
  wave.Fail(absl::StrCat("s_trap ", inst.imm & 0xff, ": the kernel trapped (assertion or abort)"));
}

void Halt(Wave& wave, const Instruction& inst) {
  if ((inst.imm & 1) != 0) wave.Fail("s_sethalt: the wave halts for a debugger");
}

void Jump(Wave& wave, const Instruction& inst) {
  wave.next_pc = inst.pc + 4 + static_cast<uint32_t>(inst.imm) * 4;
}

template <bool (*kTaken)(const Wave&)>
void Branch(Wave& wave, const Instruction& inst) {
  if (kTaken(wave)) Jump(wave, inst);
}

bool SccZero(const Wave& wave) { return !wave.scc(); }
bool SccOne(const Wave& wave) { return wave.scc(); }
bool VccZero(const Wave& wave) { return wave.vcc() == 0; }
bool VccNonzero(const Wave& wave) { return wave.vcc() != 0; }
bool ExecZero(const Wave& wave) { return wave.exec() == 0; }
bool ExecNonzero(const Wave& wave) { return wave.exec() != 0; }

// Code addresses are host addresses of the loaded image.
uint64_t AddressOf(const Wave& wave, uint32_t pc) { return wave.context->image_base + pc; }

void GoTo(Wave& wave, uint64_t address) {
  const uint64_t pc = address - wave.context->image_base;
  if (pc > UINT32_MAX) {
    wave.Fail(absl::StrCat("jumps to 0x", absl::Hex(address),
                           ", which is outside of the code object at 0x",
                           absl::Hex(wave.context->image_base)));
    return;
  }
  wave.next_pc = static_cast<uint32_t>(pc);
}

void GetPc(Wave& wave, const Instruction& inst) {
  wave.Write64(inst.dst[0], AddressOf(wave, inst.pc + 4));
}

void SetPc(Wave& wave, const Instruction& inst) { GoTo(wave, wave.Read64(inst.src[0])); }

void SwapPc(Wave& wave, const Instruction& inst) {
  const uint64_t target = wave.Read64(inst.src[0]);
  wave.Write64(inst.dst[0], AddressOf(wave, inst.pc + 4));
  GoTo(wave, target);
}

void Call(Wave& wave, const Instruction& inst) {
  wave.Write64(inst.dst[0], AddressOf(wave, inst.pc + 4));
  Jump(wave, inst);
}

void WaitCount(Wave& wave, const Instruction& inst) {
  const auto bits = static_cast<uint32_t>(inst.imm);
  NoteWait(wave, (bits & 0xf) | ((bits >> 14) & 3) << 4, (bits >> 8) & 0xf);
}

}  // namespace

void RegisterProgramFlow(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_endpgm", EndProgram);
  table.Add("s_endpgm_saved", EndProgram);
  table.Add("s_barrier", Barrier, {.klass = InstructionClass::kBarrier});
  table.Add("s_trap", Trap);
  table.Add("s_sethalt", Halt);
  table.Add("s_waitcnt", WaitCount, {.klass = InstructionClass::kWait});
  constexpr Traits kBranch{.klass = InstructionClass::kBranch};
  table.Add("s_branch", Jump, kBranch);
  table.Add("s_cbranch_scc0", Branch<SccZero>, kBranch);
  table.Add("s_cbranch_scc1", Branch<SccOne>, kBranch);
  table.Add("s_cbranch_vccz", Branch<VccZero>, kBranch);
  table.Add("s_cbranch_vccnz", Branch<VccNonzero>, kBranch);
  table.Add("s_cbranch_execz", Branch<ExecZero>, kBranch);
  table.Add("s_cbranch_execnz", Branch<ExecNonzero>, kBranch);
  table.Add("s_getpc_b64", GetPc);
  table.Add("s_setpc_b64", SetPc, {.calls = true});
  table.Add("s_swappc_b64", SwapPc, {.calls = true});
  table.Add("s_call_b64", Call, {.calls = true});
  table.Add("s_sleep", Sleep);
  // Timing, priorities and messages to a host that does not listen.
  for (const char* name : {"s_nop", "s_setprio", "s_sendmsg", "s_ttracedata", "s_incperflevel",
                           "s_decperflevel", "s_wakeup"}) {
    table.Add(name, Nothing);
  }
}

}  // namespace lanewise::emulator
