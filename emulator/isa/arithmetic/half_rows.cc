#include "emulator/isa/arithmetic/half_rows.h"

#include <bit>

#include "emulator/isa/arithmetic/half.h"

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
    words[lane] = TruncateToHalf(std::bit_cast<float>(words[lane])).bits;
  }
#endif
}

}  // namespace lanewise::emulator
