// Bits of 32- and 64-bit words: logic, shifts, fields, counts, and byte shuffles.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

// ---- logic ----

uint32_t And(uint32_t a, uint32_t b) { return a & b; }
uint32_t Or(uint32_t a, uint32_t b) { return a | b; }
uint32_t Xor(uint32_t a, uint32_t b) { return a ^ b; }
uint32_t Xnor(uint32_t a, uint32_t b) { return ~(a ^ b); }
uint32_t Not(uint32_t a) { return ~a; }
uint32_t AndOr(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }
uint32_t Or3(uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }
uint32_t ShiftLeftOr(uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) | c; }

// ---- shifts; "rev" operands: the amount comes first ----

uint32_t ShiftLeftRev(uint32_t a, uint32_t b) { return b << (a & 31); }
uint32_t ShiftRightRev(uint32_t a, uint32_t b) { return b >> (a & 31); }
int32_t ShiftArithmeticRev(uint32_t a, int32_t b) { return b >> (a & 31); }
uint64_t ShiftLeftRev64(uint32_t a, uint64_t b) { return b << (a & 63); }
uint64_t ShiftRightRev64(uint32_t a, uint64_t b) { return b >> (a & 63); }
int64_t ShiftArithmeticRev64(uint32_t a, int64_t b) { return b >> (a & 63); }
uint32_t AlignBit(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>((uint64_t{a} << 32 | b) >> (c & 31));
}
uint32_t AlignByte(uint32_t a, uint32_t b, uint32_t c) { return AlignBit(a, b, 8 * (c & 3)); }

// ---- fields: offset in bits 4..0 of b, width in bits 4..0 of c ----

uint32_t FieldU(uint32_t a, uint32_t b, uint32_t c) {
  return (a >> (b & 31)) & ((1u << (c & 31)) - 1);
}
// A field that reaches beyond bit 31 takes the copies of the sign that the shift makes.
int32_t FieldI(int32_t a, uint32_t b, uint32_t c) {
  const uint32_t width = c & 31;
  const uint32_t sign = (1u << width) >> 1;
  const uint32_t field = static_cast<uint32_t>(a >> (b & 31)) & ((1u << width) - 1);
  return static_cast<int32_t>((field ^ sign) - sign);
}
uint32_t FieldInsert(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | (~a & c); }
uint32_t FieldMask(uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1) << (b & 31); }

// ---- counts ----

uint32_t BitCount(uint32_t a, uint32_t b) {
  a = a - ((a >> 1) & 0x55555555u);
  a = (a & 0x33333333u) + ((a >> 2) & 0x33333333u);
  a = (a + (a >> 4)) & 0x0f0f0f0fu;
  return ((a * 0x01010101u) >> 24) + b;
}
uint32_t Reverse(uint32_t a) {
  a = ((a >> 1) & 0x55555555u) | (a & 0x55555555u) << 1;
  a = ((a >> 2) & 0x33333333u) | (a & 0x33333333u) << 2;
  a = ((a >> 4) & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = ((a >> 8) & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}
// Position of the first 1 from the top, -1 for none.
uint32_t FirstHighU(uint32_t a) {
  return a == 0 ? 0xffffffffu : static_cast<uint32_t>(std::countl_zero(a));
}
// Position of the first bit from the top that differs from the sign, -1 for none.
uint32_t FirstHighI(uint32_t a) { return FirstHighU((a >> 31) != 0 ? ~a : a); }
uint32_t FirstLow(uint32_t a) {
  return a == 0 ? 0xffffffffu : static_cast<uint32_t>(std::countr_zero(a));
}

// ---- bytes ----

// One byte of v_perm_b32's result. Selectors 0..3 take a byte of b, 4..7 of a, 8..11 the sign of
// the halves of b and a, 12 is 0x00, above it 0xff.
uint32_t PermByte(uint64_t bytes, uint32_t selector) {
  if (selector >= 13) return 0xff;
  if (selector == 12) return 0x00;
  if (selector >= 8) return ((bytes >> (16 * (selector - 8) + 15)) & 1) != 0 ? 0xff : 0x00;
  return (bytes >> (8 * selector)) & 0xff;
}
uint32_t Perm(uint32_t a, uint32_t b, uint32_t c) {
  const uint64_t bytes = uint64_t{a} << 32 | b;
  uint32_t result = 0;
  for (int i = 0; i < 4; ++i) result |= PermByte(bytes, (c >> (8 * i)) & 0xff) << (8 * i);
  return result;
}

// With the same selectors in all lanes, as compilers have them, each byte is one shift.
void PermUniform(Wave& wave, const Instruction& inst) {
  const uint32_t selectors = wave.Read32(inst.src[2]);
  LaneScratch scratch[2];
  const uint32_t* a = FetchRows(wave, inst, 0, LaneType::kU32, scratch[0]).lo;
  const uint32_t* b = FetchRows(wave, inst, 1, LaneType::kU32, scratch[1]).lo;
  LaneScratch result;
  std::memset(result.lo, 0, sizeof(result.lo));
  for (int i = 0; i < 4; ++i) {
    const uint32_t selector = (selectors >> (8 * i)) & 0xff;
    if (selector < 8) {
      const uint32_t* const source = selector < 4 ? b : a;
      const uint32_t shift = 8 * (selector & 3);
      for (int l = 0; l < kLanes; ++l) {
        result.lo[l] |= ((source[l] >> shift) & 0xff) << (8 * i);
      }
    } else {
      for (int l = 0; l < kLanes; ++l) {
        result.lo[l] |= PermByte(uint64_t{a[l]} << 32 | b[l], selector) << (8 * i);
      }
    }
  }
  CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), result);
}
void PermBytes(Wave& wave, const Instruction& inst) {
  (inst.src[2].is_vector() ? VectorOp<Perm> : PermUniform)(wave, inst);
}

// ---- gfx950 ----

// One step of a 32-bit Galois shift register with the polynomial 0xc5.
uint32_t RandomStep(uint32_t a) { return (a << 1) ^ ((a >> 31) != 0 ? 0xc5u : 0u); }

// v_bitop3 has its truth table where other instructions of its encoding have their modifiers. Bit i
// of the table is the result for a, b, c = bits 2, 1, 0 of i.
uint32_t BitOp3(uint32_t a, uint32_t b, uint32_t c, const Instruction& inst) {
  const uint32_t table =
      static_cast<uint32_t>(inst.mod.omod << 6 | inst.mod.abs << 3 | inst.mod.neg);
  uint32_t result = 0;
  for (uint32_t minterm = 0; minterm < 8; ++minterm) {
    const uint32_t match = ((minterm & 4) != 0 ? a : ~a) & ((minterm & 2) != 0 ? b : ~b) &
                           ((minterm & 1) != 0 ? c : ~c);
    result |= match & (0u - ((table >> minterm) & 1u));
  }
  return result;
}

uint16_t BitOp3Half(uint16_t a, uint16_t b, uint16_t c, const Instruction& inst) {
  return static_cast<uint16_t>(BitOp3(a, b, c, inst));
}

// A shift right, clamped to a byte: two bytes make a half.
template <int32_t kLeast, int32_t kMost>
uint16_t ShiftedBytes(int32_t a, int32_t b, uint32_t c) {
  const int32_t low = std::clamp(a >> (c & 31), kLeast, kMost);
  const int32_t high = std::clamp(b >> (c & 31), kLeast, kMost);
  return static_cast<uint16_t>((low & 0xff) | (high & 0xff) << 8);
}

}  // namespace

void RegisterVectorBits(Arch arch, HandlerTable& table) {
  table.Add("v_and_b32", VectorOp<And>);
  table.Add("v_or_b32", VectorOp<Or>);
  table.Add("v_xor_b32", VectorOp<Xor>);
  table.Add("v_xnor_b32", VectorOp<Xnor>);
  table.Add("v_not_b32", VectorOp<Not>);
  table.Add("v_and_or_b32", VectorOp<AndOr>);
  table.Add("v_or3_b32", VectorOp<Or3>);
  table.Add("v_lshl_or_b32", VectorOp<ShiftLeftOr>);
  table.Add("v_lshlrev_b32", VectorOp<ShiftLeftRev>);
  table.Add("v_lshrrev_b32", VectorOp<ShiftRightRev>);
  table.Add("v_ashrrev_i32", VectorOp<ShiftArithmeticRev>);
  table.Add("v_lshlrev_b64", VectorOp<ShiftLeftRev64>);
  table.Add("v_lshrrev_b64", VectorOp<ShiftRightRev64>);
  table.Add("v_ashrrev_i64", VectorOp<ShiftArithmeticRev64>);
  table.Add("v_alignbit_b32", VectorOp<AlignBit>);
  table.Add("v_alignbyte_b32", VectorOp<AlignByte>);
  table.Add("v_bfe_u32", VectorOp<FieldU>);
  table.Add("v_bfe_i32", VectorOp<FieldI>);
  table.Add("v_bfi_b32", VectorOp<FieldInsert>);
  table.Add("v_bfm_b32", VectorOp<FieldMask>);
  table.Add("v_bcnt_u32_b32", VectorOp<BitCount>);
  table.Add("v_bfrev_b32", VectorOp<Reverse>);
  table.Add("v_ffbh_u32", VectorOp<FirstHighU>);
  table.Add("v_ffbh_i32", VectorOp<FirstHighI>);
  table.Add("v_ffbl_b32", VectorOp<FirstLow>);
  table.Add("v_perm_b32", PermBytes);
  if (arch == Arch::kGfx950) {
    table.Add("v_prng_b32", VectorOp<RandomStep>);
    table.Add("v_bitop3_b32", VectorOp<BitOp3>);
    table.Add("v_bitop3_b16", VectorOp<BitOp3Half, kKeepHigh>);
    table.Add("v_ashr_pk_i8_i32", VectorOp<ShiftedBytes<-128, 127>, kKeepHigh>);
    table.Add("v_ashr_pk_u8_i32", VectorOp<ShiftedBytes<0, 255>, kKeepHigh>);
  }
}

}  // namespace lanewise::emulator
