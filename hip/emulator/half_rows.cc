#include "hip/emulator/half_rows.h"

#include <bit>

#include "hip/emulator/half.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace lanewise::emulator {
namespace {

#if defined(__F16C__)

constexpr int kVector = 8;

template <int kRounding>
void RoundRow(uint32_t words[kLanes]) {
  for (int lane = 0; lane < kLanes; lane += kVector) {
    auto* const at = reinterpret_cast<__m256i*>(words + lane);
    const __m256 floats = _mm256_castsi256_ps(_mm256_loadu_si256(at));
    _mm256_storeu_si256(at, _mm256_cvtepu16_epi32(_mm256_cvtps_ph(floats, kRounding)));
  }
}

#else

// The bits below a half's are cut off; at most the largest half, but for Inf.
Half Truncate(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  const float absolute = std::bit_cast<float>(magnitude);
  const float whole =
      static_cast<float>(static_cast<int32_t>((absolute < 0x1p-14f ? absolute : 0.0f) * 0x1p24f));
  const float cut = std::bit_cast<float>(magnitude & 0xffffe000u);
  const float finite = absolute < 0x1p-14f ? whole * 0x1p-24f : (cut > 65504.0f ? 65504.0f : cut);
  const uint32_t special = magnitude > 0x7f800000u ? magnitude | 0x400000u : magnitude;
  const float result = magnitude >= 0x7f800000u ? std::bit_cast<float>(special) : finite;
  return {static_cast<uint16_t>(EncodeHalf(result).bits | (bits >> 16 & 0x8000u))};
}

#endif

}  // namespace

void HalvesToFloats(uint32_t words[kLanes]) {
#if defined(__F16C__)
  for (int lane = 0; lane < kLanes; lane += kVector) {
    auto* const at = reinterpret_cast<__m256i*>(words + lane);
    const __m256i halves = _mm256_loadu_si256(at);
    const __m128i packed =
        _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm256_storeu_si256(at, _mm256_castps_si256(_mm256_cvtph_ps(packed)));
  }
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    const float value = ToFloat(Half{static_cast<uint16_t>(words[lane])});
    const auto bits = std::bit_cast<uint32_t>(value);
    words[lane] = value != value ? bits | 0x400000u : bits;
  }
#endif
}

void FloatsToHalves(uint32_t words[kLanes]) {
#if defined(__F16C__)
  RoundRow<_MM_FROUND_CUR_DIRECTION>(words);
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    words[lane] = RoundToHalf(std::bit_cast<float>(words[lane])).bits;
  }
#endif
}

void FloatsToHalvesTowardZero(uint32_t words[kLanes]) {
#if defined(__F16C__)
  RoundRow<_MM_FROUND_TO_ZERO>(words);
#else
  for (int lane = 0; lane < kLanes; ++lane) {
    words[lane] = Truncate(std::bit_cast<float>(words[lane])).bits;
  }
#endif
}

}  // namespace lanewise::emulator
