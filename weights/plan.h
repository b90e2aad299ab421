#ifndef LANEWISE_WEIGHTS_PLAN_H_
#define LANEWISE_WEIGHTS_PLAN_H_

// How to move one region of a layout fast, derived from its pattern alone.
//
// A chunk is up to 64 neighbouring bytes of a logical row. Inside it the layout permutes bytes so
// that they fall into pieces, each contiguous in memory; a whole chunk is loaded, permuted in a
// register, and stored piece by piece. A block is a contiguous stretch of memory, small enough for
// the L1 cache, whose bytes come from whole chunks: it is assembled in a buffer and then streamed
// out, or read and scattered to rows.
//
// For the gfx942 dense order a chunk is 64 K of a row, its four 16-byte pieces go to four lane
// groups, and a block is several 2 KiB steps of one 16-row tile.

#include <array>
#include <cstdint>
#include <vector>

#include "layouts/bound_layout.h"

namespace lanewise {

inline constexpr int kMaxChunkBytes = 64;

// One chunk of a block, relative to the block's base.
struct ChunkMove {
  std::int64_t row = 0;     // index into RegionPlan::rows
  std::int64_t byte = 0;    // within the logical row
  std::int64_t memory = 0;  // offset of the chunk's digit-zero byte
};

struct RegionPlan {
  int chunk_bytes = 0;
  int piece_bytes = 0;               // contiguous both in the permuted chunk and in memory
  std::vector<std::int64_t> pieces;  // memory offset of each piece, relative to ChunkMove::memory

  // permuted[i] = chunk[source_of[i]]; pieces follow each other in `permuted`.
  std::array<std::uint8_t, kMaxChunkBytes> source_of = {};
  bool identity = false;  // source_of[i] == i

  // The same permutation in two steps a SIMD unit has: bytes within each 16-byte block, then whole
  // 4-byte words. Valid where `two_step`.
  bool two_step = false;
  std::array<std::uint8_t, kMaxChunkBytes> byte_in_block = {};
  std::array<std::uint32_t, kMaxChunkBytes / 4> word_of = {};
  // ... and back: words first, then bytes within each block.
  std::array<std::uint32_t, kMaxChunkBytes / 4> inverse_word_of = {};
  std::array<std::uint8_t, kMaxChunkBytes> inverse_byte_in_block = {};

  std::int64_t block_bytes = 0;
  std::vector<std::int64_t> rows;  // the logical rows of one block, relative to its base, ascending
  std::vector<ChunkMove> moves;    // of one block, sorted by row, then byte

  // The blocks, innermost loop last: block (i_0, i_1, ...) begins at the sum of i_j * loop[j].{row,
  // byte, memory}.
  struct Loop {
    std::int64_t count = 0;
    std::int64_t row = 0;
    std::int64_t byte = 0;
    std::int64_t memory = 0;
  };
  std::vector<Loop> loops;
  std::int64_t blocks = 1;  // the product of the counts

  // Added to every move: where the region begins.
  std::int64_t byte_begin = 0;
  std::int64_t memory_begin = 0;
};

// Plans a region of a two-axis layout (row, byte). `target_block_bytes` bounds the block where the
// pattern leaves a choice.
RegionPlan PlanRegion(const Region& region, std::int64_t target_block_bytes);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PLAN_H_
