// Scalar comparisons: SCC is the result.

#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/scalar/scalar_op.h"

namespace lanewise::emulator {
namespace {

template <typename T>
struct Relations {
  static Scc Equal(T a, T b) { return {a == b}; }
  static Scc NotEqual(T a, T b) { return {a != b}; }
  static Scc Greater(T a, T b) { return {a > b}; }
  static Scc GreaterEqual(T a, T b) { return {a >= b}; }
  static Scc Less(T a, T b) { return {a < b}; }
  static Scc LessEqual(T a, T b) { return {a <= b}; }
};
using U = Relations<uint32_t>;
using I = Relations<int32_t>;
using U64 = Relations<uint64_t>;

Scc BitIs0(uint32_t a, uint32_t b) { return {((a >> (b & 31)) & 1) == 0}; }
Scc BitIs1(uint32_t a, uint32_t b) { return {((a >> (b & 31)) & 1) != 0}; }
Scc BitIs0Of64(uint64_t a, uint32_t b) { return {((a >> (b & 63)) & 1) == 0}; }
Scc BitIs1Of64(uint64_t a, uint32_t b) { return {((a >> (b & 63)) & 1) != 0}; }

// With a 16-bit constant: sign-extended for signed, zero-extended for unsigned comparisons.
template <Scc (*kRelation)(int32_t, int32_t)>
void WithSignedConstant(Wave& wave, const Instruction& inst) {
  const auto value = static_cast<int32_t>(wave.Read32(inst.src[0]));
  wave.set_scc(kRelation(value, inst.imm).value);
}
template <Scc (*kRelation)(uint32_t, uint32_t)>
void WithUnsignedConstant(Wave& wave, const Instruction& inst) {
  const auto constant = static_cast<uint32_t>(inst.imm) & 0xffffu;
  wave.set_scc(kRelation(wave.Read32(inst.src[0]), constant).value);
}

}  // namespace

void RegisterScalarCompare(Arch /*arch*/, HandlerTable& table) {
  table.Add("s_cmp_eq_i32", ScalarOp<I::Equal>);
  table.Add("s_cmp_lg_i32", ScalarOp<I::NotEqual>);
  table.Add("s_cmp_gt_i32", ScalarOp<I::Greater>);
  table.Add("s_cmp_ge_i32", ScalarOp<I::GreaterEqual>);
  table.Add("s_cmp_lt_i32", ScalarOp<I::Less>);
  table.Add("s_cmp_le_i32", ScalarOp<I::LessEqual>);
  table.Add("s_cmp_eq_u32", ScalarOp<U::Equal>);
  table.Add("s_cmp_lg_u32", ScalarOp<U::NotEqual>);
  table.Add("s_cmp_gt_u32", ScalarOp<U::Greater>);
  table.Add("s_cmp_ge_u32", ScalarOp<U::GreaterEqual>);
  table.Add("s_cmp_lt_u32", ScalarOp<U::Less>);
  table.Add("s_cmp_le_u32", ScalarOp<U::LessEqual>);
  table.Add("s_cmp_eq_u64", ScalarOp<U64::Equal>);
  table.Add("s_cmp_lg_u64", ScalarOp<U64::NotEqual>);
  table.Add("s_bitcmp0_b32", ScalarOp<BitIs0>);
  table.Add("s_bitcmp1_b32", ScalarOp<BitIs1>);
  table.Add("s_bitcmp0_b64", ScalarOp<BitIs0Of64>);
  table.Add("s_bitcmp1_b64", ScalarOp<BitIs1Of64>);

  table.Add("s_cmpk_eq_i32", WithSignedConstant<I::Equal>);
  table.Add("s_cmpk_lg_i32", WithSignedConstant<I::NotEqual>);
  table.Add("s_cmpk_gt_i32", WithSignedConstant<I::Greater>);
  table.Add("s_cmpk_ge_i32", WithSignedConstant<I::GreaterEqual>);
  table.Add("s_cmpk_lt_i32", WithSignedConstant<I::Less>);
  table.Add("s_cmpk_le_i32", WithSignedConstant<I::LessEqual>);
  table.Add("s_cmpk_eq_u32", WithUnsignedConstant<U::Equal>);
  table.Add("s_cmpk_lg_u32", WithUnsignedConstant<U::NotEqual>);
  table.Add("s_cmpk_gt_u32", WithUnsignedConstant<U::Greater>);
  table.Add("s_cmpk_ge_u32", WithUnsignedConstant<U::GreaterEqual>);
  table.Add("s_cmpk_lt_u32", WithUnsignedConstant<U::Less>);
  table.Add("s_cmpk_le_u32", WithUnsignedConstant<U::LessEqual>);
}

}  // namespace lanewise::emulator
