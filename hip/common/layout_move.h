#ifndef LANEWISE_HIP_COMMON_LAYOUT_MOVE_H_
#define LANEWISE_HIP_COMMON_LAYOUT_MOVE_H_

// What the kernels that move units into and out of a layout's order (layout_kernels.hip) and their
// launcher agree on: which layouts there are kernels for, by number, and a kernel's argument.

#include <cstdint>
#include <iterator>

#include "layouts/catalogue.h"
#include "layouts/layout.h"
#include "layouts/pattern.h"

namespace lanewise::hip {

// FlashMLA's order of Q at run time: flashmla/q_fused within each token (see permute_q.h).
inline constexpr Layout kQTokens = {
    .tag = "flashmla/q_tokens",
    .unit = Unit::kElement,
    .main = "token row(head chunk:chunks dim:16) -> token chunk head dim",
    .purpose =
        "Q as FlashMLA's attention reads it: in each token, 16-element head-dim chunks "
        "interleaved across the heads",
    .source = "FlashMLA's fused layout, permute_q_to_fused"};

inline constexpr int kMoveLayouts = std::size(kCatalogue) + 1;

// The catalogue's layouts in their order, then kQTokens.
constexpr const Layout& MoveLayout(int index) {
  return index < kMoveLayouts - 1 ? kCatalogue[index] : kQTokens;
}

// The same order of units, but a factor whose size is a parameter is open and begins an axis of its
// own, so that its size is an extent known at run time: a(b c:n d:16) becomes the axes b, (c d:16).
constexpr Pattern SplitAtParameters(const Pattern& pattern) {
  Pattern split = pattern;
  int more = 0;  // axes added so far
  for (int i = 0; i < pattern.factors; ++i) {
    const bool begins = i == 0 || pattern.factor[i].axis != pattern.factor[i - 1].axis;
    if (!pattern.factor[i].parameter.empty()) {
      split.factor[i].parameter = Name();
      if (!begins) ++more;
    }
    split.factor[i].axis = pattern.factor[i].axis + more;
    if (begins || !pattern.factor[i].parameter.empty()) {
      split.axis_name[split.factor[i].axis] = pattern.factor[i].name;
    }
  }
  split.axes = pattern.axes + more;
  return split;
}

// Whether two patterns are the same but for names.
constexpr bool SameArithmetic(const Pattern& a, const Pattern& b) {
  if (a.axes != b.axes || a.factors != b.factors) return false;
  for (int i = 0; i < a.factors; ++i) {
    if (a.factor[i].axis != b.factor[i].axis || a.factor[i].size != b.factor[i].size ||
        a.factor[i].parameter.empty() != b.factor[i].parameter.empty() ||
        a.memory_order[i] != b.memory_order[i]) {
      return false;
    }
  }
  return true;
}

// The first layout whose kernels do for this one.
constexpr int KernelLayout(int index) {
  const Layout& layout = MoveLayout(index);
  for (int i = 0; i < index; ++i) {
    if (SameArithmetic(MoveLayout(i).main, layout.main) &&
        SameArithmetic(MoveLayout(i).remainder, layout.remainder)) {
      return i;
    }
  }
  return index;
}

// A kernel's argument: one region of a bound layout, or a slice of it. Units are numbered as the
// region alone has them in memory.
struct LayoutMove {
  uint8_t* logical;      // the slice's first unit in the row-major array
  uint8_t* memory;       // ... in the layout's order, 16-byte aligned if `wide`
  uint32_t units;        // at most 2^31
  uint32_t unit_shift;   // a unit has 1 << unit_shift bytes, at most 16
  uint32_t piece_shift;  // so many bytes stay neighbours and aligned on both sides; at least a unit
  uint32_t wide;         // 16 bytes of memory never cross from one lead to the next
  // Where another region's units lie between this one's: as many units belong to a leading index,
  // and leading indices are so many bytes apart in memory. 0: nothing lies between.
  uint32_t lead_units;
  uint64_t lead_bytes;
  // Of the axes of SplitAtParameters.
  uint32_t extents[kMaxAxes];
  uint64_t axis_bytes[kMaxAxes];  // from one coordinate to the next in the row-major array
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_LAYOUT_MOVE_H_
