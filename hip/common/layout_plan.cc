#include "hip/common/layout_plan.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <initializer_list>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "layouts/order.h"

namespace lanewise::hip {
namespace {

constexpr int64_t kItemBytes = 16;

bool AllMultiplesOf(int64_t divisor, std::initializer_list<int64_t> values) {
  return std::all_of(values.begin(), values.end(),
                     [&](int64_t value) { return value % divisor == 0; });
}

// Whether the region's digits are the pattern's factors.
bool IsOf(const Pattern& pattern, const Region& region) {
  if (region.digits != pattern.factors) return false;
  for (int i = 0; i < region.digits; ++i) {
    const Factor& factor = pattern.factor[i];
    if (!(factor.name == region.digit[i].name)) return false;
    if (factor.size != 0 && factor.size != region.digit[i].size) return false;
  }
  return true;
}

// One region's move, not cut into slices yet.
class RegionPlan {
 public:
  RegionPlan(const Pattern& pattern, const BoundLayout& bound, const Region& region,
             int64_t unit_bytes, uint8_t* logical, uint8_t* memory, int64_t most_units)
      : bound_(bound), region_(region), unit_bytes_(unit_bytes), most_units_(most_units) {
    move_.logical = logical + region.logical_base * unit_bytes;
    move_.memory = memory + region.memory_base * unit_bytes;
    move_.unit_shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(unit_bytes)));
    const int64_t leads = bound.units() / bound.lead_units();
    lead_units_ = region.units / leads;
    if (leads > 1 && lead_units_ != bound.lead_units()) {
      move_.lead_units = static_cast<uint32_t>(lead_units_);
      move_.lead_bytes = static_cast<uint64_t>(bound.lead_units() * unit_bytes);
    }
    SetAxes(SplitAtParameters(pattern));
    SetWidths();
  }

  absl::Status AppendSlices(bool remainder, std::vector<PlannedMove>& moves) const {
    const Digit& outermost = Outermost();
    const int64_t inner_units = region_.units / outermost.size;
    if (inner_units > most_units_) {
      return absl::InvalidArgumentError(
          absl::StrCat("each ", AbslView(outermost.name.view()), " of the layout owns ",
                       inner_units, " units, a launch takes ", most_units_, " at most"));
    }
    for (const int64_t extent : extents_) {
      if (extent > std::numeric_limits<uint32_t>::max()) {
        return absl::InvalidArgumentError(
            absl::StrCat("an extent of the layout is ", extent, ", expected below 2^32"));
      }
    }
    const int64_t step = std::min(outermost.size, most_units_ / inner_units);
    for (int64_t first = 0; first < outermost.size; first += step) {
      const int64_t count = std::min(step, outermost.size - first);
      PlannedMove planned;
      planned.remainder = remainder;
      planned.move = move_;
      planned.move.logical += first * outermost.logical_stride * unit_bytes_;
      planned.move.memory += first * outermost.memory_stride * unit_bytes_;
      planned.move.units = static_cast<uint32_t>(count * inner_units);
      const bool aligned = reinterpret_cast<uintptr_t>(planned.move.memory) % kItemBytes == 0;
      planned.move.wide = planned.move.wide != 0 && aligned ? 1 : 0;
      planned.items = (count * inner_units * unit_bytes_ + kItemBytes - 1) / kItemBytes;
      moves.push_back(planned);
    }
    return absl::OkStatus();
  }

 private:
  const Digit& Outermost() const { return region_.digit[region_.memory_order[0]]; }

  // Digits are the pattern's factors, one by one; an axis has the stride of its innermost.
  void SetAxes(const Pattern& split) {
    for (int i = 0; i < region_.digits; ++i) {
      const Digit& digit = region_.digit[i];
      const int axis = split.factor[i].axis;
      extents_[axis] *= digit.size;
      move_.axis_bytes[axis] = static_cast<uint64_t>(digit.logical_stride * unit_bytes_);
    }
    for (int axis = 0; axis < kMaxAxes; ++axis) {
      move_.extents[axis] = static_cast<uint32_t>(extents_[axis]);
    }
  }

  // The widest pieces, and whether memory can be accessed 16 bytes at a time.
  void SetWidths() {
    std::vector<OrderDigit> digits = RegionDigits(region_);
    int64_t run = 1;
    if (!digits.empty() && digits.back().from_stride == 1 && digits.back().to_stride == 1) {
      run = digits.back().size;
      digits.pop_back();
    }
    const auto fits = [&](int64_t bytes) {
      const auto logical = reinterpret_cast<uintptr_t>(move_.logical);
      const auto memory = reinterpret_cast<uintptr_t>(move_.memory);
      if (logical % static_cast<uintptr_t>(bytes) != 0) return false;
      if (memory % static_cast<uintptr_t>(bytes) != 0) return false;
      if (!AllMultiplesOf(bytes, {run * unit_bytes_, lead_units_ * unit_bytes_,
                                  bound_.lead_units() * unit_bytes_})) {
        return false;
      }
      const Digit& outermost = Outermost();
      if (region_.units > most_units_ &&
          !AllMultiplesOf(bytes, {outermost.logical_stride * unit_bytes_,
                                  outermost.memory_stride * unit_bytes_})) {
        return false;
      }
      return std::all_of(digits.begin(), digits.end(), [&](const OrderDigit& digit) {
        return digit.from_stride * unit_bytes_ % bytes == 0 &&
               digit.to_stride * unit_bytes_ % bytes == 0;
      });
    };
    int64_t piece = unit_bytes_;
    while (piece < kItemBytes && fits(2 * piece)) piece *= 2;
    move_.piece_shift = static_cast<uint32_t>(std::countr_zero(static_cast<uint64_t>(piece)));
    const bool leads_fit =
        move_.lead_units == 0 ||
        AllMultiplesOf(kItemBytes, {lead_units_ * unit_bytes_, bound_.lead_units() * unit_bytes_});
    move_.wide = leads_fit ? 1 : 0;
  }

  const BoundLayout& bound_;
  const Region& region_;
  int64_t unit_bytes_;
  int64_t most_units_;
  int64_t lead_units_ = 0;  // the region's
  int64_t extents_[kMaxAxes] = {1, 1, 1, 1};
  LayoutMove move_ = {};
};

}  // namespace

absl::StatusOr<std::vector<PlannedMove>> PlanMoves(const Layout& layout, const BoundLayout& bound,
                                                   int64_t unit_bytes, uint8_t* logical,
                                                   uint8_t* memory, int64_t most_units) {
  std::vector<PlannedMove> moves;
  for (int i = 0; i < bound.regions(); ++i) {
    // The only region is the remainder's where the split axis has nothing else.
    const Region& region = bound.region(i);
    const bool remainder = !IsOf(layout.main, region);
    const RegionPlan plan(remainder ? layout.remainder : layout.main, bound, region, unit_bytes,
                          logical, memory, most_units);
    if (absl::Status status = plan.AppendSlices(remainder, moves); !status.ok()) {
      return status;
    }
  }
  return moves;
}

}  // namespace lanewise::hip
