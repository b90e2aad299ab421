#ifndef LANEWISE_EMULATOR_ISA_MEMORY_ATOMIC_OPS_H_
#define LANEWISE_EMULATOR_ISA_MEMORY_ATOMIC_OPS_H_

// Atomic read-modify-write operations of global memory and of LDS, from functions of values.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace lanewise::emulator {

// Each gives the new value from the old one and the instruction's data.
template <typename T>
T AtomicAdd(T old, T data) {
  return static_cast<T>(old + data);
}
template <typename T>
T AtomicSub(T old, T data) {
  return static_cast<T>(old - data);
}
template <typename T>
T AtomicReverseSub(T old, T data) {
  return static_cast<T>(data - old);
}
template <typename T>
T AtomicMin(T old, T data) {
  return std::min(old, data);
}
template <typename T>
T AtomicMax(T old, T data) {
  return std::max(old, data);
}
template <typename T>
T AtomicAnd(T old, T data) {
  return old & data;
}
template <typename T>
T AtomicOr(T old, T data) {
  return old | data;
}
template <typename T>
T AtomicXor(T old, T data) {
  return old ^ data;
}
template <typename T>
T AtomicSwap(T /*old*/, T data) {
  return data;
}
// Counts up to `data`, then starts again at 0.
template <typename T>
T AtomicInc(T old, T data) {
  return old >= data ? T{0} : static_cast<T>(old + 1);
}
// Counts down to 0, then starts again at `data`.
template <typename T>
T AtomicDec(T old, T data) {
  return old == 0 || old > data ? data : static_cast<T>(old - 1);
}
// minNum and maxNum: a NaN loses against a number.
template <typename T>
T AtomicMinFloat(T old, T data) {
  return std::fmin(old, data);
}
template <typename T>
T AtomicMaxFloat(T old, T data) {
  return std::fmax(old, data);
}

// bf16 to nearest even; NaNs stay NaN.
inline uint16_t RoundToBf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
inline float Bf16ToFloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// Two halves at once: the float sum of two f16 is exact, or so far from a tie that rounding it
// again to f16 is right.
inline uint32_t AtomicAddHalves(uint32_t old, uint32_t data) {
  uint32_t result = 0;
  for (int half = 0; half < 2; ++half) {
    const auto a = std::bit_cast<_Float16>(static_cast<uint16_t>(old >> (16 * half)));
    const auto b = std::bit_cast<_Float16>(static_cast<uint16_t>(data >> (16 * half)));
    const auto sum = static_cast<_Float16>(static_cast<float>(a) + static_cast<float>(b));
    result |= static_cast<uint32_t>(std::bit_cast<uint16_t>(sum)) << (16 * half);
  }
  return result;
}
inline uint32_t AtomicAddBf16s(uint32_t old, uint32_t data) {
  uint32_t result = 0;
  for (int half = 0; half < 2; ++half) {
    // In double, so that the one rounding to bf16 is not preceded by one to float.
    const double sum = static_cast<double>(Bf16ToFloat(static_cast<uint16_t>(old >> (16 * half)))) +
                       static_cast<double>(Bf16ToFloat(static_cast<uint16_t>(data >> (16 * half))));
    float rounded = static_cast<float>(sum);
    // Round to odd keeps a later rounding correct.
    if (static_cast<double>(rounded) != sum && !std::isnan(sum)) {
      auto bits = std::bit_cast<uint32_t>(rounded);
      const bool away = std::fabs(static_cast<double>(rounded)) > std::fabs(sum);
      if ((bits & 1) == 0) bits = away ? bits - 1 : bits + 1;
      rounded = std::bit_cast<float>(bits);
    }
    result |= static_cast<uint32_t>(RoundToBf16(rounded)) << (16 * half);
  }
  return result;
}

// Replaces the value at `at` by change(old), atomically, and returns the old one. `at` is aligned.
template <typename T, typename Change>
T ModifyAtomically(uint8_t* at, Change change) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  const std::atomic_ref<Bits> place(*reinterpret_cast<Bits*>(at));
  Bits old = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(old, std::bit_cast<Bits>(change(std::bit_cast<T>(old))))) {
  }
  return std::bit_cast<T>(old);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MEMORY_ATOMIC_OPS_H_
