#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_MATH_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_MATH_H_

// Operations on halves, each rounded once (half.h says why the detour through float and double is
// harmless), in the host's rounding mode. Shared by the single and the packed families.

#include <bit>
#include <cstdint>

#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/arithmetic/half_rows.h"
#include "emulator/isa/arithmetic/minmax.h"

namespace lanewise::emulator {

// ---- on converted rows: the result is the float that is then rounded to half ----

inline HalfValue AddHalf(HalfValue a, HalfValue b) { return {a.value + b.value}; }
inline HalfValue SubHalf(HalfValue a, HalfValue b) { return {a.value - b.value}; }
inline HalfValue MulHalf(HalfValue a, HalfValue b) { return {a.value * b.value}; }

// The product is exact in float, but the sum is not. So it is rounded to odd: where something is
// left, the last bit becomes 1, and no tie between halves comes about that was none.
inline HalfValue FmaHalf(HalfValue a, HalfValue b, HalfValue c) {
  const float product = a.value * b.value;
  const float sum = product + c.value;
  const float high = sum - product;
  const float rest = (product - (sum - high)) + (c.value - high);
  const auto bits = std::bit_cast<uint32_t>(sum);
  const uint32_t away = (rest > 0) == (sum > 0) ? 1u : ~0u;  // of a last place, from or to zero
  const bool adjust = (rest > 0 || rest < 0) && (bits & 1) == 0;
  return {std::bit_cast<float>(adjust ? bits + away : bits)};
}

// ---- on halves ----

inline Half MadHalf(Half a, Half b, Half c) {
  const Half product = RoundToHalf(ToFloat(a) * ToFloat(b));
  return RoundToHalf(ToFloat(product) + ToFloat(c));
}

// A half's signaling NaN is a float's, so float's minima and maxima serve.
template <bool kIeee>
Half MinHalf(Half a, Half b) {
  return EncodeHalf(MinMax<float>::Min<kIeee>(ToFloat(a), ToFloat(b)));
}
template <bool kIeee>
Half MaxHalf(Half a, Half b) {
  return EncodeHalf(MinMax<float>::Max<kIeee>(ToFloat(a), ToFloat(b)));
}
template <bool kIeee>
Half Min3Half(Half a, Half b, Half c) {
  return EncodeHalf(MinMax<float>::Min3<kIeee>(ToFloat(a), ToFloat(b), ToFloat(c)));
}
template <bool kIeee>
Half Max3Half(Half a, Half b, Half c) {
  return EncodeHalf(MinMax<float>::Max3<kIeee>(ToFloat(a), ToFloat(b), ToFloat(c)));
}
template <bool kIeee>
Half Med3Half(Half a, Half b, Half c) {
  return EncodeHalf(MinMax<float>::Med3<kIeee>(ToFloat(a), ToFloat(b), ToFloat(c)));
}
inline Half Minimum3Half(Half a, Half b, Half c) {
  return EncodeHalf(MinMax<float>::Minimum3(ToFloat(a), ToFloat(b), ToFloat(c)));
}
inline Half Maximum3Half(Half a, Half b, Half c) {
  return EncodeHalf(MinMax<float>::Maximum3(ToFloat(a), ToFloat(b), ToFloat(c)));
}

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_HALF_MATH_H_
