#ifndef LANEWISE_WEIGHTS_BLOCK_KERNELS_H_
#define LANEWISE_WEIGHTS_BLOCK_KERNELS_H_

// The SIMD work on one block of a RegionPlan. Highway picks the widest instruction set of the
// machine at run time; every one computes the same bytes.

#include <cstdint>

#include "weights/plan.h"
#include "weights/rewrite.h"

namespace lanewise {

struct PackBlockArgs {
  const RegionPlan* plan = nullptr;
  const std::uint8_t* const* rows = nullptr;  // a pointer for each of plan->rows; nullptr: padding
  std::int64_t byte_base = 0;                 // where in the rows the block begins
  std::int64_t valid_bytes = 0;               // of each row
  std::uint8_t padding = 0;
  Rewrite rewrite = Rewrite::kNone;
  std::uint8_t* memory = nullptr;  // receives plan->block_bytes
  RewriteCounts* counts = nullptr;
};
void PackBlock(const PackBlockArgs& args);

struct UnpackBlockArgs {
  const RegionPlan* plan = nullptr;
  std::uint8_t* const* rows = nullptr;  // nullptr: not wanted
  std::int64_t byte_base = 0;
  std::int64_t valid_bytes = 0;
  const std::uint8_t* memory = nullptr;
};
void UnpackBlock(const UnpackBlockArgs& args);

// Copies past the caches. Both pointers and `bytes` are multiples of 64.
void StreamCopy(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes);

// Makes streamed stores visible to other threads; call once after a run of StreamCopy.
void StreamFence();

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_BLOCK_KERNELS_H_
