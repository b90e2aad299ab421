#ifndef LANEWISE_WEIGHTS_BLOCK_KERNELS_H_
#define LANEWISE_WEIGHTS_BLOCK_KERNELS_H_

// The SIMD work on one block of a RegionPlan. Highway picks the widest instruction set of the
// machine at run time; every one computes the same bytes.

#include <cstdint>

#include "weights/plan.h"
#include "weights/read_ahead.h"
#include "weights/rewrite.h"

namespace lanewise {

// The widest registers that a RegionPlan may use on this machine: 64, 32 or 16 bytes, or 0.
int VectorBytes();

// The most exchanges of a network that takes rows of bf16.
inline constexpr int kMaxBf16Exchanges = 2;

// A block, and the `repeat` - 1 blocks after it along the plan's last loop where that stays on the
// same rows.
struct PackBlockArgs {
  const RegionPlan* plan = nullptr;
  const std::uint8_t* const* rows = nullptr;  // a pointer for each of plan->rows; nullptr: padding
  bool all_rows = false;                      // none of them is nullptr
  std::int64_t byte_base = 0;                 // where in the rows the block begins
  std::int64_t valid_bytes = 0;               // of each row
  std::uint8_t padding = 0;
  Rewrite rewrite = Rewrite::kNone;
  std::uint8_t* memory = nullptr;  // the block's base
  std::int64_t repeat = 1;
  // Stores past the caches: for registers of 64 bytes and memory aligned to as many.
  bool streaming = false;
  RewriteCounts* counts = nullptr;
  // Of one row, where it is read in one stretch with the rows of the blocks that follow.
  ReadAhead::Stretch stretch;

  // Where the plan takes bf16: the rows are so, dequantized from the e4m3 bytes that are wanted and
  // from scale codes, a pointer to those of each row, one for 2^code_shift elements. Every number
  // of bytes of a row still counts the e4m3.
  const std::uint8_t* const* codes = nullptr;
  int code_shift = 5;
};
// False where bf16 rows hold anything but e4m3 x code exactly, both normal: then nothing is counted
// and the memory is unspecified.
bool PackBlock(const PackBlockArgs& args);

// Whether PackBlock takes rows of bf16 by `plan` on this machine.
bool TakesBf16(const RegionPlan& plan);

struct UnpackBlockArgs {
  const RegionPlan* plan = nullptr;
  std::uint8_t* const* rows = nullptr;  // nullptr: not wanted
  bool all_rows = false;
  std::int64_t byte_base = 0;
  std::int64_t valid_bytes = 0;
  const std::uint8_t* memory = nullptr;
  ReadAhead::Stretch stretch;  // of memory that this block is of
  std::int64_t repeat = 1;
  // As above, of the rows: each begins at a multiple of 64 bytes.
  bool streaming = false;
};
void UnpackBlock(const UnpackBlockArgs& args);

// Copies past the caches. Both pointers and `bytes` are multiples of 64.
void StreamCopy(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes);

// Makes streamed stores visible to other threads; call once after a run of them.
void StreamFence();

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_BLOCK_KERNELS_H_
