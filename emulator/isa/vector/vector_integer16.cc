// Integer arithmetic of 16 bits, one value a lane (packed.cc has two).

#include <algorithm>
#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

uint16_t Low16(uint32_t value) { return static_cast<uint16_t>(value); }
uint16_t ClampU(int64_t value) {
  return Low16(static_cast<uint32_t>(std::clamp<int64_t>(value, 0, 0xffff)));
}
int16_t ClampI(int64_t value) {
  return static_cast<int16_t>(std::clamp<int64_t>(value, -0x8000, 0x7fff));
}

uint16_t Add(uint16_t a, uint16_t b) { return Low16(uint32_t{a} + b); }
uint16_t Sub(uint16_t a, uint16_t b) { return Low16(uint32_t{a} - b); }
uint16_t SubRev(uint16_t a, uint16_t b) { return Sub(b, a); }
uint16_t AddClampedU(uint16_t a, uint16_t b) { return ClampU(int64_t{a} + b); }
uint16_t SubClampedU(uint16_t a, uint16_t b) { return ClampU(int64_t{a} - b); }
uint16_t SubRevClampedU(uint16_t a, uint16_t b) { return SubClampedU(b, a); }
int16_t AddClampedI(int16_t a, int16_t b) { return ClampI(int64_t{a} + b); }
int16_t SubClampedI(int16_t a, int16_t b) { return ClampI(int64_t{a} - b); }

uint16_t Mul(uint16_t a, uint16_t b) { return Low16(uint32_t{a} * b); }
uint16_t Mad(uint16_t a, uint16_t b, uint16_t c) { return Low16(uint32_t{a} * b + c); }
uint16_t MadClampedU(uint16_t a, uint16_t b, uint16_t c) { return ClampU(int64_t{a} * b + c); }
int16_t MadClampedI(int16_t a, int16_t b, int16_t c) { return ClampI(int64_t{a} * b + c); }

// 16-bit factors, a 32-bit sum.
uint32_t MadWideU(uint16_t a, uint16_t b, uint32_t c) { return uint32_t{a} * b + c; }
uint32_t MadWideI(int16_t a, int16_t b, uint32_t c) {
  return static_cast<uint32_t>(int32_t{a} * b) + c;
}
uint32_t MadWideClampedU(uint16_t a, uint16_t b, uint32_t c) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{a} * b + c, 0xffffffffu));
}
uint32_t MadWideClampedI(int16_t a, int16_t b, int32_t c) {
  return static_cast<uint32_t>(std::clamp<int64_t>(int64_t{a} * b + c, INT32_MIN, INT32_MAX));
}

uint16_t ShiftLeftRev(uint16_t a, uint16_t b) { return Low16(uint32_t{b} << (a & 15)); }
uint16_t ShiftRightRev(uint16_t a, uint16_t b) { return Low16(uint32_t{b} >> (a & 15)); }
int16_t ShiftArithmeticRev(uint16_t a, int16_t b) { return static_cast<int16_t>(b >> (a & 15)); }

uint16_t MinU(uint16_t a, uint16_t b) { return std::min(a, b); }
uint16_t MaxU(uint16_t a, uint16_t b) { return std::max(a, b); }
int16_t MinI(int16_t a, int16_t b) { return std::min(a, b); }
int16_t MaxI(int16_t a, int16_t b) { return std::max(a, b); }
uint16_t Min3U(uint16_t a, uint16_t b, uint16_t c) { return MinU(MinU(a, b), c); }
uint16_t Max3U(uint16_t a, uint16_t b, uint16_t c) { return MaxU(MaxU(a, b), c); }
int16_t Min3I(int16_t a, int16_t b, int16_t c) { return MinI(MinI(a, b), c); }
int16_t Max3I(int16_t a, int16_t b, int16_t c) { return MaxI(MaxI(a, b), c); }
uint16_t Med3U(uint16_t a, uint16_t b, uint16_t c) { return MaxU(MinU(a, b), MinU(MaxU(a, b), c)); }
int16_t Med3I(int16_t a, int16_t b, int16_t c) { return MaxI(MinI(a, b), MinI(MaxI(a, b), c)); }

uint32_t Pack(Half a, Half b) { return a.bits | uint32_t{b.bits} << 16; }

// Two signed halves, each clamped to an unsigned byte.
uint16_t SaturateBytes(uint32_t a) {
  const int low = std::clamp<int>(static_cast<int16_t>(a), 0, 255);
  const int high = std::clamp<int>(static_cast<int16_t>(a >> 16), 0, 255);
  return static_cast<uint16_t>(low | high << 8);
}

}  // namespace

void RegisterVectorInteger16(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_add_u16", ClampedOp<Add, AddClampedU>);
  table.Add("v_sub_u16", ClampedOp<Sub, SubClampedU>);
  table.Add("v_subrev_u16", ClampedOp<SubRev, SubRevClampedU>);
  table.Add("v_add_i16", ClampedOp<Add, AddClampedI, kKeepHigh>);
  table.Add("v_sub_i16", ClampedOp<Sub, SubClampedI, kKeepHigh>);
  table.Add("v_mul_lo_u16", VectorOp<Mul>);
  table.Add("v_mad_u16", ClampedOp<Mad, MadClampedU, kKeepHigh>);
  table.Add("v_mad_i16", ClampedOp<Mad, MadClampedI, kKeepHigh>);
  table.Add("v_mad_legacy_u16", ClampedOp<Mad, MadClampedU>);
  table.Add("v_mad_legacy_i16", ClampedOp<Mad, MadClampedI>);
  table.Add("v_mad_u32_u16", ClampedOp<MadWideU, MadWideClampedU>);
  table.Add("v_mad_i32_i16", ClampedOp<MadWideI, MadWideClampedI>);
  table.Add("v_lshlrev_b16", VectorOp<ShiftLeftRev>);
  table.Add("v_lshrrev_b16", VectorOp<ShiftRightRev>);
  table.Add("v_ashrrev_i16", VectorOp<ShiftArithmeticRev>);
  table.Add("v_min_u16", VectorOp<MinU>);
  table.Add("v_max_u16", VectorOp<MaxU>);
  table.Add("v_min_i16", VectorOp<MinI>);
  table.Add("v_max_i16", VectorOp<MaxI>);
  table.Add("v_min3_u16", VectorOp<Min3U, kKeepHigh>);
  table.Add("v_max3_u16", VectorOp<Max3U, kKeepHigh>);
  table.Add("v_min3_i16", VectorOp<Min3I, kKeepHigh>);
  table.Add("v_max3_i16", VectorOp<Max3I, kKeepHigh>);
  table.Add("v_med3_u16", VectorOp<Med3U, kKeepHigh>);
  table.Add("v_med3_i16", VectorOp<Med3I, kKeepHigh>);
  table.Add("v_pack_b32_f16", VectorOp<Pack>);
  table.Add("v_sat_pk_u8_i16", VectorOp<SaturateBytes>);
}

}  // namespace lanewise::emulator
