// Dot products of the elements of two words, added to a 32-bit sum.
//
// Integers: the sum is exact and then cut to 32 bits, or saturated with clamp. Halves and bf16: one
// fused multiply-add an element, low element first, each rounded to float; the manuals leave the
// order and the inner precision open. Denormals of the 16-bit elements count, whatever MODE says.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

template <int kBits>
int64_t SignedElement(uint32_t word, int index) {
  return static_cast<int32_t>(word << (32 - kBits * (index + 1))) >> (32 - kBits);
}
template <int kBits>
int64_t UnsignedElement(uint32_t word, int index) {
  return (word >> (kBits * index)) & ((1u << kBits) - 1);
}

template <int kBits, int64_t (*kElement)(uint32_t, int)>
int64_t Products(uint32_t a, uint32_t b) {
  int64_t sum = 0;
  for (int i = 0; i < 32 / kBits; ++i) sum += kElement(a, i) * kElement(b, i);
  return sum;
}

template <int kBits>
uint32_t DotI(uint32_t a, uint32_t b, int32_t c) {
  return static_cast<uint32_t>(Products<kBits, SignedElement<kBits>>(a, b)) +
         static_cast<uint32_t>(c);
}
template <int kBits>
uint32_t DotU(uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(Products<kBits, UnsignedElement<kBits>>(a, b)) + c;
}
template <int kBits>
int32_t DotClampedI(uint32_t a, uint32_t b, int32_t c) {
  const int64_t sum = Products<kBits, SignedElement<kBits>>(a, b) + c;
  return static_cast<int32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
}
template <int kBits>
uint32_t DotClampedU(uint32_t a, uint32_t b, uint32_t c) {
  const int64_t sum = Products<kBits, UnsignedElement<kBits>>(a, b) + c;
  return static_cast<uint32_t>(std::min<int64_t>(sum, 0xffffffff));
}

float HalfElement(uint32_t word, int index) {
  return ToFloat(Half{static_cast<uint16_t>(word >> (16 * index))});
}
float Bf16Element(uint32_t word, int index) {
  return std::bit_cast<float>(index == 0 ? word << 16 : word & 0xffff0000u);
}

// The signs of a source's halves: neg_lo for the low, neg_hi for the high one.
uint32_t Negate(uint32_t word, const Modifiers& mod, int source) {
  const uint32_t low = ((mod.neg >> source) & 1) != 0 ? 0x8000u : 0;
  const uint32_t high = ((mod.abs >> source) & 1) != 0 ? 0x80000000u : 0;
  return word ^ low ^ high;
}

// As VOP3P, with the signs of its modifiers.
template <float (*kElement)(uint32_t, int)>
float DotF(uint32_t a, uint32_t b, float c, const Instruction& inst) {
  const uint32_t first = Negate(a, inst.mod, 0);
  const uint32_t second = Negate(b, inst.mod, 1);
  const float negated = ((inst.mod.neg >> 2) & 1) != 0 ? -c : c;
  const float low = std::fma(kElement(first, 0), kElement(second, 0), negated);
  return std::fma(kElement(first, 1), kElement(second, 1), low);
}
// As VOP2, which has none of VOP3P's.
template <float (*kElement)(uint32_t, int)>
float DotAccumulateF(uint32_t a, uint32_t b, float c) {
  return std::fma(kElement(a, 1), kElement(b, 1), std::fma(kElement(a, 0), kElement(b, 0), c));
}

}  // namespace

void RegisterDot(Arch arch, HandlerTable& table) {
  table.Add("v_dot2_i32_i16", ClampedOp<DotI<16>, DotClampedI<16>>);
  table.Add("v_dot2_u32_u16", ClampedOp<DotU<16>, DotClampedU<16>>);
  table.Add("v_dot4_i32_i8", ClampedOp<DotI<8>, DotClampedI<8>>);
  table.Add("v_dot4_u32_u8", ClampedOp<DotU<8>, DotClampedU<8>>);
  table.Add("v_dot8_i32_i4", ClampedOp<DotI<4>, DotClampedI<4>>);
  table.Add("v_dot8_u32_u4", ClampedOp<DotU<4>, DotClampedU<4>>);
  table.Add("v_dot2c_i32_i16", VectorOp<DotI<16>>);
  table.Add("v_dot4c_i32_i8", VectorOp<DotI<8>>);
  table.Add("v_dot8c_i32_i4", VectorOp<DotI<4>>);
  table.Add("v_dot2_f32_f16", VectorOp<DotF<HalfElement>>);
  table.Add("v_dot2c_f32_f16", VectorOp<DotAccumulateF<HalfElement>>);
  if (arch == Arch::kGfx950) {
    table.Add("v_dot2_f32_bf16", VectorOp<DotF<Bf16Element>>);
    table.Add("v_dot2c_f32_bf16", VectorOp<DotAccumulateF<Bf16Element>>);
  }
}

}  // namespace lanewise::emulator
