#ifndef LANEWISE_HIP_DEVICE_QUANTIZE_BLOCK_H_
#define LANEWISE_HIP_DEVICE_QUANTIZE_BLOCK_H_

// Device code that quantizes blocks of 32 elements, the bytes being reference::QuantizeBlock's for
// every rule, maximum, floor, smallest code and policy, on gfx942, gfx950 and NVIDIA's chips from
// this one source.
//
// A block is spread over neighbouring lanes as the kernel likes; four lanes of eight, say:
//
//   constexpr hip::Quantizer kFnuz = {.maximum = 224.0f};
//   uint32_t amax = 0;
//   for (int i = 0; i < 8; ++i) amax = MaxMagnitude(amax, x[i]);
//   amax = MaxOverLanes<4>(amax);
//   const uint32_t code = BlockCode(amax, kFnuz);
//   const BlockEncoder<ElementFormat::kE4m3Fnuz> encode(code, kFnuz);
//   const uint32_t low = encode.Four(x[0], x[1], x[2], x[3]);
//
// With a constexpr Quantizer everything that depends on it folds away; one that came as a kernel's
// argument costs scalar instructions. An element costs a multiplication, a clamp and half a
// conversion where the chip converts to the format itself (FNUZ on gfx942, OCP and e2m1 on gfx950),
// and some ten more instructions where it does not.
//
// Float32 subnormals must be on and rounding to nearest even, as they are in kernels unless
// somebody changes that. The MODE register's other bits do not matter.

#include <cstdint>

#include "hip/device.h"
#include "hip/device/quantizer.h"

namespace lanewise::device {

inline constexpr uint32_t kInfinityBits = 0x7F800000;

__device__ inline uint32_t BitsOf(float x) { return __builtin_bit_cast(uint32_t, x); }
__device__ inline float FloatOf(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// The bits of the larger of |x| and a magnitude given by its bits. Bits of magnitudes order as the
// magnitudes do, infinity above all finite ones and NaN above infinity, so a NaN prevails.
__device__ inline uint32_t MaxMagnitude(uint32_t magnitude, float x) {
  const uint32_t other = BitsOf(x) & 0x7FFFFFFF;
  return magnitude > other ? magnitude : other;
}

namespace internal {

// The larger of a lane's value and that of lane LaneId() ^ kDistance.
template <int kDistance>
__device__ inline uint32_t MaxWithPartner(uint32_t value) {
  const uint32_t partner = FromPartner<kDistance>(value);
  return value > partner ? value : partner;
}

}  // namespace internal

// The largest `value` of each group of `kLanes` neighbouring lanes, in all of them. kLanes is 1, 2,
// 4, 8, 16 or 32; the lanes of a group must be active together.
template <int kLanes>
__device__ inline uint32_t MaxOverLanes(uint32_t value) {
  static_assert(kLanes == 1 || kLanes == 2 || kLanes == 4 || kLanes == 8 || kLanes == 16 ||
                kLanes == 32);
  if constexpr (kLanes >= 2) value = internal::MaxWithPartner<1>(value);
  if constexpr (kLanes >= 4) value = internal::MaxWithPartner<2>(value);
  if constexpr (kLanes >= 8) value = internal::MaxWithPartner<7>(value);
  if constexpr (kLanes >= 16) value = internal::MaxWithPartner<15>(value);
  if constexpr (kLanes >= 32) value = internal::MaxWithPartner<16>(value);
  return value;
}

namespace internal {

// A positive finite float as significand * 2^(exponent - 23), the significand in [2^23, 2^24).
struct Normalized {
  uint32_t significand;
  int exponent;
};

__device__ inline Normalized Normalize(uint32_t bits) {
  const int field = static_cast<int>(bits >> 23);
  const uint32_t fraction = bits & 0x7FFFFF;
  if (field != 0) return {fraction | 0x800000, field - 127};
  const int shift = __builtin_clz(fraction | 1) - 8;
  return {fraction << shift, -126 - shift};
}

// reference::SwallowedUlps: the largest t for which log2(2^e (1 + t 2^-23)) rounds to e. The table
// 0, 0, 1, 2, 5, 11, 22, 44 by the bits of |e| less one is floor(44.36 / 2^(7 - j)).
__device__ inline uint32_t SwallowedUlps(int e) {
  const uint32_t magnitude = static_cast<uint32_t>(e < 0 ? -e - 1 : e);
  const int j = 31 - __builtin_clz(magnitude | 1);
  return 44u >> (7 - j);
}

__device__ inline int CeilRoundedLog2(uint32_t bits) {
  const Normalized n = Normalize(bits);
  return n.exponent + (n.significand - 0x800000 > SwallowedUlps(n.exponent) ? 1 : 0);
}

// The code of a positive finite magnitude before its clamp.
__device__ inline int UnclampedCode(uint32_t a, const hip::Quantizer& quantizer) {
  const uint32_t max = BitsOf(quantizer.maximum);
  const int max_exponent = static_cast<int>(max >> 23) - 127;
  switch (quantizer.rule) {
    case BlockRule::kExact: {
      // Normal numbers: the exponent field of a - fraction(max), rounded up.
      const uint32_t max_fraction = max & 0x7FFFFF;
      int field = static_cast<int>((a + 0x7FFFFF - max_fraction) >> 23);
      if (quantizer.amax_floor < 0x1p-126f && a < 0x800000) {
        const Normalized n = Normalize(a);
        field = n.exponent + 127 + (n.significand - 0x800000 > max_fraction ? 1 : 0);
      }
      return field - max_exponent;
    }
    case BlockRule::kRoundedLog2: {
      const uint32_t quotient = BitsOf(FloatOf(a) / quantizer.maximum);
      return quotient == 0 ? 0 : CeilRoundedLog2(quotient) + 127;
    }
    case BlockRule::kFloor:
      return Normalize(a).exponent - max_exponent + 127;
    case BlockRule::kEven:
      return static_cast<int>((a + 0x200000) >> 23) - max_exponent;
    case BlockRule::kRoundUp: {
      const float reciprocal = 1.0f / quantizer.maximum;
      const uint32_t v = BitsOf(FloatOf(a) * reciprocal);
      return static_cast<int>((v + 0x7FFFFF) >> 23);
    }
  }
  return 0;
}

}  // namespace internal

// The E8M0 code of a block whose largest magnitude has these bits (MaxMagnitude): the number that
// reference::BlockCode gives, 0 to 255.
__device__ inline uint32_t BlockCode(uint32_t amax, const hip::Quantizer& quantizer) {
  const uint32_t floor = BitsOf(quantizer.amax_floor);
  const uint32_t a = amax > floor ? amax : floor;
  int code = a == 0 ? 0 : internal::UnclampedCode(a, quantizer);
  const int smallest = static_cast<int>(quantizer.smallest_code);
  code = code < smallest ? smallest : code;
  code = code > static_cast<int>(hip::kLargestCode) ? static_cast<int>(hip::kLargestCode) : code;
  if (amax >= kInfinityBits) {
    const bool saturate = amax == kInfinityBits && quantizer.non_finite == NonFinite::kSaturate;
    code = static_cast<int>(saturate ? hip::kLargestCode : hip::kNanCode);
  }
  return static_cast<uint32_t>(code);
}

// 2^(127 - code), of a code up to 254; 2^-127 is subnormal.
__device__ inline float InverseScale(uint32_t code) {
  return FloatOf(code == hip::kLargestCode ? 0x00400000u : (hip::kLargestCode - code) << 23);
}

// What a format is, as far as encoding needs it.
template <ElementFormat kFormat>
struct FormatTraits {
  static constexpr bool kIsE2m1 = kFormat == ElementFormat::kE2m1;
  static constexpr bool kIsE5m2 =
      kFormat == ElementFormat::kE5m2 || kFormat == ElementFormat::kE5m2Fnuz;
  static constexpr bool kFnuz =
      kFormat == ElementFormat::kE4m3Fnuz || kFormat == ElementFormat::kE5m2Fnuz;
  static constexpr int kMantissaBits = kIsE2m1 ? 1 : kIsE5m2 ? 2 : 3;
  static constexpr int kBias = (kIsE2m1 ? 1 : kIsE5m2 ? 15 : 7) + (kFnuz ? 1 : 0);
  static constexpr int kBits = kIsE2m1 ? 4 : 8;
  // What reference::NanBits gives, and what the elements of a NaN block are; e2m1 has no NaN.
  static constexpr uint32_t kNan = kIsE2m1 ? 0 : kFnuz ? 0x80 : 0x7F;
#if defined(__gfx942__)
  static constexpr bool kInHardware = kFnuz;
#elif defined(__gfx950__)
  static constexpr bool kInHardware = !kFnuz;
#else
  static constexpr bool kInHardware = false;
#endif
};

// The bits of the element nearest to x, ties to even, without the chip's conversion. |x| is at most
// the format's largest value.
//
// Added to a power of two whose float32 spacing is the format's spacing about x, |x| is rounded as
// the format rounds it, and stands in the sum's lowest bits as a number of those spacings.
template <ElementFormat kFormat>
__device__ inline uint32_t EncodeBySum(float x) {
  using Traits = FormatTraits<kFormat>;
  constexpr uint32_t kLowestField = 128 - Traits::kBias;  // of the format's smallest normal number
  constexpr uint32_t kDropped = 23 - Traits::kMantissaBits;
  const uint32_t bits = BitsOf(x);
  // That of x's binade, or of the subnormals below the normal numbers.
  const uint32_t exponent = bits & kInfinityBits;
  const uint32_t binade = exponent > kLowestField << 23 ? exponent : kLowestField << 23;
  const uint32_t power = binade + (kDropped << 23);
  const uint32_t units = BitsOf(FloatOf(bits & 0x7FFFFFFF) + FloatOf(power)) - power;
  // The units count the implicit bit, and a carry out of the mantissa goes on into the exponent.
  const uint32_t code = units + ((binade - (kLowestField << 23)) >> kDropped);
  const uint32_t sign = (bits >> (32 - Traits::kBits)) & (1u << (Traits::kBits - 1));
  return Traits::kFnuz && code == 0 ? 0 : code | sign;
}

// Makes a block's elements from its code.
template <ElementFormat kFormat>
class BlockEncoder {
  using Traits = FormatTraits<kFormat>;

 public:
  // `code` is BlockCode's. The maximum may be any up to the format's largest value.
  __device__ BlockEncoder(uint32_t code, const hip::Quantizer& quantizer)
      : scale_(InverseScale(code)), maximum_(quantizer.maximum), is_nan_(code == hip::kNanCode) {}

  // Four elements side by side, x0's in the lowest bits: 32 bits, of e2m1 16.
  __device__ uint32_t Four(float x0, float x1, float x2, float x3) const {
    uint32_t result;
    if constexpr (Traits::kInHardware) {
      result = Pair<true>(Pair<false>(0, x0, x1), x2, x3);
    } else {
      constexpr int kBits = Traits::kBits;
      result = EncodeBySum<kFormat>(Scaled(x0)) | EncodeBySum<kFormat>(Scaled(x1)) << kBits |
               EncodeBySum<kFormat>(Scaled(x2)) << (2 * kBits) |
               EncodeBySum<kFormat>(Scaled(x3)) << (3 * kBits);
    }
    return is_nan_ ? Traits::kNan * 0x01010101u : result;
  }

 private:
  // x * 2^(127 - code), clamped to the maximum. Infinity becomes the maximum. (Of a NaN block
  // nothing is used.)
  __device__ float Scaled(float x) const { return Clamp(x * scale_, -maximum_, maximum_); }

  // Two elements by the chip's conversion into the low half of `old` or the next.
  template <bool kHigh>
  __device__ uint32_t Pair(uint32_t old, float low, float high) const {
    if constexpr (Traits::kIsE2m1) {
      return PairOfE2m1<kHigh>(old, Scaled(low), Scaled(high));
    } else if constexpr (Traits::kIsE5m2) {
      return static_cast<uint32_t>(
          __builtin_amdgcn_cvt_pk_bf8_f32(Scaled(low), Scaled(high), static_cast<int>(old), kHigh));
    } else {
      return static_cast<uint32_t>(
          __builtin_amdgcn_cvt_pk_fp8_f32(Scaled(low), Scaled(high), static_cast<int>(old), kHigh));
    }
  }

  template <bool kHigh>
  __device__ static uint32_t PairOfE2m1(uint32_t old, [[maybe_unused]] float low,
                                        [[maybe_unused]] float high) {
#if defined(__gfx950__)
    return __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(old, low, high, 1.0f, kHigh);
#else
    return old;  // Never called: no other chip has the conversion.
#endif
  }

  float scale_;
  float maximum_;
  bool is_nan_;
};

}  // namespace lanewise::device

#endif  // LANEWISE_HIP_DEVICE_QUANTIZE_BLOCK_H_
