#ifndef LANEWISE_LAYOUTS_INDEX_H_
#define LANEWISE_LAYOUTS_INDEX_H_

// A pattern's index arithmetic unrolled at compile time, for kernels: every stride that the pattern
// fixes is a constant, so factors of power-of-two sizes cost shifts and masks, and a coordinate
// that is a constant costs nothing. BoundLayout computes the same offsets from tables.
//
//   using Dense = PatternIndex<CatalogueLayout("gfx942/dense").main>;
//   uint32_t at = Dense::Offset<uint32_t>({row, k}, {n, padded_k});
//
// Law: for every coordinate c within extents e that the pattern fits,
//   PatternIndex<p>::Offset(c, e) == the offset of c in p bound to e
//   PatternIndex<p>::Coordinate(Offset(c, e), e, out) sets out to c
//
// No parameter may be without a size (Pattern::WithParameter). Host and device.

#include <cstdint>
#include <utility>

#include "layouts/pattern.h"

namespace lanewise {

template <Pattern kPattern>
class PatternIndex {
 public:
  static constexpr int kAxes = kPattern.axes;

  // Offset of `coordinate` within `extents`, one value an axis. UInt is unsigned and holds every
  // offset.
  template <class UInt>
  static constexpr UInt Offset(const UInt (&coordinate)[kAxes], const UInt (&extents)[kAxes]) {
    return OffsetOver<UInt>(coordinate, extents,
                            std::make_integer_sequence<int, kPattern.factors>());
  }

  // The coordinate at `offset` within `extents`.
  template <class UInt>
  static constexpr void Coordinate(UInt offset, const UInt (&extents)[kAxes],
                                   UInt (&coordinate)[kAxes]) {
    for (int axis = 0; axis < kAxes; ++axis) coordinate[axis] = 0;
    CoordinateOver<UInt>(offset, extents, coordinate,
                         std::make_integer_sequence<int, kPattern.factors>());
  }

  // ---- strides ----

  // How far factor i moves along its axis. Always a constant: only outermost factors are open.
  static constexpr std::int64_t CoordinateStride(int i) {
    std::int64_t stride = 1;
    for (int j = i + 1; j < kPattern.EndFactor(kPattern.factor[i].axis); ++j) {
      stride *= kPattern.factor[j].size;
    }
    return stride;
  }

  // The fixed part of factor i's stride in memory.
  static constexpr std::int64_t FixedStride(int i) {
    std::int64_t stride = 1;
    for (int p = kPattern.MemoryPosition(i) + 1; p < kPattern.factors; ++p) {
      const Factor& factor = kPattern.factor[kPattern.memory_order[p]];
      if (!factor.IsOpen()) stride *= factor.size;
    }
    return stride;
  }

  // Whether the open factor of `axis` lies within factor i in memory, so that i's stride depends on
  // it.
  static constexpr bool OpenWithin(int i, int axis) {
    for (int p = kPattern.MemoryPosition(i) + 1; p < kPattern.factors; ++p) {
      const Factor& factor = kPattern.factor[kPattern.memory_order[p]];
      if (factor.IsOpen() && factor.axis == axis) return true;
    }
    return false;
  }

  // How far factor kFactor moves in memory.
  template <int kFactor, class UInt>
  static constexpr UInt MemoryStride(const UInt (&extents)[kAxes]) {
    return StrideOver<kFactor, UInt>(extents, std::make_integer_sequence<int, kAxes>());
  }

 private:
  static constexpr bool AllSizesKnown() {
    for (int i = 0; i < kPattern.factors; ++i) {
      if (!kPattern.factor[i].parameter.empty()) return false;
    }
    return true;
  }
  static_assert(AllSizesKnown(), "a parameter of the pattern has no size: use WithParameter");

  template <int kAxis, class UInt>
  static constexpr UInt OpenSize(const UInt (&extents)[kAxes]) {
    constexpr std::int64_t kInner = CoordinateStride(kPattern.FirstFactor(kAxis));
    return extents[kAxis] / static_cast<UInt>(kInner);
  }

  template <int kFactor, class UInt, int... kAxis>
  static constexpr UInt StrideOver(const UInt (&extents)[kAxes],
                                   std::integer_sequence<int, kAxis...>) {
    UInt stride = static_cast<UInt>(FixedStride(kFactor));
    (
        [&] {
          if constexpr (OpenWithin(kFactor, kAxis)) stride *= OpenSize<kAxis, UInt>(extents);
        }(),
        ...);
    return stride;
  }

  template <int kFactor, class UInt>
  static constexpr UInt DigitOf(const UInt (&coordinate)[kAxes]) {
    constexpr Factor kThis = kPattern.factor[kFactor];
    UInt digit = coordinate[kThis.axis] / static_cast<UInt>(CoordinateStride(kFactor));
    // The outermost factor of an axis needs no reduction: the coordinate is within the extent.
    if constexpr (kFactor != kPattern.FirstFactor(kThis.axis))
      digit %= static_cast<UInt>(kThis.size);
    return digit;
  }

  template <class UInt, int... kFactor>
  static constexpr UInt OffsetOver(const UInt (&coordinate)[kAxes], const UInt (&extents)[kAxes],
                                   std::integer_sequence<int, kFactor...>) {
    return (UInt{0} + ... +
            (DigitOf<kFactor, UInt>(coordinate) * MemoryStride<kFactor, UInt>(extents)));
  }

  template <class UInt, int... kPosition>
  static constexpr void CoordinateOver(UInt offset, const UInt (&extents)[kAxes],
                                       UInt (&coordinate)[kAxes],
                                       std::integer_sequence<int, kPosition...>) {
    (
        [&] {
          constexpr int kFactor = kPattern.memory_order[kPosition];
          const UInt stride = MemoryStride<kFactor, UInt>(extents);
          coordinate[kPattern.factor[kFactor].axis] +=
              offset / stride * static_cast<UInt>(CoordinateStride(kFactor));
          offset %= stride;
        }(),
        ...);
  }
};

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_INDEX_H_
