#ifndef LANEWISE_EMULATOR_MACHINE_VECTOR_OPERAND_H_
#define LANEWISE_EMULATOR_MACHINE_VECTOR_OPERAND_H_

// Operands of vector instructions as arrays of 64 lanes: broadcasts, source modifiers, SDWA selects
// and DPP patterns on the way in; output modifiers, EXEC, SDWA and DPP write masks on the way out.

#include <cstdint>

#include "emulator/instruction.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// How a handler reads or writes an operand; decides which bits neg, abs, omod, clamp and the
// denormal modes act on.
enum class LaneType : uint8_t {
  kU32,      // 32 bits or a signed or unsigned integer: no float modifier, SDWA sign extension
  kF32,      // float: modifiers at bit 31, denormals flushed where MODE says so
  kF32Bits,  // as kF32, denormals kept (v_cndmask)
  kU64,      // two rows
  kF64,
  kF64Bits,  // as kF64, denormals kept
  kF16,      // low half, or the half that op_sel or SDWA names; zero-extended in the lane's word
  kF16Bits,  // as kF16, denormals kept
  kU16,      // as kF16 without float modifiers
  kI16,      // as kU16, sign-extended in the lane's word
};

constexpr bool IsWide(LaneType type) {
  return type == LaneType::kU64 || type == LaneType::kF64 || type == LaneType::kF64Bits;
}
constexpr bool IsNarrow(LaneType type) {
  return type == LaneType::kF16 || type == LaneType::kF16Bits || type == LaneType::kU16 ||
         type == LaneType::kI16;
}

// One operand of all lanes: lo[l] and, where wide, hi[l].
struct LaneRows {
  const uint32_t* lo = nullptr;
  const uint32_t* hi = nullptr;
};

struct alignas(64) LaneScratch {
  LaneScratch() {}  // on purpose not initialised: 512 bytes a vector operand
  uint32_t lo[kLanes];
  uint32_t hi[kLanes];
};

// Source `index` of the instruction. The rows are the wave's own where nothing changes them,
// otherwise `scratch`; they live until either is written.
LaneRows FetchRows(const Wave& wave, const Instruction& inst, int index, LaneType type,
                   LaneScratch& scratch);

// The lanes that a vector instruction writes: EXEC, less what DPP's masks and patterns turn off.
uint64_t WriteMask(const Wave& wave, const Instruction& inst);

// Whether results may be written straight into the destination rows: every lane active and no
// modifier or flush to apply.
bool WritesDirectly(const Wave& wave, const Instruction& inst, LaneType type);

// Writes result `index` where `mask` has a 1, after output modifiers and SDWA's merge. A 16-bit
// result clears the upper half, or keeps the other half where op_sel's bit 3 is set or
// `keep_high` says so.
void CommitRows(Wave& wave, const Instruction& inst, int index, LaneType type, uint64_t mask,
                const LaneScratch& result, bool keep_high = false);

// Writes a pair of floats to destination 0 and the register behind it, each with the clamp and the
// denormal mode of a float.
void CommitF32Pair(Wave& wave, const Instruction& inst, const LaneScratch& result);

// words[l] = all ones where bit l of the mask is set, else 0; and back (any bit 0 set counts).
void ExpandMask(uint64_t mask, uint32_t words[kLanes]);
uint64_t PackMask(const uint32_t words[kLanes]);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_MACHINE_VECTOR_OPERAND_H_
