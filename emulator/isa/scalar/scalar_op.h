#ifndef LANEWISE_EMULATOR_ISA_SCALAR_SCALAR_OP_H_
#define LANEWISE_EMULATOR_ISA_SCALAR_SCALAR_OP_H_

// Handlers for scalar operations from a function of their values.
//
//   WithScc<uint32_t> AddU32(uint32_t a, uint32_t b) { return {a + b, a + b < a}; }
//   table.Add("s_add_u32", ScalarOp<AddU32>);
//
// Argument i is source i (uint32_t, int32_t, uint64_t, int64_t); a last argument of type Scc is the
// flag. The result goes to destination 0; WithScc<T> also sets SCC, a result of type Scc sets SCC
// alone (s_cmp_*, s_bitcmp*).

#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "emulator/instruction.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {

struct Scc {
  bool value;
};

template <typename T>
struct WithScc {
  T value;
  bool scc;
};

namespace internal {

template <typename T>
T ReadScalar(const Wave& wave, const Instruction& inst, int index) {
  if constexpr (std::is_same_v<T, Scc>) {
    return Scc{wave.scc()};
  } else if constexpr (sizeof(T) == 8) {
    return std::bit_cast<T>(wave.Read64(inst.src[index]));
  } else {
    static_assert(sizeof(T) == 4);
    return std::bit_cast<T>(wave.Read32(inst.src[index]));
  }
}

template <typename T>
void WriteScalar(Wave& wave, const Instruction& inst, T value) {
  if constexpr (std::is_same_v<T, Scc>) {
    wave.set_scc(value.value);
  } else if constexpr (sizeof(T) == 8) {
    wave.Write64(inst.dst[0], std::bit_cast<uint64_t>(value));
  } else {
    static_assert(sizeof(T) == 4);
    wave.Write32(inst.dst[0], std::bit_cast<uint32_t>(value));
  }
}

template <typename T>
void WriteScalar(Wave& wave, const Instruction& inst, WithScc<T> result) {
  WriteScalar(wave, inst, result.value);
  wave.set_scc(result.scc);
}

template <typename Result, typename... Args, size_t... kIndex>
Result CallScalar(Result (*op)(Args...), const Wave& wave, const Instruction& inst,
                  std::index_sequence<kIndex...>) {
  return op(ReadScalar<Args>(wave, inst, kIndex)...);
}

template <typename Result, typename... Args>
void RunScalar(Result (*op)(Args...), Wave& wave, const Instruction& inst) {
  WriteScalar(wave, inst, CallScalar(op, wave, inst, std::index_sequence_for<Args...>()));
}

}  // namespace internal

template <auto kOp>
void ScalarOp(Wave& wave, const Instruction& inst) {
  internal::RunScalar(kOp, wave, inst);
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_SCALAR_SCALAR_OP_H_
