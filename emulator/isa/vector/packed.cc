// Packed instructions: two 16-bit or two 32-bit elements a lane.

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/half_math.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/packed_op.h"

namespace lanewise::emulator {
namespace {

uint16_t Low16(uint32_t value) { return static_cast<uint16_t>(value); }
uint16_t ClampU(int64_t value) {
  return static_cast<uint16_t>(std::clamp<int64_t>(value, 0, 0xffff));
}
int16_t ClampI(int64_t value) {
  return static_cast<int16_t>(std::clamp<int64_t>(value, -0x8000, 0x7fff));
}

uint16_t Add(uint16_t a, uint16_t b) { return Low16(uint32_t{a} + b); }
uint16_t Sub(uint16_t a, uint16_t b) { return Low16(uint32_t{a} - b); }
uint16_t Mul(uint16_t a, uint16_t b) { return Low16(uint32_t{a} * b); }
uint16_t Mad(uint16_t a, uint16_t b, uint16_t c) { return Low16(uint32_t{a} * b + c); }
uint16_t AddClampedU(uint16_t a, uint16_t b) { return ClampU(int64_t{a} + b); }
uint16_t SubClampedU(uint16_t a, uint16_t b) { return ClampU(int64_t{a} - b); }
uint16_t MadClampedU(uint16_t a, uint16_t b, uint16_t c) { return ClampU(int64_t{a} * b + c); }
int16_t AddClampedI(int16_t a, int16_t b) { return ClampI(int64_t{a} + b); }
int16_t SubClampedI(int16_t a, int16_t b) { return ClampI(int64_t{a} - b); }
int16_t MadClampedI(int16_t a, int16_t b, int16_t c) { return ClampI(int64_t{a} * b + c); }

uint16_t ShiftLeftRev(uint16_t a, uint16_t b) { return Low16(uint32_t{b} << (a & 15)); }
uint16_t ShiftRightRev(uint16_t a, uint16_t b) { return Low16(uint32_t{b} >> (a & 15)); }
int16_t ShiftArithmeticRev(uint16_t a, int16_t b) { return static_cast<int16_t>(b >> (a & 15)); }
uint16_t MinU(uint16_t a, uint16_t b) { return std::min(a, b); }
uint16_t MaxU(uint16_t a, uint16_t b) { return std::max(a, b); }
int16_t MinI(int16_t a, int16_t b) { return std::min(a, b); }
int16_t MaxI(int16_t a, int16_t b) { return std::max(a, b); }

float AddF32(float a, float b) { return a + b; }
float MulF32(float a, float b) { return a * b; }
float FmaF32(float a, float b, float c) { return std::fma(a, b, c); }

// op_sel's bit 0 chooses the register of source 0 that becomes the low result, bit 1 that of source
// 1 that becomes the high one.
void MovePair(Wave& wave, const Instruction& inst) {
  LaneScratch scratch[2];
  const LaneRows a = FetchRows(wave, inst, 0, LaneType::kU64, scratch[0]);
  const LaneRows b = FetchRows(wave, inst, 1, LaneType::kU64, scratch[1]);
  LaneScratch result;
  const uint32_t* low = (inst.mod.op_sel & 1) != 0 ? a.hi : a.lo;
  const uint32_t* high = (inst.mod.op_sel & 2) != 0 ? b.hi : b.lo;
  for (int lane = 0; lane < kLanes; ++lane) result.lo[lane] = low[lane];
  for (int lane = 0; lane < kLanes; ++lane) result.hi[lane] = high[lane];
  CommitRows(wave, inst, 0, LaneType::kU64, wave.exec(), result);
}

// LLVM does not list the destination among the sources of this one.
void MultiplyAccumulate(Wave& wave, const Instruction& inst) {
  Instruction full = inst;
  full.src[2] = inst.dst[0];
  full.src_count = 3;
  PackedOp<FmaHalf>(wave, full);
}

}  // namespace

void RegisterPacked(Arch arch, HandlerTable& table) {
  table.Add("v_pk_add_f16", PackedOp<AddHalf>);
  table.Add("v_pk_mul_f16", PackedOp<MulHalf>);
  table.Add("v_pk_fma_f16", PackedOp<FmaHalf>);
  table.Add("v_pk_fmac_f16", MultiplyAccumulate);
  table.Add("v_pk_min_f16", IeeePackedOp<MinHalf<true>, MinHalf<false>>);
  table.Add("v_pk_max_f16", IeeePackedOp<MaxHalf<true>, MaxHalf<false>>);
  if (arch == Arch::kGfx950) {
    table.Add("v_pk_minimum3_f16", PackedOp<Minimum3Half>);
    table.Add("v_pk_maximum3_f16", PackedOp<Maximum3Half>);
  }

  table.Add("v_pk_add_u16", ClampedPackedOp<Add, AddClampedU>);
  table.Add("v_pk_sub_u16", ClampedPackedOp<Sub, SubClampedU>);
  table.Add("v_pk_add_i16", ClampedPackedOp<Add, AddClampedI>);
  table.Add("v_pk_sub_i16", ClampedPackedOp<Sub, SubClampedI>);
  table.Add("v_pk_mul_lo_u16", PackedOp<Mul>);
  table.Add("v_pk_mad_u16", ClampedPackedOp<Mad, MadClampedU>);
  table.Add("v_pk_mad_i16", ClampedPackedOp<Mad, MadClampedI>);
  table.Add("v_pk_lshlrev_b16", PackedOp<ShiftLeftRev>);
  table.Add("v_pk_lshrrev_b16", PackedOp<ShiftRightRev>);
  table.Add("v_pk_ashrrev_i16", PackedOp<ShiftArithmeticRev>);
  table.Add("v_pk_min_u16", PackedOp<MinU>);
  table.Add("v_pk_max_u16", PackedOp<MaxU>);
  table.Add("v_pk_min_i16", PackedOp<MinI>);
  table.Add("v_pk_max_i16", PackedOp<MaxI>);

  table.Add("v_pk_add_f32", PackedF32Op<AddF32>);
  table.Add("v_pk_mul_f32", PackedF32Op<MulF32>);
  table.Add("v_pk_fma_f32", PackedF32Op<FmaF32>);
  table.Add("v_pk_mov_b32", MovePair, {.undefined = UndefinedRule::kCopies});
}

}  // namespace lanewise::emulator
