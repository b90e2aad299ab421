#ifndef LANEWISE_HIP_COMMON_LAYOUT_PLAN_H_
#define LANEWISE_HIP_COMMON_LAYOUT_PLAN_H_

// Which launches move an array into or out of a layout's order: host arithmetic alone.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "hip/common/layout_move.h"
#include "layouts/bound_layout.h"
#include "layouts/layout.h"

namespace lanewise::hip {

struct PlannedMove {
  bool remainder = false;  // of the remainder's pattern, not the main one
  LayoutMove move;
  int64_t items = 0;  // work-items, 16 bytes of memory each
};

// `layout` is a MoveLayout(), `bound` it bound to extents, its parameters given. A slice holds
// `most_units` at most (2^31 or less), cut at the factor that is outermost in memory. The pointers
// are only computed with. InvalidArgument if one value of that factor owns more units than a slice
// may hold.
absl::StatusOr<std::vector<PlannedMove>> PlanMoves(const Layout& layout, const BoundLayout& bound,
                                                   int64_t unit_bytes, uint8_t* logical,
                                                   uint8_t* memory, int64_t most_units);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_LAYOUT_PLAN_H_
