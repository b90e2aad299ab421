// bf16 that dequantized from e4m3 bytes and scale codes, back to the bytes, a register at a time
// and exactly: for registers of 64 bytes. Compiled once for each instruction set, so included after
// hwy/foreach_target.h and without a guard of the usual kind.

#if defined(LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#undef LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#else
#define LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
#endif

#include <array>
#include <cstdint>

#include "hwy/highway.h"

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

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

// Whether there is a FromBf16 for registers of D.
template <class D>
constexpr bool kTakesBf16 = hn::MaxLanes(D()) == 64;

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

// Place << 4 of bf16 under one code. A value that is too small for any gets 1 << 4.
HWY_INLINE __m512i PlacesOfBf16(__m512i bf16, std::uint8_t code) {
  const __m512i magnitude = _mm512_and_si512(bf16, _mm512_set1_epi16(0x7FFF));
  const __m512i place =
      _mm512_subs_epu16(magnitude, _mm512_set1_epi32(static_cast<int>(kPlaceZeros[code])));
  return _mm512_srli_epi16(
      _mm512_max_epu16(place, _mm512_min_epu16(magnitude, _mm512_set1_epi16(1 << 4))), 4);
}

// The bytes of 64 bf16, the first 32 under `low_code`, the others under `high_code`. No masks: GCC
// 12 is not to be trusted with many (pack_block.cc).
template <class D, class V>
HWY_INLINE V FromBf16(D d, const std::uint8_t* bf16, std::uint8_t low_code, std::uint8_t high_code,
                      FromBf16Check<V>& check) {
  const __m512i low = hn::LoadU(d, bf16).raw, high = hn::LoadU(d, bf16 + 64).raw;
  check.dropped = hn::Or(check.dropped, hn::Or(V{low}, V{high}));
  // Packed with saturation: places above 255 stay too large, signs stay signs.
  const __m512i place =
      _mm512_packus_epi16(PlacesOfBf16(low, low_code), PlacesOfBf16(high, high_code));
  const __m512i above_24 = _mm512_subs_epu8(place, _mm512_set1_epi8(24));
#if HWY_TARGET == HWY_AVX3_DL
  const __m512i more = _mm512_permutexvar_epi8(_mm512_min_epu8(place, _mm512_set1_epi8(63)),
                                               _mm512_loadu_si512(kAbove24.data()));
#else
  // A lookup gives 0 where bit 7 of the index is set.
  const __m512i one_row = _mm512_set1_epi8(0x70);
  const auto table = [](int first) HWY_ATTR {
    return _mm512_broadcast_i32x4(
        _mm_loadu_si128(reinterpret_cast<const __m128i*>(kAbove24.data() + first)));
  };
  const __m512i more = _mm512_or_si512(
      _mm512_shuffle_epi8(table(0), _mm512_adds_epu8(place, one_row)),
      _mm512_shuffle_epi8(table(16),
                          _mm512_adds_epu8(_mm512_sub_epi8(place, _mm512_set1_epi8(16)), one_row)));
#endif
  const __m512i byte = _mm512_add_epi8(above_24, more);
  check.largest = hn::Max(check.largest, V{byte});
  const __m512i sign =
      _mm512_and_si512(_mm512_packs_epi16(low, high), _mm512_set1_epi8(static_cast<char>(0x80)));
  // Packing took 16-byte blocks in turn.
  return V{_mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7),
                                    _mm512_or_si512(byte, sign))};
}

#else

template <class D>
constexpr bool kTakesBf16 = false;

#endif

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#endif  // LANEWISE_WEIGHTS_BF16_REGISTERS_INL_H_
