#ifndef LANEWISE_EMULATOR_ISA_VECTOR_PACKED_OP_H_
#define LANEWISE_EMULATOR_ISA_VECTOR_PACKED_OP_H_

// Handlers for packed operations: a function of one element, applied to both elements of a lane.
//
//   table.Add("v_pk_add_f16", PackedOp<AddHalf>);
//   table.Add("v_pk_mul_f32", PackedF32Op<Mul>);
//
// op_sel and op_sel_hi choose the half (of 64 bits: the register) that the low and the high element
// take from each source, neg_lo and neg_hi their signs.

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/instruction.h"
#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/arithmetic/half_rows.h"
#include "emulator/isa/arithmetic/rounding.h"
#include "emulator/isa/vector/vector_op.h"
#include "emulator/machine/vector_operand.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

namespace internal {

// How one element is taken from a source's 32-bit word.
struct ElementTake {
  uint32_t shift;
  uint32_t sign;
};

// The selection bits; encodings other than VOP3P have none and take low with low, high with high.
inline uint32_t SelectBits(const Instruction& inst, bool high) {
  if (inst.encoding != Encoding::kVop3p) return high ? 7 : 0;
  return high ? inst.mod.op_sel_hi : inst.mod.op_sel;
}
inline uint32_t NegateBits(const Instruction& inst, bool high) {
  if (inst.encoding != Encoding::kVop3p) return 0;
  return high ? inst.mod.abs : inst.mod.neg;
}

template <typename T>
ElementTake TakeOf(const Instruction& inst, int index, bool high) {
  const bool upper = ((SelectBits(inst, high) >> index) & 1) != 0;
  const bool negative = ((NegateBits(inst, high) >> index) & 1) != 0;
  return {upper ? 16u : 0u, std::is_same_v<T, Half> && negative ? 0x8000u : 0u};
}

inline Half FlushHalf(Half a) {
  return {static_cast<uint16_t>((a.bits & 0x7c00) == 0 ? a.bits & 0x8000 : a.bits)};
}
inline Half ClampHalf(Half a, bool nan_to_zero) {
  const float value = ToFloat(a);
  if (value != value) return nan_to_zero ? Half{0} : a;
  return value > 0 ? (value < 1 ? a : Half{0x3c00}) : Half{0};
}

template <typename T, bool kFlush>
inline T TakeElement(uint32_t word, ElementTake take) {
  const auto bits = static_cast<uint16_t>((word >> take.shift) ^ take.sign);
  const T element = std::bit_cast<T>(bits);
  if constexpr (kFlush && std::is_same_v<T, Half>) {
    return FlushHalf(element);
  } else {
    return element;
  }
}

template <auto kOp, bool kFlushIn, bool kModifyOut, size_t... kIndex>
void PackedLoop(Wave& wave, const Instruction& inst, std::index_sequence<kIndex...>) {
  using Args = typename OpSignature<kOp>::ArgTypes;
  using Result = typename OpSignature<kOp>::ResultType;
  LaneScratch scratch[sizeof...(kIndex)];
  const LaneRows rows[] = {FetchRows(wave, inst, kIndex, LaneType::kU32, scratch[kIndex])...};
  const ElementTake low[] = {TakeOf<std::tuple_element_t<kIndex, Args>>(inst, kIndex, false)...};
  const ElementTake high[] = {TakeOf<std::tuple_element_t<kIndex, Args>>(inst, kIndex, true)...};
  const bool flush_out = !wave.mode.denormal_out_f16_f64();
  const bool nan_to_zero = wave.mode.dx10_clamp();
  const bool clamp = inst.mod.clamp;
  const auto finish = [&](Result value) {
    if constexpr (kModifyOut && std::is_same_v<Result, Half>) {
      if (clamp) value = ClampHalf(value, nan_to_zero);
      if (flush_out) value = FlushHalf(value);
    }
    return uint32_t{std::bit_cast<uint16_t>(value)};
  };
  LaneScratch result;
  const bool direct = WritesDirectly(wave, inst, LaneType::kU32);
  uint32_t* const out = direct ? wave.vector[inst.dst[0].index] : result.lo;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int lane = 0; lane < kLanes; ++lane) {
    const uint32_t first = finish(kOp(TakeElement<std::tuple_element_t<kIndex, Args>, kFlushIn>(
        rows[kIndex].lo[lane], low[kIndex])...));
    const uint32_t second = finish(kOp(TakeElement<std::tuple_element_t<kIndex, Args>, kFlushIn>(
        rows[kIndex].lo[lane], high[kIndex])...));
    out[lane] = first | second << 16;
  }
  if (!direct) CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), result);
}

// One half of every lane of a source, as floats.
template <bool kFlushIn>
void TakeHalves(const uint32_t* words, ElementTake take, uint32_t out[kLanes]) {
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t half = ((words[lane] >> take.shift) & 0xffffu) ^ take.sign;
    if (kFlushIn) half = (half & 0x7c00u) == 0 ? half & 0x8000u : half;
    out[lane] = half;
  }
  HalvesToFloats(out);
}

// As PackedLoop for operations on HalfValue: whole rows are converted.
template <auto kOp, bool kFlushIn, bool kModifyOut, size_t... kIndex>
void PackedHalfLoop(Wave& wave, const Instruction& inst, std::index_sequence<kIndex...>) {
  LaneScratch scratch[sizeof...(kIndex)];
  LaneScratch taken[sizeof...(kIndex)];
  for (const size_t index : {kIndex...}) {
    const int i = static_cast<int>(index);
    const uint32_t* words = FetchRows(wave, inst, i, LaneType::kU32, scratch[index]).lo;
    TakeHalves<kFlushIn>(words, TakeOf<Half>(inst, i, false), taken[index].lo);
    TakeHalves<kFlushIn>(words, TakeOf<Half>(inst, i, true), taken[index].hi);
  }
  LaneScratch result;
  for (int lane = 0; lane < kLanes; ++lane) {
    result.lo[lane] = std::bit_cast<uint32_t>(
        kOp(HalfValue{std::bit_cast<float>(taken[kIndex].lo[lane])}...).value);
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    result.hi[lane] = std::bit_cast<uint32_t>(
        kOp(HalfValue{std::bit_cast<float>(taken[kIndex].hi[lane])}...).value);
  }
  FloatsToHalves(result.lo);
  FloatsToHalves(result.hi);
  if constexpr (kModifyOut) {
    const bool flush = !wave.mode.denormal_out_f16_f64();
    for (uint32_t* row : {result.lo, result.hi}) {
      for (int lane = 0; lane < kLanes; ++lane) {
        Half half{static_cast<uint16_t>(row[lane])};
        if (inst.mod.clamp) half = ClampHalf(half, wave.mode.dx10_clamp());
        if (flush) half = FlushHalf(half);
        row[lane] = half.bits;
      }
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) result.lo[lane] |= result.hi[lane] << 16;
  CommitRows(wave, inst, 0, LaneType::kU32, WriteMask(wave, inst), result);
}

// Row of a 64-bit source that one element reads: one of its two, negated and flushed where asked.
template <typename T>
const uint32_t* TakeRow(const Instruction& inst, const Mode& mode, int index, bool high,
                        const LaneRows& rows, uint32_t scratch[kLanes]) {
  const uint32_t* row = ((SelectBits(inst, high) >> index) & 1) != 0 ? rows.hi : rows.lo;
  const bool negative = ((NegateBits(inst, high) >> index) & 1) != 0;
  const bool flush = !mode.denormal_in_f32();
  if (!negative && !flush) return row;
  for (int lane = 0; lane < kLanes; ++lane) {
    uint32_t word = row[lane];
    if (flush && (word & 0x7f800000u) == 0) word &= 0x80000000u;
    scratch[lane] = negative ? word ^ 0x80000000u : word;
  }
  return scratch;
}

template <auto kOp, size_t... kIndex>
void PackedF32Loop(Wave& wave, const Instruction& inst, std::index_sequence<kIndex...>) {
  constexpr int kSources = sizeof...(kIndex);
  LaneScratch scratch[kSources];
  LaneScratch taken[kSources];
  const LaneRows rows[] = {FetchRows(wave, inst, kIndex, LaneType::kU64, scratch[kIndex])...};
  const uint32_t* const low[] = {
      TakeRow<float>(inst, wave.mode, kIndex, false, rows[kIndex], taken[kIndex].lo)...};
  const uint32_t* const high[] = {
      TakeRow<float>(inst, wave.mode, kIndex, true, rows[kIndex], taken[kIndex].hi)...};
  LaneScratch result;
  for (int lane = 0; lane < kLanes; ++lane) {
    result.lo[lane] = std::bit_cast<uint32_t>(kOp(std::bit_cast<float>(low[kIndex][lane])...));
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    result.hi[lane] = std::bit_cast<uint32_t>(kOp(std::bit_cast<float>(high[kIndex][lane])...));
  }
  CommitF32Pair(wave, inst, result);
}

}  // namespace internal

// 16-bit elements (HalfValue, Half, uint16_t, int16_t).
template <auto kOp>
void PackedOp(Wave& wave, const Instruction& inst) {
  using Signature = internal::OpSignature<kOp>;
  using Result = typename Signature::ResultType;
  constexpr auto kIndices = std::make_index_sequence<Signature::kArity>();
  const bool flush_in = !wave.mode.denormal_in_f16_f64();
  const bool modify_out = !wave.mode.denormal_out_f16_f64() || inst.mod.clamp;
  if constexpr (std::is_same_v<Result, HalfValue>) {
    const RoundingScope rounding(wave.mode, LaneType::kF16);
    if (flush_in) {
      internal::PackedHalfLoop<kOp, true, true>(wave, inst, kIndices);
    } else if (modify_out) {
      internal::PackedHalfLoop<kOp, false, true>(wave, inst, kIndices);
    } else {
      internal::PackedHalfLoop<kOp, false, false>(wave, inst, kIndices);
    }
  } else if constexpr (std::is_same_v<Result, Half>) {
    if (flush_in) {
      internal::PackedLoop<kOp, true, true>(wave, inst, kIndices);
    } else if (modify_out) {
      internal::PackedLoop<kOp, false, true>(wave, inst, kIndices);
    } else {
      internal::PackedLoop<kOp, false, false>(wave, inst, kIndices);
    }
  } else {
    internal::PackedLoop<kOp, false, false>(wave, inst, kIndices);
  }
}

// kSaturating in place of kOp where the instruction says clamp (integers).
template <auto kOp, auto kSaturating>
void ClampedPackedOp(Wave& wave, const Instruction& inst) {
  (inst.mod.clamp ? PackedOp<kSaturating> : PackedOp<kOp>)(wave, inst);
}

template <auto kIeee, auto kPlain>
void IeeePackedOp(Wave& wave, const Instruction& inst) {
  (wave.mode.ieee() ? PackedOp<kIeee> : PackedOp<kPlain>)(wave, inst);
}

// float elements, 64-bit operands.
template <auto kOp>
void PackedF32Op(Wave& wave, const Instruction& inst) {
  const RoundingScope rounding(wave.mode, LaneType::kF32);
  constexpr auto kIndices = std::make_index_sequence<internal::OpSignature<kOp>::kArity>();
  internal::PackedF32Loop<kOp>(wave, inst, kIndices);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_VECTOR_PACKED_OP_H_
