// Scalar instructions on lane masks: EXEC saved and narrowed, quads, whole quads.

#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/scalar/scalar_op.h"

namespace lanewise::emulator {
namespace {

using Combine = uint64_t (*)(uint64_t source, uint64_t exec);

uint64_t And(uint64_t source, uint64_t exec) { return source & exec; }
uint64_t Or(uint64_t source, uint64_t exec) { return source | exec; }
uint64_t Xor(uint64_t source, uint64_t exec) { return source ^ exec; }
uint64_t AndNot2(uint64_t source, uint64_t exec) { return source & ~exec; }
uint64_t OrNot2(uint64_t source, uint64_t exec) { return source | ~exec; }
uint64_t AndNot1(uint64_t source, uint64_t exec) { return ~source & exec; }
uint64_t OrNot1(uint64_t source, uint64_t exec) { return ~source | exec; }
uint64_t Nand(uint64_t source, uint64_t exec) { return ~(source & exec); }
uint64_t Nor(uint64_t source, uint64_t exec) { return ~(source | exec); }
uint64_t Xnor(uint64_t source, uint64_t exec) { return ~(source ^ exec); }

// The destination gets EXEC as it was; EXEC the combination; SCC whether any lane is left.
template <Combine kCombine>
void SaveExec(Wave& wave, const Instruction& inst) {
  const uint64_t source = wave.Read64(inst.src[0]);
  const uint64_t exec = wave.exec();
  wave.Write64(inst.dst[0], exec);
  wave.set_exec(kCombine(source, exec));
  wave.set_scc(wave.exec() != 0);
}
// The combination goes to both.
template <Combine kCombine>
void WriteExec(Wave& wave, const Instruction& inst) {
  const uint64_t result = kCombine(wave.Read64(inst.src[0]), wave.exec());
  wave.set_exec(result);
  wave.Write64(inst.dst[0], result);
  wave.set_scc(result != 0);
}

// Bit i of the result: any of the bits 4 i .. 4 i + 3.
template <typename T>
WithScc<T> QuadMask(T a) {
  T result = 0;
  for (uint32_t quad = 0; quad < 2 * sizeof(T); ++quad) {
    if (((a >> (4 * quad)) & 0xf) != 0) result |= T{1} << quad;
  }
  return {result, result != 0};
}
// All four bits of a quad that has any.
template <typename T>
WithScc<T> WholeQuads(T a) {
  T result = 0;
  for (uint32_t quad = 0; quad < 2 * sizeof(T); ++quad) {
    if (((a >> (4 * quad)) & 0xf) != 0) result |= T{0xf} << (4 * quad);
  }
  return {result, result != 0};
}

}  // namespace

void RegisterScalarMasks(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_and_saveexec_b64", SaveExec<And>, {.scalars = ScalarRule::kActiveBits});
  table.Add("s_or_saveexec_b64", SaveExec<Or>, {.scalars = ScalarRule::kInactiveBits});
  table.Add("s_xor_saveexec_b64", SaveExec<Xor>);
  table.Add("s_andn2_saveexec_b64", SaveExec<AndNot2>);
  table.Add("s_orn2_saveexec_b64", SaveExec<OrNot2>);
  table.Add("s_andn1_saveexec_b64", SaveExec<AndNot1>);
  table.Add("s_orn1_saveexec_b64", SaveExec<OrNot1>);
  table.Add("s_nand_saveexec_b64", SaveExec<Nand>);
  table.Add("s_nor_saveexec_b64", SaveExec<Nor>);
  table.Add("s_xnor_saveexec_b64", SaveExec<Xnor>);
  table.Add("s_andn1_wrexec_b64", WriteExec<AndNot1>);
  table.Add("s_andn2_wrexec_b64", WriteExec<AndNot2>);
  table.Add("s_quadmask_b32", ScalarOp<QuadMask<uint32_t>>);
  table.Add("s_quadmask_b64", ScalarOp<QuadMask<uint64_t>>);
  table.Add("s_wqm_b32", ScalarOp<WholeQuads<uint32_t>>);
  table.Add("s_wqm_b64", ScalarOp<WholeQuads<uint64_t>>);
}

}  // namespace lanewise::emulator
