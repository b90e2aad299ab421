// bf16 that dequantized from e4m3 bytes and scale codes, back to the bytes, a register at a time
// and exactly. Compiled once for each instruction set, so included after hwy/foreach_target.h and
// without a guard of the usual kind.

#if defined(LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#undef LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#else
#define LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"
#include "weights/tile_registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whether everything that FromBf16 was given is e4m3 x code, exactly.
template <class V>
struct FromBf16Check {
  V largest;  // byte without its sign
  V dropped;  // bits of the bf16 that no e4m3 value has

  template <class D>
  explicit FromBf16Check(D d) : largest(hn::Zero(d)), dropped(hn::Zero(d)) {}
  template <class D>
  bool Exact(D d) const {
    const hn::Repartition<std::uint16_t, D> d16;
    return hn::AllTrue(d, hn::Lt(largest, hn::Set(d, 0x7F))) &&
           hn::AllTrue(d16, hn::Eq(hn::And(hn::BitCast(d16, dropped), hn::Set(d16, 0x000F)),
                                   hn::Zero(d16)));
  }
};

#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

// Whether there is a FromBf16 for registers of D.
template <class D>
constexpr bool kTakesBf16 = true;

// A bf16 without its sign is exponent << 7 | mantissa. The 11 bits exponent << 3 | mantissa >> 4 of
// an e4m3 value under a code, less 8 (code - 7) - 24, are the value's place (bf16_kernels.cc): 0
// for a zero, 8 .. 31 for subnormal bytes, 24 + byte for the others. So a subnormal byte is what
// the place is above 24, plus what this table says; no value has a place that it says 0x80 of.
constexpr std::array<std::uint8_t, 64> kAbove24 = [] {
  std::array<std::uint8_t, 64> table{};
  for (int place = 1; place < 32; ++place) table[place] = 0x80;
  table[8] = 1, table[16] = 2, table[20] = 3, table[24] = 4, table[26] = 3, table[28] = 2;
  table[30] = 1;
  return table;
}();

// What is taken from a bf16's bits to leave place << 4, twice; of codes whose values are not all
// normal, so much that nothing but zeros has a place.
constexpr std::array<std::uint32_t, 256> kPlaceZeros = [] {
  std::array<std::uint32_t, 256> zeros{};
  for (int code = 0; code < 256; ++code) {
    const bool normal = code >= 10 && code <= 246;
    zeros[code] = (normal ? (8u * (code - 7) - 24) << 4 : 0xFFFFu) * 0x10001u;
  }
  return zeros;
}();

// Place << 4 of bf16 under one code, shifted down. A value that is too small for any gets 1.
template <class D16, class V16>
HWY_INLINE V16 PlacesOfBf16(D16 d16, V16 bf16, std::uint8_t code) {
  const hn::Repartition<std::uint32_t, D16> d32;
  const V16 magnitude = hn::And(bf16, hn::Set(d16, 0x7FFF));
  const V16 place = hn::SaturatedSub(magnitude, hn::BitCast(d16, hn::Set(d32, kPlaceZeros[code])));
  return hn::ShiftRight<4>(hn::Max(place, hn::Min(magnitude, hn::Set(d16, 1 << 4))));
}

// The 16-bit lanes of `a` and `b` as bytes, saturated, in 16-byte blocks of 8 of `a` and 8 of `b`;
// then all of a's before b's.
template <class V, class V16>
HWY_INLINE V PackUnsigned(V16 a, V16 b) {
  if constexpr (sizeof(a.raw) == 16) return V{_mm_packus_epi16(a.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(a.raw) == 32) return V{_mm256_packus_epi16(a.raw, b.raw)};
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(a.raw) == 64) return V{_mm512_packus_epi16(a.raw, b.raw)};
#endif
}
template <class V, class V16>
HWY_INLINE V PackSigned(V16 a, V16 b) {
  if constexpr (sizeof(a.raw) == 16) return V{_mm_packs_epi16(a.raw, b.raw)};
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(a.raw) == 32) return V{_mm256_packs_epi16(a.raw, b.raw)};
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(a.raw) == 64) return V{_mm512_packs_epi16(a.raw, b.raw)};
#endif
}
template <class V>
HWY_INLINE V InOrder(V packed) {
#if HWY_TARGET <= HWY_AVX2
  if constexpr (sizeof(packed.raw) == 32) return V{_mm256_permute4x64_epi64(packed.raw, 0xD8)};
#endif
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(packed.raw) == 64) {
    return V{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), packed.raw)};
  }
#endif
  return packed;
}

// What kAbove24 says of each place.
template <class D, class V>
HWY_INLINE V MoreThanAbove24(D d, V place) {
#if HWY_TARGET == HWY_AVX3_DL
  if constexpr (hn::MaxLanes(D()) == 64) {
    return BytesAnywhere(hn::LoadU(d, kAbove24.data()), hn::Min(place, hn::Set(d, 63)));
  }
#endif
  // A lookup gives 0 where bit 7 of the index is set.
  const V one_row = hn::Set(d, 0x70);
  return hn::Or(
      hn::TableLookupBytesOr0(hn::LoadDup128(d, kAbove24.data()), hn::SaturatedAdd(place, one_row)),
      hn::TableLookupBytesOr0(hn::LoadDup128(d, kAbove24.data() + 16),
                              hn::SaturatedAdd(hn::Sub(place, hn::Set(d, 16)), one_row)));
}

// As many bytes as a register has, of as many bf16: the first half under `low_code`, the others
// under `high_code`. No masks: GCC 12 is not to be trusted with many (pack_block.cc).
template <class D, class V>
HWY_INLINE V FromBf16(D d, const std::uint8_t* bf16, std::uint8_t low_code, std::uint8_t high_code,
                      FromBf16Check<V>& check) {
  const hn::Repartition<std::uint16_t, D> d16;
  const V low = hn::LoadU(d, bf16), high = hn::LoadU(d, bf16 + hn::Lanes(d));
  check.dropped = hn::Or(check.dropped, hn::Or(low, high));
  // Packed with saturation: places above 255 stay too large, signs stay signs.
  const auto low16 = hn::BitCast(d16, low), high16 = hn::BitCast(d16, high);
  const V place =
      PackUnsigned<V>(PlacesOfBf16(d16, low16, low_code), PlacesOfBf16(d16, high16, high_code));
  const V above_24 = hn::SaturatedSub(place, hn::Set(d, 24));
  const V byte = hn::Add(above_24, MoreThanAbove24(d, place));
  check.largest = hn::Max(check.largest, byte);
  const V sign = hn::And(PackSigned<V>(low16, high16), hn::Set(d, 0x80));
  return InOrder(hn::Or(byte, sign));
}

#else

template <class D>
constexpr bool kTakesBf16 = false;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#endif  // LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
