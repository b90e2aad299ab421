#ifndef LANEWISE_WEIGHTS_PLAN_H_
#define LANEWISE_WEIGHTS_PLAN_H_

// How to move one region of a two-axis layout (row, byte) fast, derived from its pattern alone.
//
// A tile is what is moved at a time. Where the pattern's factors leave room for it, a tile is 2^s
// registers: each is loaded from neighbouring bytes of one row, a BitNetwork permutes all of them
// together, and each is stored as neighbouring bytes of memory. So whole cache lines are read and
// whole lines are written, and what is between never leaves the registers. Otherwise (a factor that
// is no power of two reaches into a line) a tile is one run of bytes that are neighbours in the row
// and in memory alike.
//
// For gfx942/dense a register is 64 K of a row. The network works on 4 rows, which become 4 lines,
// one a lane group; a tile is all 16 rows, so that its 16 lines are 1 KiB without a gap: streaming
// stores want to follow each other.
//
// Tiles that lie together in memory make a block; blocks follow by loops.

#include <cstdint>
#include <vector>

#include "layouts/bound_layout.h"
#include "weights/bit_network.h"

namespace lanewise {

// Register bits beside those that the network exchanges: this many or none, and none where the
// registers are not the widest. They make what is written whole: to memory a tile of as many lines
// as there are registers (16), to rows two neighbouring lines of each.
inline constexpr int kMaxSideBits = 2;
constexpr int SideBits(int exchanges, bool to_rows) {
  if (exchanges > 3) return 0;
  if (to_rows && exchanges > 0) return 1;
  return exchanges <= 2 ? kMaxSideBits : 1;
}

// A place in a block: which of its rows, how far along the row, how far in memory.
struct TilePlace {
  std::int64_t row = 0;  // index into RegionPlan::rows
  std::int64_t byte = 0;
  std::int64_t memory = 0;
};

struct RegionPlan {
  // Bytes of a register; 0: the tile is a run of `run_bytes`.
  int vector_bytes = 0;
  std::int64_t run_bytes = 0;
  BitNetwork network;

  // The registers of a tile, 2^(side_bits + s) or one run: where each is loaded from (row and byte
  // of a TilePlace, relative to the tile's) and where it is stored. The low side_bits of a
  // register's number are its own; the network's register bits follow.
  int side_bits = 0;
  std::vector<TilePlace> loads;
  std::vector<std::int64_t> stores;

  std::vector<TilePlace> tiles;  // of one block, sorted by memory
  std::int64_t block_bytes = 0;
  bool contiguous = false;         // whether the block is one stretch of memory
  std::int64_t byte_end = 0;       // one past the last byte of a row that a block touches
  std::vector<std::int64_t> rows;  // the rows that a block touches, relative to its base, ascending

  // The blocks, innermost loop last: block (i_0, i_1, ...) begins at the sum of i_j * loop[j].{row,
  // byte, memory}. The first loops run over the leads.
  struct Loop {
    std::int64_t count = 0;
    std::int64_t row = 0;
    std::int64_t byte = 0;
    std::int64_t memory = 0;
  };
  std::vector<Loop> loops;
  std::int64_t leads = 1;   // equal contiguous stretches of the region's memory (packer.h)
  std::int64_t blocks = 1;  // the product of the counts, a multiple of `leads`

  // Added to every place: where the region begins.
  std::int64_t byte_begin = 0;
  std::int64_t memory_begin = 0;
};

struct PlanOptions {
  int vector_bytes = 0;                 // the widest registers there are: 64, 32, 16, or 0 for none
  std::int64_t target_block_bytes = 0;  // a block grows up to this
  std::int64_t lead_bytes = 0;  // memory strides of this and more belong to leads; 0: choose the
                                // outermost factor
  // Which side is written: memory, or rows. What is written is met in order as far as it goes.
  bool to_rows = false;
};
RegionPlan PlanRegion(const Region& region, const PlanOptions& options);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PLAN_H_
