#ifndef LANEWISE_HIP_COMMON_LAYOUT_COPY_H_
#define LANEWISE_HIP_COMMON_LAYOUT_COPY_H_

// Moves an array between its row-major order and a layout's order on the device, for every layout
// of the catalogue: Pack and Unpack of layouts/pack.h, bit for bit.
//
//   absl::StatusOr<LayoutCopy> copy = LayoutCopy::Load(device);
//   absl::Status status = copy->Launch({.tag = "gfx942/dense", .extents = {n, k}},
//                                      {.logical = rows, .memory = prepared}, stream);
//
// A work-item accesses 16 bytes in the layout's order at once, so a wave 1 KiB without a gap, and
// the row-major side in pieces as wide as the layout leaves neighbours together, up to 16 bytes.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/common/layout_plan.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

class LayoutCopy {
 public:
  enum class Direction { kPack, kUnpack };

  struct Problem {
    std::string_view tag;  // of layouts/catalogue.h
    // The size of the layout's parameter: `blocks` of gfx942/codes_tile_rounds, `chunks` of
    // flashmla/*. 0 for a layout that has none.
    int64_t parameter = 0;
    std::vector<int64_t> extents;  // of the layout's axes, outermost first
    int64_t unit_bytes = 1;        // 1, 2, 4, 8 or 16
    Direction direction = Direction::kPack;
    // What one launch moves at most; less than 2^31 only to try how arrays are cut.
    int64_t units_per_launch = int64_t{1} << 31;
  };

  // Of units * unit_bytes bytes each; they must not overlap.
  struct Operands {
    void* logical;  // row-major, aligned to unit_bytes. Pack only reads it
    void* memory;   // in the layout's order, 16-byte aligned. Unpack only reads it
  };

  // NotFound for a chip that the kernels were not built for. Makes the device current, as it has to
  // be for Launch. The object has to outlive what it queued, and graphs that were captured.
  static absl::StatusOr<LayoutCopy> Load(const Device& device);

  // Each byte is read once and written once. One launch, or two where an extent ends in the
  // layout's remainder; more from 2^31 units on.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Asynchronous; no device memory is allocated. InvalidArgument names the layout and what is
  // wrong: an unknown tag, extents that do not fit it, a parameter missing or too many, a unit
  // size, an alignment; nothing is launched then. No units are no work.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  friend class PermuteQ;

  // The kernels of one layout.
  struct Kernels {
    // By direction; the remainder's are there for layouts that have one.
    std::vector<Kernel> main, remainder;
  };

  LayoutCopy(Module module, std::vector<Kernels> kernels)
      : module_(std::move(module)), kernels_(std::move(kernels)) {}

  // `index` a MoveLayout()'s.
  static absl::StatusOr<std::vector<PlannedMove>> Plan(int index, const Problem& problem,
                                                       const Operands& operands);
  static absl::StatusOr<LaunchCost> CostOf(int index, const Problem& problem);
  absl::Status LaunchLayout(int index, const Problem& problem, const Operands& operands,
                            const Stream& stream) const;

  Module module_;
  std::vector<Kernels>
      kernels_;  // by MoveLayout() index; layouts without kernels of their own empty
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_LAYOUT_COPY_H_
