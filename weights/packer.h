#ifndef LANEWISE_WEIGHTS_PACKER_H_
#define LANEWISE_WEIGHTS_PACKER_H_

// Packs logical rows into the memory order of any two-axis layout (row, byte) at memory speed, and
// back, in one pass: gather, pad, rewrite and permute together. The same bytes as layouts/pack.h on
// the gathered, padded and rewritten array, whatever the number of threads and the instruction set.
//
//   auto bound = Bind(CatalogueLayout("gfx942/fp4_tile_major"), {rows, bytes});
//   auto packer = Packer::Create(*bound);
//   RewriteCounts counts = packer->Pack(ContiguousRows(w, bytes), {}, memory);
//
// Memory divides into `leads`, equal contiguous stretches that can be packed one by one, so that a
// tensor can be streamed through a small buffer: a 16-row tile of the tile-major orders, a row of
// lane-major.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "layouts/bound_layout.h"
#include "weights/plan.h"
#include "weights/rewrite.h"
#include "weights/row_source.h"

namespace lanewise {

// Output of this size and more goes past the caches: by the time it is read, they would not hold
// it.
inline constexpr std::int64_t kStreamingBytes = std::int64_t{2} << 20;

struct PackOptions {
  Rewrite rewrite = Rewrite::kNone;
  int threads = 1;  // 0: all of the machine's

  // Streaming stores go past the caches: right for output that is larger than they are and not read
  // at once. kAuto streams outputs of kStreamingBytes and more.
  enum class Stores { kAuto, kCached, kStreaming };
  Stores stores = Stores::kAuto;
};

class Packer {
 public:
  // InvalidArgument unless the layout has two axes, the second of bytes or one-byte units.
  static absl::StatusOr<Packer> Create(const BoundLayout& layout);

  const BoundLayout& layout() const { return layout_; }
  std::int64_t leads() const { return leads_; }
  std::int64_t lead_bytes() const { return leads_ == 0 ? 0 : layout_.units() / leads_; }

  // Packs leads first .. first + count - 1 into `memory`, which has exactly count * lead_bytes()
  // bytes; InvalidArgument otherwise, or where source.valid_bytes is not within the row.
  absl::StatusOr<RewriteCounts> PackLeads(const RowSource& source, const PackOptions& options,
                                          std::int64_t first, std::int64_t count,
                                          std::span<std::uint8_t> memory) const;

  // All leads.
  absl::StatusOr<RewriteCounts> Pack(const RowSource& source, const PackOptions& options,
                                     std::span<std::uint8_t> memory) const {
    return PackLeads(source, options, 0, leads_, memory);
  }

  // The inverse: scatters the leads in `memory` to rows. Rewrites are not undone.
  absl::Status UnpackLeads(std::span<const std::uint8_t> memory, std::int64_t first,
                           std::int64_t count, const RowSink& sink, int threads) const;
  absl::Status Unpack(std::span<const std::uint8_t> memory, const RowSink& sink,
                      int threads) const {
    return UnpackLeads(memory, 0, leads_, sink, threads);
  }

 private:
  // Of a layout's regions. Checkpoints have tens of thousands of weights of a few shapes, and a
  // plan is many times what else a packer holds: packers of equal layouts share theirs.
  struct Plans {
    std::vector<RegionPlan> to_memory, to_rows;
    std::int64_t leads = 0;
  };
  static Plans MakePlans(const BoundLayout& layout);
  static std::shared_ptr<const Plans> PlansOf(const BoundLayout& layout);

  // FailedPrecondition where an instruction set was switched off after Create.
  absl::Status CheckRegisters() const;

  BoundLayout layout_;
  std::shared_ptr<const Plans> plans_;
  std::int64_t leads_ = 0;
};

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PACKER_H_
