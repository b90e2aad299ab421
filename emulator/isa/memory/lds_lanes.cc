// Movement between lanes by the LDS unit, which touches no LDS memory.

#include <algorithm>
#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/lane_movement.h"
#include "emulator/machine/vector_operand.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {
namespace {

void Commit(Wave& wave, const Instruction& inst, const LaneWords& values) {
  LaneScratch result;
  std::copy(values.begin(), values.end(), result.lo);
  CommitRows(wave, inst, 0, LaneType::kU32, wave.exec(), result);
}

void BackwardPermute32(Wave& wave, const Instruction& inst) {
  Commit(wave, inst,
         BackwardPermute(wave.vector[inst.src[0].index], wave.vector[inst.src[1].index],
                         static_cast<uint32_t>(inst.mem.offset), wave.exec()));
}

void ForwardPermute32(Wave& wave, const Instruction& inst) {
  Commit(wave, inst,
         ForwardPermute(wave.vector[inst.src[0].index], wave.vector[inst.src[1].index],
                        static_cast<uint32_t>(inst.mem.offset), wave.exec()));
}

void Swizzle32(Wave& wave, const Instruction& inst) {
  Commit(
      wave, inst,
      Swizzle(wave.vector[inst.src[0].index], static_cast<uint32_t>(inst.mem.offset), wave.exec()));
}

}  // namespace

void RegisterLdsLanes(Arch /*arch*/, HandlerTable& table) {
  constexpr Traits kCrossLane{.klass = InstructionClass::kCrossLane};
  table.Add("ds_bpermute_b32", BackwardPermute32, kCrossLane);
  table.Add("ds_permute_b32", ForwardPermute32, kCrossLane);
  table.Add("ds_swizzle_b32", Swizzle32, kCrossLane);
}

}  // namespace lanewise::emulator
