#ifndef LANEWISE_EMULATOR_ISA_ARITHMETIC_MINMAX_H_
#define LANEWISE_EMULATOR_ISA_ARITHMETIC_MINMAX_H_

// The ISA's minima and maxima of floating-point values.
//
//   min, max          a number wins over NaN, -0 is below +0. In IEEE mode a signaling NaN comes
//                     out, quiet.
//   minimum, maximum  (gfx950) NaN wins over numbers.
//   med3              the middle one of three; with a NaN among them min3.
// They are written without branches: so loops over lanes become vector instructions.

#include <algorithm>
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
    return Choose<kIeee>(a, b, FromKey(std::min(Key(a), Key(b))));
  }
  template <bool kIeee>
  static Float Max(Float a, Float b) {
    return Choose<kIeee>(a, b, FromKey(std::max(Key(a), Key(b))));
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
    const Signed low = std::min(Key(a), Key(b));
    const Signed high = std::max(Key(a), Key(b));
    const Float middle = FromKey(std::max(low, std::min(high, Key(c))));
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
  using Signed = std::make_signed_t<Bits>;

  // Numbers in their order, -0 below +0, as integers: the bits of negative ones are turned around.
  static Signed Turn(Signed bits) {
    return bits ^ static_cast<Signed>(static_cast<Bits>(bits >> (8 * sizeof(Bits) - 1)) >> 1);
  }
  static Signed Key(Float a) { return Turn(std::bit_cast<Signed>(a)); }
  static Float FromKey(Signed key) { return std::bit_cast<Float>(Turn(key)); }

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

#endif  // LANEWISE_EMULATOR_ISA_ARITHMETIC_MINMAX_H_
