// v_fma_mix: a fused multiply-add each of whose sources is a float or either half of a word.

#include <bit>
#include <cmath>
#include <cstdint>

#include "hip/emulator/dispatch.h"
#include "hip/emulator/families.h"
#include "hip/emulator/half.h"
#include "hip/emulator/rounding.h"
#include "hip/emulator/vector_op.h"

namespace lanewise::emulator {
namespace {

// Source `index` as floats: op_sel_hi says that it is a half, op_sel which. The signs, which share
// bits with neg_lo (negate) and neg_hi (absolute value), act on what was read.
void TakeFloats(const Wave& wave, const Instruction& inst, int index, float values[kLanes]) {
  LaneScratch scratch;
  const uint32_t* words = FetchRows(wave, inst, index, LaneType::kU32, scratch).lo;
  const Modifiers& mod = inst.mod;
  const bool half = ((mod.op_sel_hi >> index) & 1) != 0;
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
  table.Add("v_fma_mixlo_f16", MixHalf<false>);
  table.Add("v_fma_mixhi_f16", MixHalf<true>);
}

}  // namespace lanewise::emulator
