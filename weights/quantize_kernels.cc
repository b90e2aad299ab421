#include "weights/quantize_kernels.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/quantize_kernels.cc"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Words = hn::RebindToUnsigned<Floats>;
using Ints = hn::RebindToSigned<Floats>;
using FloatVector = hn::Vec<Floats>;
using WordVector = hn::Vec<Words>;

// A block as float32. What the type's bits are is the caller's to know at compile time.
template <FloatType type>
HWY_INLINE void LoadBlock(const std::uint8_t* source, float* x) {
  const Floats floats;
  const Words words;
  if constexpr (type == FloatType::kF32) {
    std::memcpy(x, source, kMxBlock * sizeof(float));
  } else {
    HWY_ALIGN std::uint16_t halves[kMxBlock];
    std::memcpy(halves, source, sizeof(halves));
    const hn::Rebind<std::uint16_t, Floats> half;
    for (std::size_t i = 0; i < kMxBlock; i += hn::Lanes(floats)) {
      const WordVector bits = hn::PromoteTo(words, hn::Load(half, halves + i));
      if constexpr (type == FloatType::kBf16) {
        hn::Store(hn::BitCast(floats, hn::ShiftLeft<16>(bits)), floats, x + i);
      } else {
        // The fields of binary16 moved into a float's places are the number times 2^-112,
        // subnormals included; infinities and NaN need the exponent field filled up.
        const WordVector magnitude =
            hn::ShiftLeft<13>(hn::And(bits, hn::Set(words, std::uint32_t{0x7FFF})));
        const FloatVector number =
            hn::Mul(hn::BitCast(floats, magnitude), hn::Set(floats, 0x1p112f));
        const auto special = hn::Gt(magnitude, hn::Set(words, std::uint32_t{0x0F7FFFFF}));
        const WordVector unsigned_bits =
            hn::IfThenElse(special, hn::Or(magnitude, hn::Set(words, std::uint32_t{0x7F800000})),
                           hn::BitCast(words, number));
        const WordVector sign =
            hn::ShiftLeft<16>(hn::And(bits, hn::Set(words, std::uint32_t{0x8000})));
        hn::Store(hn::BitCast(floats, hn::Or(unsigned_bits, sign)), floats, x + i);
      }
    }
  }
}

template <FloatType type>
HWY_INLINE void Largest(const std::uint8_t* source, std::int64_t blocks, std::uint32_t* largest) {
  const Floats floats;
  const Words words;
  HWY_ALIGN float x[kMxBlock];
  for (std::int64_t block = 0; block < blocks; ++block) {
    LoadBlock<type>(source + block * kMxBlock * FloatBytes(type), x);
    WordVector most = hn::Zero(words);
    for (std::size_t i = 0; i < kMxBlock; i += hn::Lanes(floats)) {
      most = hn::Max(most, hn::BitCast(words, hn::Abs(hn::Load(floats, x + i))));
    }
    largest[block] = std::max(largest[block], hn::GetLane(hn::MaxOfLanes(words, most)));
  }
}

void LargestImpl(const std::uint8_t* source, FloatType type, std::int64_t blocks,
                 std::uint32_t* largest) {
  if (type == FloatType::kF32) return Largest<FloatType::kF32>(source, blocks, largest);
  if (type == FloatType::kBf16) return Largest<FloatType::kBf16>(source, blocks, largest);
  return Largest<FloatType::kF16>(source, blocks, largest);
}

// How a format's elements lie among the float32: fraction bits that are dropped, the code of a
// float's exponent above the element's, the smallest normal, and the float that has the spacing of
// the subnormals.
template <ElementFormat format>
struct Spacing {
  static constexpr int kExponentBias = format == ElementFormat::kE4m3Fn     ? 7
                                       : format == ElementFormat::kE4m3Fnuz ? 8
                                                                            : 1;
  static constexpr int kFractionBits = format == ElementFormat::kE2m1 ? 1 : 3;
  static constexpr int kDropped = 23 - kFractionBits;
  static constexpr std::uint32_t kBias = std::uint32_t{127 - kExponentBias} << kFractionBits;
  static constexpr float kSmallestNormal = 2.0f / (1 << kExponentBias);
  static constexpr float kLifter = kSmallestNormal * (1 << kDropped);
  static constexpr std::uint8_t kNan = format == ElementFormat::kE4m3Fn     ? 0x7F
                                       : format == ElementFormat::kE4m3Fnuz ? 0x80
                                                                            : 0;
  static constexpr std::uint32_t kSign = format == ElementFormat::kE2m1 ? 0x8 : 0x80;
};

// One block of a finite scale.
template <ElementFormat format>
HWY_INLINE void RoundBlock(const float* x, float inverse_scale, float scale, float maximum,
                           std::uint8_t* elements, MxError* error) {
  using S = Spacing<format>;
  const Floats floats;
  const Words words;
  const hn::Rebind<std::uint8_t, Floats> bytes;
  HWY_ALIGN std::uint8_t bits[kMxBlock];
  FloatVector largest = hn::Zero(floats), error_sum = largest, size_sum = largest;
  std::size_t zeroed = 0;
  for (std::size_t i = 0; i < kMxBlock; i += hn::Lanes(floats)) {
    const FloatVector from = hn::Load(floats, x + i);
    const FloatVector scaled = hn::Mul(from, hn::Set(floats, inverse_scale));
    const FloatVector unclamped = hn::Abs(scaled);
    const FloatVector magnitude = hn::Min(unclamped, hn::Set(floats, maximum));
    const WordVector raw = hn::BitCast(words, magnitude);
    const WordVector odd =
        hn::And(hn::ShiftRight<S::kDropped>(raw), hn::Set(words, std::uint32_t{1}));
    const WordVector half_less = hn::Set(words, (std::uint32_t{1} << (S::kDropped - 1)) - 1);
    const WordVector normal = hn::ShiftRight<S::kDropped>(hn::Add(raw, hn::Add(half_less, odd)));
    // Rounds to a multiple of the subnormals' spacing.
    const FloatVector lifter = hn::Set(floats, S::kLifter);
    const FloatVector lifted = hn::Add(magnitude, lifter);
    const auto subnormal = hn::Lt(magnitude, hn::Set(floats, S::kSmallestNormal));
    const auto subnormal_words = hn::RebindMask(words, subnormal);
    const WordVector code = hn::IfThenElse(
        subnormal_words, hn::Sub(hn::BitCast(words, lifted), hn::BitCast(words, lifter)),
        hn::Sub(normal, hn::Set(words, S::kBias)));
    const FloatVector rounded =
        hn::IfThenElse(subnormal, hn::Sub(lifted, lifter),
                       hn::BitCast(floats, hn::ShiftLeft<S::kDropped>(normal)));
    WordVector sign =
        hn::And(hn::ShiftRight<31>(hn::BitCast(words, scaled)), hn::Set(words, std::uint32_t{1}));
    sign = hn::Mul(sign, hn::Set(words, S::kSign));
    if constexpr (format == ElementFormat::kE4m3Fnuz) {
      // It has no -0.
      sign = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(words)), sign);
    }
    hn::Store(hn::DemoteTo(bytes, hn::BitCast(Ints(), hn::Or(code, sign))), bytes, bits + i);

    // In the scale of the elements the difference is exact; only the sums of squares round.
    const FloatVector lost = hn::Abs(hn::Sub(rounded, unclamped));
    largest = hn::Max(largest, lost);
    error_sum = hn::Add(error_sum, hn::Mul(lost, lost));
    size_sum = hn::Add(size_sum, hn::Mul(unclamped, unclamped));
    const auto flushed = hn::And(hn::Ne(from, hn::Zero(floats)), hn::Eq(rounded, hn::Zero(floats)));
    zeroed += hn::CountTrue(floats, flushed);
  }
  if constexpr (format == ElementFormat::kE2m1) {
    for (int i = 0; i < kMxBlock / 2; ++i) {
      elements[i] = static_cast<std::uint8_t>(bits[2 * i] | bits[2 * i + 1] << 4);
    }
  } else {
    std::memcpy(elements, bits, kMxBlock);
  }
  const double unit = scale;
  error->largest = std::max(error->largest, unit * hn::GetLane(hn::MaxOfLanes(floats, largest)));
  error->error += unit * unit * hn::GetLane(hn::SumOfLanes(floats, error_sum));
  error->size += unit * unit * hn::GetLane(hn::SumOfLanes(floats, size_sum));
  error->zeroed += static_cast<std::int64_t>(zeroed);
}

// 2^(code - 127), codes 0 to 254.
HWY_INLINE float Scale(int code) {
  return code == 0 ? 0x1p-127f : std::bit_cast<float>(static_cast<std::uint32_t>(code) << 23);
}

template <FloatType type, ElementFormat format>
void Elements(const std::uint8_t* source, float maximum, std::int64_t blocks,
              const std::uint8_t* codes, std::uint8_t* elements, MxError* error) {
  HWY_ALIGN float x[kMxBlock];
  for (std::int64_t block = 0; block < blocks; ++block) {
    std::uint8_t* const to = elements + ElementBytes(format, block * kMxBlock);
    const int code = codes[block];
    if (code == 255) {
      std::memset(to, Spacing<format>::kNan,
                  static_cast<std::size_t>(ElementBytes(format, kMxBlock)));
      continue;
    }
    LoadBlock<type>(source + block * kMxBlock * FloatBytes(type), x);
    RoundBlock<format>(x, Scale(254 - code), Scale(code), maximum, to, error);
  }
}

template <FloatType type>
void ElementsOf(const std::uint8_t* source, ElementFormat format, float maximum,
                std::int64_t blocks, const std::uint8_t* codes, std::uint8_t* elements,
                MxError* error) {
  switch (format) {
    case ElementFormat::kE4m3Fn:
      return Elements<type, ElementFormat::kE4m3Fn>(source, maximum, blocks, codes, elements,
                                                    error);
    case ElementFormat::kE4m3Fnuz:
      return Elements<type, ElementFormat::kE4m3Fnuz>(source, maximum, blocks, codes, elements,
                                                      error);
    case ElementFormat::kE2m1:
      return Elements<type, ElementFormat::kE2m1>(source, maximum, blocks, codes, elements, error);
    case ElementFormat::kE5m2:  // ValidateMxOptions refuses them
    case ElementFormat::kE5m2Fnuz:
      return;
  }
}

void ElementsImpl(const std::uint8_t* source, FloatType type, ElementFormat format, float maximum,
                  std::int64_t blocks, const std::uint8_t* codes, std::uint8_t* elements,
                  MxError* error) {
  switch (type) {
    case FloatType::kF32:
      return ElementsOf<FloatType::kF32>(source, format, maximum, blocks, codes, elements, error);
    case FloatType::kBf16:
      return ElementsOf<FloatType::kBf16>(source, format, maximum, blocks, codes, elements, error);
    case FloatType::kF16:
      return ElementsOf<FloatType::kF16>(source, format, maximum, blocks, codes, elements, error);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(LargestImpl);
HWY_EXPORT(ElementsImpl);

void LargestMagnitudes(const std::uint8_t* source, FloatType type, std::int64_t blocks,
                       std::uint32_t* largest) {
  HWY_DYNAMIC_DISPATCH(LargestImpl)(source, type, blocks, largest);
}

void QuantizeElements(const std::uint8_t* source, FloatType type, ElementFormat format,
                      float maximum, std::int64_t blocks, const std::uint8_t* codes,
                      std::uint8_t* elements, MxError* error) {
  HWY_DYNAMIC_DISPATCH(ElementsImpl)
  (source, type, format, maximum, blocks, codes, elements, error);
}

}  // namespace lanewise
#endif  // HWY_ONCE
