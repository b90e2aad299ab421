// Hardware registers, relative scalar addressing, and the index mode of vector registers.

#include <cstdint>
#include <string>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {
namespace {

// Registers that s_getreg and s_setreg name.
enum : uint32_t { kModeRegister = 1, kStatus = 2, kTrapStatus = 3, kHardwareId = 4, kXccId = 20 };

// A part of a hardware register: id in bits 5..0 of the constant, first bit in 10..6, width less
// one in 15..11.
struct RegisterPart {
  uint32_t id;
  uint32_t offset;
  uint32_t mask;
};
RegisterPart PartOf(const Instruction& inst) {
  const auto bits = static_cast<uint32_t>(inst.imm);
  const uint32_t width = ((bits >> 11) & 31) + 1;
  return {bits & 63, (bits >> 6) & 31, width == 32 ? 0xffffffffu : (1u << width) - 1};
}

uint32_t Status(const Wave& wave) {
  constexpr uint32_t kValid = 1u << 16;
  return (wave.scc() ? 1u : 0u) | (wave.exec() == 0 ? 1u << 9 : 0u) |
         (wave.vcc() == 0 ? 1u << 10 : 0u) | kValid;
}

void GetRegister(Wave& wave, const Instruction& inst) {
  const RegisterPart part = PartOf(inst);
  uint32_t value = 0;
  switch (part.id) {
    case kModeRegister:
      value = wave.mode.bits;
      break;
    case kStatus:
      value = Status(wave);
      break;
    case kTrapStatus:  // no exception is ever pending here
    case kHardwareId:  // every wave runs in the first slot of the first engine
    case kXccId:
      break;
    default:
      wave.Fail("s_getreg of hardware register " + std::to_string(part.id) +
                ", which is not modelled");
      return;
  }
  wave.Write32(inst.dst[0], (value >> part.offset) & part.mask);
}

void SetRegister(Wave& wave, const Instruction& inst) {
  const RegisterPart part = PartOf(inst);
  if (part.id != kModeRegister) {
    wave.Fail("s_setreg of hardware register " + std::to_string(part.id) +
              ", which is not modelled");
    return;
  }
  const uint32_t mask = part.mask << part.offset;
  const uint32_t value = wave.Read32(inst.src[0]) << part.offset;
  wave.mode.bits = (wave.mode.bits & ~mask) | (value & mask);
}

// ---- scalar registers relative to M0 ----

constexpr uint32_t kScalarRegisters = 102;

// The register that many entries behind the operand, or -1 after failing.
int Relative(Wave& wave, const Operand& operand, uint32_t words) {
  const uint64_t index = uint64_t{operand.index} + wave.m0();
  if (operand.is_scalar() && index + words <= kScalarRegisters) return static_cast<int>(index);
  wave.Fail("relative scalar register s" + std::to_string(index) + " does not exist");
  return -1;
}
template <uint32_t kWords>
void MoveRelativeSource(Wave& wave, const Instruction& inst) {
  const int from = Relative(wave, inst.src[0], kWords);
  if (from < 0) return;
  if constexpr (kWords == 2) {
    wave.Write64(inst.dst[0], wave.Scalar64(from));
  } else {
    wave.Write32(inst.dst[0], wave.scalar[from]);
  }
}
// LLVM lists the destination, from which the number counts, as the first source.
template <uint32_t kWords>
void MoveRelativeDestination(Wave& wave, const Instruction& inst) {
  const int to = Relative(wave, inst.src[0], kWords);
  if (to < 0) return;
  if constexpr (kWords == 2) {
    wave.SetScalar64(to, wave.Read64(inst.src[1]));
  } else {
    wave.scalar[to] = wave.Read32(inst.src[1]);
  }
}

// ---- index mode: while MODE says so, M0's bits 7..0 are added to the numbers of the vector
// registers that its bits 15..12 name (source 0, 1, 2, destination). The executor does the adding.

constexpr uint32_t kIndexEnable = 1u << 27;

void SetIndexBits(Wave& wave, uint32_t mask, uint32_t value) {
  wave.scalar[kM0] = (wave.scalar[kM0] & ~mask) | (value & mask);
}
void IndexOn(Wave& wave, const Instruction& inst) {
  wave.mode.bits |= kIndexEnable;
  SetIndexBits(wave, 0xff, wave.Read32(inst.src[0]));
  SetIndexBits(wave, 0xf000, wave.Read32(inst.src[1]) << 12);
}
void IndexOff(Wave& wave, const Instruction& /*inst*/) { wave.mode.bits &= ~kIndexEnable; }
void IndexSet(Wave& wave, const Instruction& inst) {
  SetIndexBits(wave, 0xff, wave.Read32(inst.src[0]));
}
void IndexMode(Wave& wave, const Instruction& inst) {
  SetIndexBits(wave, 0xf000, static_cast<uint32_t>(inst.imm) << 12);
}

}  // namespace

void RegisterScalarRegisters(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_getreg_b32", GetRegister);
  table.Add("s_setreg_b32", SetRegister);
  table.Add("s_setreg_imm32_b32", SetRegister);
  table.Add("s_movrels_b32", MoveRelativeSource<1>);
  table.Add("s_movrels_b64", MoveRelativeSource<2>);
  table.Add("s_movreld_b32", MoveRelativeDestination<1>);
  table.Add("s_movreld_b64", MoveRelativeDestination<2>);
  table.Add("s_set_gpr_idx_on", IndexOn);
  table.Add("s_set_gpr_idx_off", IndexOff);
  table.Add("s_set_gpr_idx_idx", IndexSet);
  table.Add("s_set_gpr_idx_mode", IndexMode);
}

}  // namespace lanewise::emulator
