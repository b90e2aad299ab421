#ifndef LANEWISE_HIP_COMMON_PERMUTE_Q_H_
#define LANEWISE_HIP_COMMON_PERMUTE_Q_H_

// Q in the order in which FlashMLA's mega-attention reads it, at run time: each token's
// 16-element chunks of the head dimension interleaved across the heads (seed 003,
// permute_q_to_fused).
//
//   fused[t][(d / 16) (16 H) + 16 h + d % 16] = q[t][h][d]
//
// Bit for bit reference::flashmla::PermuteQToFused, and its inverse.

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/common/layout_copy.h"
#include "hip/runtime/device.h"
#include "hip/runtime/launch_cost.h"
#include "hip/runtime/stream.h"

namespace lanewise::hip {

class PermuteQ {
 public:
  struct Problem {
    int64_t tokens = 0;
    int64_t heads = 0;
    int64_t head_dim = 512;     // a multiple of 16; with one head any, for then nothing moves
    int64_t element_bytes = 2;  // 1, 2, 4 or 8
    bool undo = false;          // from the fused order to the standard one
  };

  // [tokens, heads, head_dim] elements each; they must not overlap.
  struct Operands {
    void* standard;  // aligned to element_bytes. Read, unless `undo`
    void* fused;     // 16-byte aligned. Written, unless `undo`
  };

  // As the other launchers: NotFound for a chip that the kernels were not built for; makes the
  // device current; has to outlive what it queued.
  static absl::StatusOr<PermuteQ> Load(const Device& device);

  // Each byte is read once and written once.
  static absl::StatusOr<LaunchCost> Cost(const Problem& problem);

  // Asynchronous; no device memory is allocated. InvalidArgument for sizes or alignments that do
  // not fit; nothing is launched then. No tokens are no work.
  absl::Status Launch(const Problem& problem, const Operands& operands, const Stream& stream) const;

 private:
  explicit PermuteQ(LayoutCopy copy) : copy_(std::move(copy)) {}

  LayoutCopy copy_;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_COMMON_PERMUTE_Q_H_
