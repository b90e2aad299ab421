// v_fma_mix: a fused multiply-add each of whose sources is a float or either half of a word.

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/arithmetic/rounding.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

// The decoder widens an inline constant to a half, the type that LLVM gives these operands; where
// op_sel_hi says float, the constant is one: 1.0 is 0x3f800000, and an integer stays an integer.
uint32_t FloatConstant(uint64_t constant) {
  switch (constant & 0xffff) {
    case 0x3800:
    case 0xb800:
    case 0x3c00:
    case 0xbc00:
    case 0x4000:
    case 0xc000:
    case 0x4400:
    case 0xc400:
      return std::bit_cast<uint32_t>(ToFloat(Half{static_cast<uint16_t>(constant)}));
    case 0x3118:
      return 0x3e22f983;  // 1 / (2 pi)
    default:
      return static_cast<uint32_t>(constant);
  }
}

// Source `index` as floats: op_sel_hi says that it is a half, op_sel which. The signs, which share
// bits with neg_lo (negate) and neg_hi (absolute value), act on what was read.
void TakeFloats(const Wave& wave, const Instruction& inst, int index, float values[kLanes]) {
  LaneScratch scratch;
  const Modifiers& mod = inst.mod;
  const bool half = ((mod.op_sel_hi >> index) & 1) != 0;
  const Operand& operand = inst.src[index];
  if (operand.is_constant() && !half) {
    const uint32_t constant = FloatConstant(operand.constant);
    for (int lane = 0; lane < kLanes; ++lane) scratch.lo[lane] = constant;
  }
  const uint32_t* words = operand.is_constant() && !half
                              ? scratch.lo
                              : FetchRows(wave, inst, index, LaneType::kU32, scratch).lo;
  const int shift = ((mod.op_sel >> index) & 1) != 0 ? 16 : 0;
  const bool abs = ((mod.abs >> index) & 1) != 0;
  const bool neg = ((mod.neg >> index) & 1) != 0;
  const bool flush = half ? !wave.mode.denormal_in_f16_f64() : !wave.mode.denormal_in_f32();
  const uint32_t exponent = half ? 0x7c00u : 0x7f800000u;
  const uint32_t sign = half ? 0x8000u : 0x80000000u;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t bits = half ? (words[lane] >> shift) & 0xffffu : words[lane];
    if (flush && (bits & exponent) == 0) bits &= sign;
    if (abs) bits &= ~sign;
    if (neg) bits ^= sign;
    const float from_half = ToFloat(Half{static_cast<uint16_t>(bits)});
    values[lane] = half ? from_half : std::bit_cast<float>(bits);
  }
}

void FusedSums(const Wave& wave, const Instruction& inst, float sums[kLanes]) {
  float a[kLanes], b[kLanes], c[kLanes];
  TakeFloats(wave, inst, 0, a);
  TakeFloats(wave, inst, 1, b);
  TakeFloats(wave, inst, 2, c);
  for (int lane = 0; lane < kLanes; ++lane) sums[lane] = std::fma(a[lane], b[lane], c[lane]);
}

void MixF32(Wave& wave, const Instruction& inst) {
  const RoundingScope rounding(wave.mode, LaneType::kF32);
  float sums[kLanes];
  FusedSums(wave, inst, sums);
  LaneScratch result;
  for (int lane = 0; lane < kLanes; ++lane) result.lo[lane] = std::bit_cast<uint32_t>(sums[lane]);
  CommitRows(wave, inst, 0, LaneType::kF32, wave.exec(), result);
}

// The sum is rounded to float, then to half, and becomes the low or the high half of the result;
// the other half stays.
template <bool kHigh>
void MixHalf(Wave& wave, const Instruction& inst) {
  float sums[kLanes];
  {
    const RoundingScope rounding(wave.mode, LaneType::kF32);
    FusedSums(wave, inst, sums);
  }
  const RoundingScope rounding(wave.mode, LaneType::kF16);
  LaneScratch result;
  for (int lane = 0; lane < kLanes; ++lane) result.lo[lane] = RoundToHalf(sums[lane]).bits;
  Instruction half = inst;
  half.encoding = Encoding::kVop3;
  half.mod.op_sel = kHigh ? 8 : 0;
  CommitRows(wave, half, 0, LaneType::kF16, wave.exec(), result, kKeepHigh);
}

}  // namespace

void RegisterMixed(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_fma_mix_f32", MixF32);
  table.Add("v_fma_mixlo_f16", MixHalf<false>, {.keeps_rest = true});
  table.Add("v_fma_mixhi_f16", MixHalf<true>, {.keeps_rest = true});
}

}  // namespace lanewise::emulator
