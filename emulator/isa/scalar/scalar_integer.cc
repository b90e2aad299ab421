// Scalar arithmetic.

#include <algorithm>
#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/scalar/scalar_op.h"

namespace lanewise::emulator {
namespace {

using U = WithScc<uint32_t>;
using I = WithScc<int32_t>;

uint32_t Unsigned(int32_t a) { return static_cast<uint32_t>(a); }

// SCC is the carry of unsigned and the overflow of signed sums.
U AddU32(uint32_t a, uint32_t b) { return {a + b, a + b < a}; }
U SubU32(uint32_t a, uint32_t b) { return {a - b, a < b}; }
bool Overflows(int64_t exact) { return exact != static_cast<int32_t>(exact); }
I AddI32(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + b;
  return {static_cast<int32_t>(sum), Overflows(sum)};
}
I SubI32(int32_t a, int32_t b) {
  const int64_t difference = int64_t{a} - b;
  return {static_cast<int32_t>(difference), Overflows(difference)};
}
U AddCarry(uint32_t a, uint32_t b, Scc carry) {
  const uint64_t sum = uint64_t{a} + b + (carry.value ? 1 : 0);
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}
U SubBorrow(uint32_t a, uint32_t b, Scc borrow) {
  const uint64_t difference = uint64_t{a} - b - (borrow.value ? 1 : 0);
  return {static_cast<uint32_t>(difference), difference >> 32 != 0};
}

uint32_t MulI32(uint32_t a, uint32_t b) { return a * b; }
uint32_t MulHighU32(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>((uint64_t{a} * b) >> 32);
}
uint32_t MulHighI32(int32_t a, int32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(int64_t{a} * b) >> 32);
}
template <int kShift>
U ShiftAdd(uint32_t a, uint32_t b) {
  const uint64_t sum = (uint64_t{a} << kShift) + b;
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}

// SCC says that the first operand was chosen.
I MinI32(int32_t a, int32_t b) { return {std::min(a, b), a < b}; }
I MaxI32(int32_t a, int32_t b) { return {std::max(a, b), a > b}; }
U MinU32(uint32_t a, uint32_t b) { return {std::min(a, b), a < b}; }
U MaxU32(uint32_t a, uint32_t b) { return {std::max(a, b), a > b}; }

U Abs(int32_t a) {
  const uint32_t value = a < 0 ? 0u - Unsigned(a) : Unsigned(a);
  return {value, value != 0};
}
U AbsDifference(int32_t a, int32_t b) {
  // The difference is cut to 32 bits before its sign is taken.
  return Abs(static_cast<int32_t>(Unsigned(a) - Unsigned(b)));
}
int32_t ExtendByte(uint32_t a) { return static_cast<int8_t>(a); }
int32_t ExtendHalf(uint32_t a) { return static_cast<int16_t>(a); }

uint32_t Select32(uint32_t a, uint32_t b, Scc scc) { return scc.value ? a : b; }
uint64_t Select64(uint64_t a, uint64_t b, Scc scc) { return scc.value ? a : b; }

uint32_t PackLowLow(uint32_t a, uint32_t b) { return (a & 0xffffu) | b << 16; }
uint32_t PackLowHigh(uint32_t a, uint32_t b) { return (a & 0xffffu) | (b & 0xffff0000u); }
uint32_t PackHighHigh(uint32_t a, uint32_t b) { return a >> 16 | (b & 0xffff0000u); }

// ---- with a 16-bit constant ----

void MoveConstant(Wave& wave, const Instruction& inst) {
  wave.Write32(inst.dst[0], Unsigned(inst.imm));
}
void ConditionalMoveConstant(Wave& wave, const Instruction& inst) {
  if (wave.scc()) wave.Write32(inst.dst[0], Unsigned(inst.imm));
}
void AddConstant(Wave& wave, const Instruction& inst) {
  const I sum = AddI32(static_cast<int32_t>(wave.Read32(inst.dst[0])), inst.imm);
  wave.Write32(inst.dst[0], Unsigned(sum.value));
  wave.set_scc(sum.scc);
}
void MulConstant(Wave& wave, const Instruction& inst) {
  wave.Write32(inst.dst[0], wave.Read32(inst.dst[0]) * Unsigned(inst.imm));
}

// Moves that keep the destination without SCC.
void ConditionalMove32(Wave& wave, const Instruction& inst) {
  if (wave.scc()) wave.Write32(inst.dst[0], wave.Read32(inst.src[0]));
}
void ConditionalMove64(Wave& wave, const Instruction& inst) {
  if (wave.scc()) wave.Write64(inst.dst[0], wave.Read64(inst.src[0]));
}

}  // namespace

void RegisterScalarInteger(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_add_u32", ScalarOp<AddU32>);
  table.Add("s_sub_u32", ScalarOp<SubU32>);
  table.Add("s_add_i32", ScalarOp<AddI32>);
  table.Add("s_sub_i32", ScalarOp<SubI32>);
  table.Add("s_addc_u32", ScalarOp<AddCarry>);
  table.Add("s_subb_u32", ScalarOp<SubBorrow>);
  table.Add("s_mul_i32", ScalarOp<MulI32>);
  table.Add("s_mul_hi_u32", ScalarOp<MulHighU32>);
  table.Add("s_mul_hi_i32", ScalarOp<MulHighI32>);
  table.Add("s_lshl1_add_u32", ScalarOp<ShiftAdd<1>>);
  table.Add("s_lshl2_add_u32", ScalarOp<ShiftAdd<2>>);
  table.Add("s_lshl3_add_u32", ScalarOp<ShiftAdd<3>>);
  table.Add("s_lshl4_add_u32", ScalarOp<ShiftAdd<4>>);
  table.Add("s_min_i32", ScalarOp<MinI32>);
  table.Add("s_max_i32", ScalarOp<MaxI32>);
  table.Add("s_min_u32", ScalarOp<MinU32>);
  table.Add("s_max_u32", ScalarOp<MaxU32>);
  table.Add("s_abs_i32", ScalarOp<Abs>);
  table.Add("s_absdiff_i32", ScalarOp<AbsDifference>);
  table.Add("s_sext_i32_i8", ScalarOp<ExtendByte>);
  table.Add("s_sext_i32_i16", ScalarOp<ExtendHalf>);
  table.Add("s_cselect_b32", ScalarOp<Select32>, {.undefined = UndefinedRule::kSelect});
  table.Add("s_cselect_b64", ScalarOp<Select64>, {.undefined = UndefinedRule::kSelect});
  table.Add("s_cmov_b32", ConditionalMove32);
  table.Add("s_cmov_b64", ConditionalMove64);
  table.Add("s_pack_ll_b32_b16", ScalarOp<PackLowLow>);
  table.Add("s_pack_lh_b32_b16", ScalarOp<PackLowHigh>);
  table.Add("s_pack_hh_b32_b16", ScalarOp<PackHighHigh>);
  table.Add("s_movk_i32", MoveConstant);
  table.Add("s_cmovk_i32", ConditionalMoveConstant);
  table.Add("s_addk_i32", AddConstant);
  table.Add("s_mulk_i32", MulConstant);
}

}  // namespace lanewise::emulator
