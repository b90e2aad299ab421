#ifndef LANEWISE_EMULATOR_ISA_VECTOR_VECTOR_OP_H_
#define LANEWISE_EMULATOR_ISA_VECTOR_VECTOR_OP_H_

// Handlers for operations that act on each lane alone, from a function of one lane's values.
//
//   float MulF32(float a, float b) { return a * b; }
//   table.Add("v_mul_f32", VectorOp<MulF32>);
//   bool LtI32(int32_t a, int32_t b) { return a < b; }
//   table.Add("v_cmp_lt_i32", CompareOp<LtI32>);
//
// Argument i of the function is source i of the instruction, read as the argument's type says:
//   uint32_t, int32_t, float, uint64_t, int64_t, double   32 or 64 bits
//   Half (f16 bits), uint16_t, int16_t                    the half that op_sel or SDWA names
//   HalfValue                                             as Half, converted to and from float
//   HalfBits, FloatBits, DoubleBits                       float modifiers, but denormals kept
//   bool                                                  the lane's bit of a 64-bit scalar operand
// After the sources a function may take `Mode` (the MODE register) and `const Instruction&`.
// The result's type says the same of destination 0; WithCarry<T> writes T to destination 0 and a
// bit a lane to the scalar destination 1 (0 for inactive lanes). All lanes are computed, those
// outside EXEC for nothing: a function must be defined for any bits, without side effects.

#include <bit>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "emulator/instruction.h"
#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/arithmetic/half_rows.h"
#include "emulator/isa/arithmetic/rounding.h"
#include "emulator/machine/vector_operand.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

struct HalfBits {
  uint16_t bits;
};
struct FloatBits {
  uint32_t bits;
};
struct DoubleBits {
  uint64_t bits;
};

template <typename T>
struct WithCarry {
  T value;
  bool carry;
};

namespace internal {

template <typename T>
inline constexpr LaneType kLaneType = [] {
  if constexpr (std::is_same_v<T, float>) return LaneType::kF32;
  if constexpr (std::is_same_v<T, FloatBits>) return LaneType::kF32Bits;
  if constexpr (std::is_same_v<T, double>) return LaneType::kF64;
  if constexpr (std::is_same_v<T, DoubleBits>) return LaneType::kF64Bits;
  if constexpr (std::is_same_v<T, HalfBits>) return LaneType::kF16Bits;
  if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, int64_t>) return LaneType::kU64;
  if constexpr (std::is_same_v<T, Half>) return LaneType::kF16;
  if constexpr (std::is_same_v<T, HalfValue>) return LaneType::kF16;
  if constexpr (std::is_same_v<T, uint16_t>) return LaneType::kU16;
  if constexpr (std::is_same_v<T, int16_t>) return LaneType::kI16;
  if constexpr (std::is_same_v<T, uint32_t> || std::is_same_v<T, int32_t>) return LaneType::kU32;
}();

template <typename T>
inline T FromWords(const LaneRows& rows, int lane) {
  if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(static_cast<uint64_t>(rows.hi[lane]) << 32 | rows.lo[lane]);
  } else if constexpr (std::is_same_v<T, bool>) {
    return rows.lo[lane] != 0;
  } else if constexpr (sizeof(T) == 4) {
    return std::bit_cast<T>(rows.lo[lane]);
  } else {
    return std::bit_cast<T>(static_cast<uint16_t>(rows.lo[lane]));
  }
}

// What kOp gets for argument kIndex.
template <typename T, size_t kIndex>
inline T Argument(const LaneRows* rows, const Wave& wave, const Instruction& inst, int lane) {
  if constexpr (std::is_same_v<T, Mode>) {
    return wave.mode;
  } else if constexpr (std::is_same_v<T, const Instruction&>) {
    return inst;
  } else {
    return FromWords<T>(rows[kIndex], lane);
  }
}

template <typename T>
inline void ToWords(T value, uint32_t* lo, uint32_t* hi, int lane) {
  if constexpr (sizeof(T) == 8) {
    const auto bits = std::bit_cast<uint64_t>(value);
    lo[lane] = static_cast<uint32_t>(bits);
    hi[lane] = static_cast<uint32_t>(bits >> 32);
  } else if constexpr (sizeof(T) == 4) {
    lo[lane] = std::bit_cast<uint32_t>(value);
  } else {
    lo[lane] = std::bit_cast<uint16_t>(value);
  }
}

// Bits of a scalar operand, one a lane.
template <typename T>
LaneRows Fetch(const Wave& wave, const Instruction& inst, int index, LaneScratch& scratch) {
  if constexpr (std::is_same_v<T, bool>) {
    ExpandMask(wave.Read64(inst.src[index]), scratch.lo);
    return {scratch.lo, nullptr};
  } else if constexpr (std::is_same_v<T, Mode> || std::is_same_v<T, const Instruction&>) {
    return {};
  } else if constexpr (std::is_same_v<T, HalfValue>) {
    // A row of halves is always in the scratch, because it is cut from words.
    FetchRows(wave, inst, index, LaneType::kF16, scratch);
    HalvesToFloats(scratch.lo);
    return {scratch.lo, nullptr};
  } else {
    return FetchRows(wave, inst, index, kLaneType<T>, scratch);
  }
}

template <typename Result, typename... Args>
struct Signature {
  using ResultType = Result;
  using ArgTypes = std::tuple<Args...>;
  static constexpr int kArity = sizeof...(Args);
};
template <typename Result, typename... Args>
Signature<Result, Args...> SignatureOf(Result (*)(Args...));

template <auto kOp>
using OpSignature = decltype(SignatureOf(kOp));

// Calls store(lane, kOp(sources of the lane...)) for all lanes, in a loop that the compiler turns
// into vector instructions: rows either coincide or do not overlap, and each lane reads before it
// writes, so that no iteration depends on another.
template <auto kOp, typename Store, size_t... kIndex>
inline void ForAllLanes(const Wave& wave, const Instruction& inst, std::index_sequence<kIndex...>,
                        Store store) {
  using Args = typename OpSignature<kOp>::ArgTypes;
  LaneScratch scratch[sizeof...(kIndex)];
  const LaneRows rows[] = {
      Fetch<std::tuple_element_t<kIndex, Args>>(wave, inst, kIndex, scratch[kIndex])...};
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int lane = 0; lane < kLanes; ++lane) {
    store(lane,
          kOp(Argument<std::tuple_element_t<kIndex, Args>, kIndex>(rows, wave, inst, lane)...));
  }
}

}  // namespace internal

// What becomes of the other half where a result has 16 bits: most instructions clear it, those that
// GFX9 gave op_sel (and v_mac_f16 and its kin) keep it.
inline constexpr bool kKeepHigh = true;

// A value a lane.
template <auto kOp, bool kKeepsHigh = false>
void VectorOp(Wave& wave, const Instruction& inst) {
  using Signature = internal::OpSignature<kOp>;
  using Result = typename Signature::ResultType;
  constexpr LaneType kType = internal::kLaneType<Result>;
  constexpr auto kIndices = std::make_index_sequence<Signature::kArity>();
  const RoundingScope rounding(wave.mode, kType);
  LaneScratch scratch;
  const bool direct = !kKeepsHigh && WritesDirectly(wave, inst, kType);
  uint32_t* const lo = direct ? wave.vector[inst.dst[0].index] : scratch.lo;
  uint32_t* const hi =
      direct ? wave.vector[inst.dst[0].index + (IsWide(kType) ? 1 : 0)] : scratch.hi;
  internal::ForAllLanes<kOp>(wave, inst, kIndices, [lo, hi](int lane, Result value) {
    internal::ToWords(value, lo, hi, lane);
  });
  if constexpr (std::is_same_v<Result, HalfValue>) FloatsToHalves(lo);
  if (!direct) {
    CommitRows(wave, inst, 0, kType, WriteMask(wave, inst), scratch, kKeepsHigh);
  }
}

// A value and a carry bit a lane: WithCarry<T>.
template <auto kOp>
void CarryOp(Wave& wave, const Instruction& inst) {
  using Signature = internal::OpSignature<kOp>;
  using Result = typename Signature::ResultType;
  using Value = decltype(Result::value);
  constexpr LaneType kType = internal::kLaneType<Value>;
  constexpr auto kIndices = std::make_index_sequence<Signature::kArity>();
  LaneScratch scratch;
  alignas(64) uint32_t carries[kLanes];
  internal::ForAllLanes<kOp>(wave, inst, kIndices, [&](int lane, Result result) {
    internal::ToWords(result.value, scratch.lo, scratch.hi, lane);
    carries[lane] = result.carry ? 1 : 0;
  });
  const uint64_t mask = WriteMask(wave, inst);
  CommitRows(wave, inst, 0, kType, mask, scratch);
  wave.Write64(inst.dst[1], PackMask(carries) & mask);
}

// kSaturating in place of kOp where the instruction says clamp: integers, whose clamp is a matter
// of the sum before it is cut to its width.
template <auto kOp, auto kSaturating, bool kKeepsHigh = false>
void ClampedOp(Wave& wave, const Instruction& inst) {
  (inst.mod.clamp ? VectorOp<kSaturating, kKeepsHigh> : VectorOp<kOp, kKeepsHigh>)(wave, inst);
}
template <auto kOp, auto kSaturating>
void ClampedCarryOp(Wave& wave, const Instruction& inst) {
  (inst.mod.clamp ? CarryOp<kSaturating> : CarryOp<kOp>)(wave, inst);
}

// kIeee where MODE says so, else kPlain: what becomes of a signaling NaN.
template <auto kIeee, auto kPlain, bool kKeepsHigh = false>
void IeeeOp(Wave& wave, const Instruction& inst) {
  (wave.mode.ieee() ? VectorOp<kIeee, kKeepsHigh> : VectorOp<kPlain, kKeepsHigh>)(wave, inst);
}

// A comparison: destination 0 is a 64-bit scalar, 0 for inactive lanes. kWritesExec: v_cmpx_*.
template <auto kOp, bool kWritesExec = false>
void CompareOp(Wave& wave, const Instruction& inst) {
  using Signature = internal::OpSignature<kOp>;
  constexpr auto kIndices = std::make_index_sequence<Signature::kArity>();
  alignas(64) uint32_t words[kLanes];
  internal::ForAllLanes<kOp>(wave, inst, kIndices,
                             [&words](int lane, bool value) { words[lane] = value ? 1 : 0; });
  const uint64_t result = PackMask(words) & WriteMask(wave, inst);
  wave.Write64(inst.dst[0], result);
  if constexpr (kWritesExec) wave.set_exec(result);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_VECTOR_VECTOR_OP_H_
