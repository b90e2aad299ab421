#ifndef LANEWISE_HIP_EMULATOR_HALF_MATH_H_
#define LANEWISE_HIP_EMULATOR_HALF_MATH_H_

// Operations on halves, each rounded once (half.h says why the detour through float and double is
// harmless), in the host's rounding mode. Shared by the single and the packed families.

#include <cmath>

#include "hip/emulator/half.h"
#include "hip/emulator/minmax.h"

namespace lanewise::emulator {

inline Half AddHalf(Half a, Half b) { return RoundToHalf(ToFloat(a) + ToFloat(b)); }
inline Half SubHalf(Half a, Half b) { return RoundToHalf(ToFloat(a) - ToFloat(b)); }
inline Half MulHalf(Half a, Half b) { return RoundToHalf(ToFloat(a) * ToFloat(b)); }
inline Half FmaHalf(Half a, Half b, Half c) {
  return RoundToHalf(double{ToFloat(a)} * double{ToFloat(b)} + double{ToFloat(c)});
}
inline Half MadHalf(Half a, Half b, Half c) { return AddHalf(MulHalf(a, b), c); }

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

#endif  // LANEWISE_HIP_EMULATOR_HALF_MATH_H_
