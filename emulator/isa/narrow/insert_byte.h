#ifndef LANEWISE_EMULATOR_ISA_NARROW_INSERT_BYTE_H_
#define LANEWISE_EMULATOR_ISA_NARROW_INSERT_BYTE_H_

// Handlers for operations whose result is one byte of the destination; the other three stay.
//
//   table.Add("v_cvt_sr_fp8_f32", InsertByte<ToByteStochastic<E4m3Fn>>);

#include <cstdint>

#include "emulator/instruction.h"
#include "emulator/isa/vector/vector_op.h"
#include "emulator/machine/vector_operand.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

// kOp returns the byte as uint32_t; op_sel's bits 3 and 2 name the byte of the destination.
template <auto kOp>
void InsertByte(Wave& wave, const Instruction& inst) {
  using Signature = internal::OpSignature<kOp>;
  constexpr auto kIndices = std::make_index_sequence<Signature::kArity>();
  const int shift = 8 * ((inst.mod.op_sel >> 2) & 3);
  const uint32_t kept = ~(0xffu << shift);
  const uint32_t* const old = wave.vector[inst.dst[0].index];
  LaneScratch result;
  internal::ForAllLanes<kOp>(wave, inst, kIndices, [&](int lane, uint32_t value) {
    result.lo[lane] = (old[lane] & kept) | value << shift;
  });
  CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), result);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_NARROW_INSERT_BYTE_H_
