// Bits of scalar words of 32 and 64 bits: logic, shifts, fields, counts. SCC is "the result is not
// zero" where an instruction sets it.

#include <bit>
#include <cstdint>
#include <type_traits>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/scalar/scalar_op.h"

namespace lanewise::emulator {
namespace {

template <typename T>
WithScc<T> NonZero(T value) {
  return {value, value != 0};
}

template <typename T>
struct Word {
  static constexpr uint32_t kBits = 8 * sizeof(T);
  using Signed = std::make_signed_t<T>;

  static WithScc<T> And(T a, T b) { return NonZero<T>(a & b); }
  static WithScc<T> Or(T a, T b) { return NonZero<T>(a | b); }
  static WithScc<T> Xor(T a, T b) { return NonZero<T>(a ^ b); }
  static WithScc<T> AndNot(T a, T b) { return NonZero<T>(a & ~b); }
  static WithScc<T> OrNot(T a, T b) { return NonZero<T>(a | ~b); }
  static WithScc<T> Nand(T a, T b) { return NonZero<T>(~(a & b)); }
  static WithScc<T> Nor(T a, T b) { return NonZero<T>(~(a | b)); }
  static WithScc<T> Xnor(T a, T b) { return NonZero<T>(~(a ^ b)); }
  static WithScc<T> Not(T a) { return NonZero<T>(~a); }

  static WithScc<T> ShiftLeft(T a, uint32_t b) { return NonZero<T>(a << (b % kBits)); }
  static WithScc<T> ShiftRight(T a, uint32_t b) { return NonZero<T>(a >> (b % kBits)); }
  static WithScc<T> ShiftArithmetic(Signed a, uint32_t b) {
    return NonZero<T>(static_cast<T>(a >> (b % kBits)));
  }

  static T FieldMask(uint32_t a, uint32_t b) { return ((T{1} << (a % kBits)) - 1) << (b % kBits); }
  // b: the offset in its low 5 (6) bits, the width in bits 22..16; a width of the word's or more
  // means everything above the offset.
  static WithScc<T> FieldU(T a, uint32_t b) {
    const uint32_t width = (b >> 16) & 0x7f;
    const T shifted = a >> (b % kBits);
    return NonZero<T>(width >= kBits ? shifted : shifted & ((T{1} << width) - 1));
  }
  static WithScc<T> FieldI(Signed a, uint32_t b) {
    const uint32_t width = (b >> 16) & 0x7f;
    const auto shifted = static_cast<T>(a >> (b % kBits));
    if (width == 0) return NonZero<T>(0);
    if (width >= kBits) return NonZero<T>(shifted);
    const T sign = T{1} << (width - 1);
    return NonZero<T>(((shifted & ((T{1} << width) - 1)) ^ sign) - sign);
  }

  static T Reverse(T a) {
    T result = 0;
    for (uint32_t i = 0; i < kBits; ++i) result |= ((a >> i) & 1) << (kBits - 1 - i);
    return result;
  }
  static WithScc<uint32_t> CountOnes(T a) {
    return NonZero(static_cast<uint32_t>(std::popcount(a)));
  }
  static WithScc<uint32_t> CountZeros(T a) {
    return NonZero(static_cast<uint32_t>(std::popcount(static_cast<T>(~a))));
  }
  // Positions, -1 where there is none.
  static int32_t FirstOne(T a) { return a == 0 ? -1 : std::countr_zero(a); }
  static int32_t FirstZero(T a) { return FirstOne(static_cast<T>(~a)); }
  static int32_t FirstHighOne(T a) { return a == 0 ? -1 : std::countl_zero(a); }
  static int32_t FirstUnlikeSign(Signed a) { return FirstHighOne(static_cast<T>(a < 0 ? ~a : a)); }
};

using W32 = Word<uint32_t>;
using W64 = Word<uint64_t>;

uint64_t ReplicateBits(uint32_t a) {
  uint64_t result = 0;
  for (int i = 0; i < 32; ++i) result |= static_cast<uint64_t>((a >> i) & 1) * 3 << (2 * i);
  return result;
}

// The destination's bit that source 0 names.
template <typename T, bool kValue>
void SetBit(Wave& wave, const Instruction& inst) {
  const T bit = T{1} << (wave.Read32(inst.src[0]) % Word<T>::kBits);
  const T old = sizeof(T) == 8 ? static_cast<T>(wave.Read64(inst.dst[0]))
                               : static_cast<T>(wave.Read32(inst.dst[0]));
  const T value = kValue ? old | bit : old & ~bit;
  if constexpr (sizeof(T) == 8) {
    wave.Write64(inst.dst[0], value);
  } else {
    wave.Write32(inst.dst[0], value);
  }
}

}  // namespace

void RegisterScalarBits(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_and_b32", ScalarOp<W32::And>, {.undefined = UndefinedRule::kAnd});
  table.Add("s_and_b64", ScalarOp<W64::And>, {.undefined = UndefinedRule::kAnd});
  table.Add("s_or_b32", ScalarOp<W32::Or>, {.undefined = UndefinedRule::kOr});
  table.Add("s_or_b64", ScalarOp<W64::Or>, {.undefined = UndefinedRule::kOr});
  table.Add("s_xor_b32", ScalarOp<W32::Xor>, {.undefined = UndefinedRule::kXor});
  table.Add("s_xor_b64", ScalarOp<W64::Xor>, {.undefined = UndefinedRule::kXor});
  table.Add("s_andn2_b32", ScalarOp<W32::AndNot>, {.undefined = UndefinedRule::kAndNot});
  table.Add("s_andn2_b64", ScalarOp<W64::AndNot>, {.undefined = UndefinedRule::kAndNot});
  table.Add("s_orn2_b32", ScalarOp<W32::OrNot>, {.undefined = UndefinedRule::kOrNot});
  table.Add("s_orn2_b64", ScalarOp<W64::OrNot>, {.undefined = UndefinedRule::kOrNot});
  table.Add("s_nand_b32", ScalarOp<W32::Nand>);
  table.Add("s_nand_b64", ScalarOp<W64::Nand>, {.undefined = UndefinedRule::kAnd});
  table.Add("s_nor_b32", ScalarOp<W32::Nor>);
  table.Add("s_nor_b64", ScalarOp<W64::Nor>, {.undefined = UndefinedRule::kOr});
  table.Add("s_xnor_b32", ScalarOp<W32::Xnor>);
  table.Add("s_xnor_b64", ScalarOp<W64::Xnor>, {.undefined = UndefinedRule::kXor});
  table.Add("s_not_b32", ScalarOp<W32::Not>, {.undefined = UndefinedRule::kCopies});
  table.Add("s_not_b64", ScalarOp<W64::Not>, {.undefined = UndefinedRule::kCopies});
  table.Add("s_lshl_b32", ScalarOp<W32::ShiftLeft>);
  table.Add("s_lshl_b64", ScalarOp<W64::ShiftLeft>);
  table.Add("s_lshr_b32", ScalarOp<W32::ShiftRight>);
  table.Add("s_lshr_b64", ScalarOp<W64::ShiftRight>);
  table.Add("s_ashr_i32", ScalarOp<W32::ShiftArithmetic>);
  table.Add("s_ashr_i64", ScalarOp<W64::ShiftArithmetic>);
  table.Add("s_bfm_b32", ScalarOp<W32::FieldMask>);
  table.Add("s_bfm_b64", ScalarOp<W64::FieldMask>);
  table.Add("s_bfe_u32", ScalarOp<W32::FieldU>);
  table.Add("s_bfe_u64", ScalarOp<W64::FieldU>);
  table.Add("s_bfe_i32", ScalarOp<W32::FieldI>);
  table.Add("s_bfe_i64", ScalarOp<W64::FieldI>);
  table.Add("s_brev_b32", ScalarOp<W32::Reverse>);
  table.Add("s_brev_b64", ScalarOp<W64::Reverse>);
  table.Add("s_bcnt1_i32_b32", ScalarOp<W32::CountOnes>);
  table.Add("s_bcnt1_i32_b64", ScalarOp<W64::CountOnes>);
  table.Add("s_bcnt0_i32_b32", ScalarOp<W32::CountZeros>);
  table.Add("s_bcnt0_i32_b64", ScalarOp<W64::CountZeros>);
  table.Add("s_ff1_i32_b32", ScalarOp<W32::FirstOne>);
  table.Add("s_ff1_i32_b64", ScalarOp<W64::FirstOne>);
  table.Add("s_ff0_i32_b32", ScalarOp<W32::FirstZero>);
  table.Add("s_ff0_i32_b64", ScalarOp<W64::FirstZero>);
  table.Add("s_flbit_i32_b32", ScalarOp<W32::FirstHighOne>);
  table.Add("s_flbit_i32_b64", ScalarOp<W64::FirstHighOne>);
  table.Add("s_flbit_i32", ScalarOp<W32::FirstUnlikeSign>);
  table.Add("s_flbit_i32_i64", ScalarOp<W64::FirstUnlikeSign>);
  table.Add("s_bitset0_b32", SetBit<uint32_t, false>);
  table.Add("s_bitset1_b32", SetBit<uint32_t, true>);
  table.Add("s_bitset0_b64", SetBit<uint64_t, false>);
  table.Add("s_bitset1_b64", SetBit<uint64_t, true>);
  table.Add("s_bitreplicate_b64_b32", ScalarOp<ReplicateBits>);
}

}  // namespace lanewise::emulator
