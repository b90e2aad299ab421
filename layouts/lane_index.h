#ifndef LANEWISE_LAYOUTS_LANE_INDEX_H_
#define LANEWISE_LAYOUTS_LANE_INDEX_H_

// Where a lane's loads are, worked out at compile time from a layout's lanes (layouts/lanes.h), for
// kernels:
//
//   using Weight = LaneIndex<CatalogueLayout("gfx942/dense").lane_pattern()>;
//   static_assert(Weight::kLanes == 64 && Weight::kLoadBytes == 16);
//   static_assert(Weight::kIsWithoutGap && Weight::LinesPerLoad() == 8);
//   w = Load16(tile + Weight::Offset<uint32_t>(lane, {step, half}));   // step << 11 + half << 10 ...
//
// Offsets count units from the first of the tile. A load's coordinates are the words of load(...),
// in their order. Strides are constants, and lanes that lie one behind the other in memory are one
// product, so this costs what the formula written by hand does.
//
// Law: for a bound layout b of this pattern and every tile, lane, load l and unit u of a load,
//   b.Offset(the coordinate that they name) == the tile's first offset + Offset(lane, l) + u
//
// No parameter may be without a size (Layout::WithParameter). Host and device.

#include <cstdint>
#include <utility>

#include "layouts/index.h"
#include "layouts/lanes.h"
#include "layouts/layout.h"
#include "layouts/pattern_fault.h"

namespace lanewise {

template <LanePattern kLanePattern>
class LaneIndex {
 private:
  static constexpr const Pattern& kPattern = kLanePattern.pattern;
  using Index = PatternIndex<kLanePattern.pattern>;

  static consteval LaneFit CheckedFit() {
    const LaneFit fit = FitLanes(kPattern, kLanePattern.lanes);
    internal::ReportFault(fit.fault);
    return fit;
  }
  static constexpr LaneFit kFit = CheckedFit();

  static consteval int CountOf(LaneRole role) {
    int count = 0;
    for (int i = 0; i < kFit.digits; ++i) count += kFit.digit[i].role == role ? 1 : 0;
    return count;
  }

 public:
  static constexpr int kAxes = kLanePattern.pattern.axes;
  static constexpr int kLoadFactors = CountOf(LaneRole::kLoad);
  static constexpr std::int64_t kLanes = kFit.Count(LaneRole::kLane);

  // Units and bytes of one load of a lane, and of one load of all lanes, each byte counted once.
  static constexpr std::int64_t kLoadUnits = kFit.Count(LaneRole::kUnit);
  static constexpr std::int64_t kLoadBytes = kLoadUnits * kLanePattern.unit_bits / 8;
  static consteval std::int64_t WaveLoadUnits() {
    std::int64_t units = kLoadUnits;
    for (int i = 0; i < kFit.digits; ++i) {
      const LaneDigit& digit = kFit.digit[i];
      if (digit.role == LaneRole::kLane && digit.factor >= 0) units *= digit.size;
    }
    return units;
  }
  static constexpr std::int64_t kWaveLoadBytes = WaveLoadUnits() * kLanePattern.unit_bits / 8;

  // Whether one load of all lanes is one piece of memory.
  static constexpr bool kIsWithoutGap = WaveLoadIsContiguous(kPattern, kFit);

  // Whether offsets depend on the array's extents: an open factor lies within one that lanes or
  // loads count.
  static consteval bool NeedsExtents() {
    for (int i = 0; i < kFit.digits; ++i) {
      const LaneDigit& digit = kFit.digit[i];
      if (digit.factor < 0 || digit.role == LaneRole::kTile) continue;
      for (int axis = 0; axis < kAxes; ++axis) {
        if (Index::OpenWithin(digit.factor, axis)) return true;
      }
    }
    return false;
  }

  // The first unit of the lane's load, from the tile's first. UInt is unsigned and holds every
  // offset; lane < kLanes.
  template <class UInt>
  static constexpr UInt Offset(UInt lane, const UInt (&load)[kLoadFactors > 0 ? kLoadFactors : 1]) {
    static_assert(!NeedsExtents(), "offsets depend on the extents: give them");
    return LaneRuns(lane, std::make_integer_sequence<int, kRuns.count>()) +
           Loads<UInt>(load, nullptr, std::make_integer_sequence<int, kFit.digits>());
  }
  // The same where lanes have one load.
  template <class UInt>
  static constexpr UInt Offset(UInt lane) {
    static_assert(kLoadFactors == 0, "which load?");
    return Offset<UInt>(lane, {0});
  }
  // The same within an array of these extents, one an axis.
  template <class UInt>
  static constexpr UInt Offset(UInt lane, const UInt (&load)[kLoadFactors > 0 ? kLoadFactors : 1],
                               const UInt (&extents)[kAxes]) {
    return LaneDigits(lane, extents, std::make_integer_sequence<int, kFit.digits>()) +
           Loads<UInt>(load, extents, std::make_integer_sequence<int, kFit.digits>());
  }

  // Cache lines that one load of all lanes touches, of a tile that begins with a line: the requests
  // that it costs. With extents where offsets depend on them.
  static constexpr int LinesPerLoad(std::int64_t line_bytes = 128) {
    return LinesOf(line_bytes,
                   [](std::uint64_t lane) { return Offset<std::uint64_t>(lane, FirstLoad().at); });
  }
  static constexpr int LinesPerLoad(const std::uint64_t (&extents)[kAxes],
                                    std::int64_t line_bytes = 128) {
    return LinesOf(line_bytes, [&extents](std::uint64_t lane) {
      return Offset<std::uint64_t>(lane, FirstLoad().at, extents);
    });
  }

 private:
  struct FirstLoad {
    std::uint64_t at[kLoadFactors > 0 ? kLoadFactors : 1] = {};
  };

  // Lanes as few digits as their strides allow: lane / divisor % size, of the first run without %.
  struct Run {
    std::int64_t divisor = 1, size = 1, stride = 0;
  };
  struct Runs {
    int count = 0;
    Run run[kMaxFactors] = {};  // innermost first
  };
  static consteval Runs MakeRuns() {
    Runs runs;
    std::int64_t divisor = 1;
    for (int i = kFit.digits - 1; i >= 0; --i) {
      const LaneDigit& digit = kFit.digit[i];
      if (digit.role != LaneRole::kLane) continue;
      const std::int64_t stride =
          digit.factor < 0 ? 0 : digit.weight * Index::FixedStride(digit.factor);
      Run* const inner = runs.count == 0 ? nullptr : &runs.run[runs.count - 1];
      if (inner != nullptr && stride == inner->stride * inner->size) {
        inner->size *= digit.size;
      } else {
        runs.run[runs.count++] = {divisor, digit.size, stride};
      }
      divisor *= digit.size;
    }
    return runs;
  }
  static constexpr Runs kRuns = MakeRuns();

  template <class UInt, int... kRun>
  static constexpr UInt LaneRuns(UInt lane, std::integer_sequence<int, kRun...>) {
    return (UInt{0} + ... + OfRun<kRun>(lane));
  }
  template <int kRun, class UInt>
  static constexpr UInt OfRun(UInt lane) {
    constexpr Run kThis = kRuns.run[kRun];
    if constexpr (kThis.stride == 0) {
      return 0;
    } else {
      UInt digit = lane / static_cast<UInt>(kThis.divisor);
      if constexpr (kRun != kRuns.count - 1) digit %= static_cast<UInt>(kThis.size);
      return digit * static_cast<UInt>(kThis.stride);
    }
  }

  // One more of digit kDigit in memory. `extents` may be null where strides need none.
  template <int kDigit, class UInt>
  static constexpr UInt StrideOf(const UInt* extents) {
    constexpr LaneDigit kThis = kFit.digit[kDigit];
    if constexpr (!NeedsExtents()) {
      return static_cast<UInt>(kThis.weight * Index::FixedStride(kThis.factor));
    } else {
      UInt of_axis[kAxes];
      for (int axis = 0; axis < kAxes; ++axis) of_axis[axis] = extents[axis];
      return static_cast<UInt>(kThis.weight) *
             Index::template MemoryStride<kThis.factor, UInt>(of_axis);
    }
  }

  template <class UInt, int... kDigit>
  static constexpr UInt LaneDigits(UInt lane, const UInt* extents,
                                   std::integer_sequence<int, kDigit...>) {
    UInt offset = 0;
    (
        [&] {
          constexpr LaneDigit kThis = kFit.digit[kDigit];
          if constexpr (kThis.role == LaneRole::kLane && kThis.factor >= 0) {
            const UInt digit = lane / static_cast<UInt>(InsideOf(kDigit));
            offset += digit % static_cast<UInt>(kThis.size) * StrideOf<kDigit, UInt>(extents);
          }
        }(),
        ...);
    return offset;
  }

  template <class UInt, int... kDigit>
  static constexpr UInt Loads(const UInt* load, const UInt* extents,
                              std::integer_sequence<int, kDigit...>) {
    UInt offset = 0;
    (
        [&] {
          if constexpr (kFit.digit[kDigit].role == LaneRole::kLoad) {
            offset += load[NumberOf(kDigit)] * StrideOf<kDigit, UInt>(extents);
          }
        }(),
        ...);
    return offset;
  }

  // The values of the digits of this one's role that stand behind it.
  static consteval std::int64_t InsideOf(int digit) {
    std::int64_t inside = 1;
    for (int i = digit + 1; i < kFit.digits; ++i) {
      if (kFit.digit[i].role == kFit.digit[digit].role) inside *= kFit.digit[i].size;
    }
    return inside;
  }
  // Which of its role's digits it is.
  static consteval int NumberOf(int digit) {
    int number = 0;
    for (int i = 0; i < digit; ++i) number += kFit.digit[i].role == kFit.digit[digit].role ? 1 : 0;
    return number;
  }

  template <class OffsetOfLane>
  static constexpr int LinesOf(std::int64_t line_bytes, OffsetOfLane offset_of) {
    const auto first_line = [&](std::int64_t lane) {
      const auto offset = static_cast<std::int64_t>(offset_of(static_cast<std::uint64_t>(lane)));
      return offset * kLanePattern.unit_bits / 8 / line_bytes;
    };
    const auto last_line = [&](std::int64_t lane) {
      const auto offset = static_cast<std::int64_t>(offset_of(static_cast<std::uint64_t>(lane)));
      return (offset * kLanePattern.unit_bits / 8 + kLoadBytes - 1) / line_bytes;
    };
    int lines = 0;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      for (std::int64_t line = first_line(lane); line <= last_line(lane); ++line) {
        bool is_new = true;
        for (std::int64_t before = 0; before < lane && is_new; ++before) {
          is_new = line < first_line(before) || line > last_line(before);
        }
        lines += is_new ? 1 : 0;
      }
    }
    return lines;
  }
};

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_LANE_INDEX_H_
