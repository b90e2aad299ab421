#ifndef LANEWISE_HIP_EMULATOR_MINMAX_H_
#define LANEWISE_HIP_EMULATOR_MINMAX_H_

// The ISA's minima and maxima of floating-point values.
//
// min and max: a number wins over NaN, -0 is below +0. In IEEE mode a signaling NaN comes out,
// quiet. minimum and maximum (gfx950): NaN wins over numbers. med3: the middle one of three; with a
// NaN among them min3. They are written without branches, so that loops over lanes become vector
// instructions.

#include <bit>
#include <cstdint>
#include <type_traits>

namespace lanewise::emulator {

template <typename Float>
struct MinMax {
  using Bits = std::conditional_t<sizeof(Float) == 8, uint64_t, uint32_t>;
  static constexpr Bits kQuietBit =
      sizeof(Float) == 8 ? Bits{1} << (sizeof(Float) == 8 ? 51 : 0) : Bits{1} << 22;

  static bool IsNan(Float a) { return a != a; }
  static bool IsSignaling(Float a) { return IsNan(a) && (std::bit_cast<Bits>(a) & kQuietBit) == 0; }
  static Float Quiet(Float a) { return std::bit_cast<Float>(std::bit_cast<Bits>(a) | kQuietBit); }

  template <bool kIeee>
  static Float Min(Float a, Float b) {
    // Equal numbers differ at most in the sign of zero.
    const Float zeros = std::bit_cast<Float>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b));
    return Choose<kIeee>(a, b, a < b ? a : (a == b ? zeros : b));
  }
  template <bool kIeee>
  static Float Max(Float a, Float b) {
    const Float zeros = std::bit_cast<Float>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b));
    return Choose<kIeee>(a, b, a > b ? a : (a == b ? zeros : b));
  }
  template <bool kIeee>
  static Float Min3(Float a, Float b, Float c) {
    return Min<kIeee>(Min<kIeee>(a, b), c);
  }
  template <bool kIeee>
  static Float Max3(Float a, Float b, Float c) {
    return Max<kIeee>(Max<kIeee>(a, b), c);
  }
  template <bool kIeee>
  static Float Med3(Float a, Float b, Float c) {
    const Float middle = Max<kIeee>(Min<kIeee>(a, b), Min<kIeee>(Max<kIeee>(a, b), c));
    return IsNan(a) || IsNan(b) || IsNan(c) ? Min3<kIeee>(a, b, c) : middle;
  }
  static Float Minimum3(Float a, Float b, Float c) {
    const Float number = Min3<false>(a, b, c);
    return IsNan(a) ? Quiet(a) : (IsNan(b) ? Quiet(b) : (IsNan(c) ? Quiet(c) : number));
  }
  static Float Maximum3(Float a, Float b, Float c) {
    const Float number = Max3<false>(a, b, c);
    return IsNan(a) ? Quiet(a) : (IsNan(b) ? Quiet(b) : (IsNan(c) ? Quiet(c) : number));
  }

 private:
  template <bool kIeee>
  static Float Choose(Float a, Float b, Float number) {
    Float result = IsNan(a) ? b : (IsNan(b) ? a : number);
    if constexpr (kIeee) {
      result = IsSignaling(b) ? Quiet(b) : result;
      result = IsSignaling(a) ? Quiet(a) : result;
    }
    return result;
  }
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_HIP_EMULATOR_MINMAX_H_
