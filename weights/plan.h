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
// A register may be a cache line or a half or a quarter of one; what makes the lines whole is the
// tile. For gfx942/dense a register of 64 bytes is 64 K of a row, the network works on 4 rows, which
// become 4 lines, one a lane group, and a tile is all 16 rows: its 16 lines are 1 KiB without a gap.
// A register of 32 bytes is 32 K, the network works on both halves of 2 rows, and a tile is 4 rows:
// half as many registers of half the size, and 4 whole lines all the same.
//
// Tiles that lie together in memory make a block; blocks follow by loops.

#include <cstdint>
#include <vector>

#include "layouts/bound_layout.h"
#include "weights/bit_network.h"

namespace lanewise {

// The most exchanges of a network: one more would be a tile of as many registers as each has bytes.
constexpr int MaxExchanges(int vector_bits) { return vector_bits - 1; }

// Register bits beside those that the network exchanges: this many or none. They make what is
// written whole: to memory lines that follow each other, to rows two neighbouring lines of each.
// Processors with registers of 64 bytes have 32 of them, so a tile may be 16 and leave as many for
// what is computed; those with narrower ones have 16, and a tile is at most 8.
inline constexpr int kMaxSideBits = 2;
constexpr int SideBits(int exchanges, bool to_rows, int vector_bytes) {
  if (exchanges > 3) return 0;
  if (vector_bytes < kMaxVectorBytes) return exchanges <= 1 ? kMaxSideBits : 3 - exchanges;
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
  // Whether a tile writes every line that it touches whole, if the memory (or, to rows, each row)
  // begins at a line: then it may stream past the caches straight from registers.
  bool whole_lines = false;

  std::vector<TilePlace> tiles;  // of one block, in the order in which they are moved
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
  int vector_bytes = 0;                 // the widest registers to use: 64, 32, 16, or 0 for none
  std::int64_t target_block_bytes = 0;  // a block grows up to this
  std::int64_t lead_bytes = 0;  // memory strides of this and more belong to leads; 0: choose the
                                // outermost factor
  // Which side is written: memory, or rows. What is written is met in order as far as it goes.
  bool to_rows = false;
};
RegionPlan PlanRegion(const Region& region, const PlanOptions& options);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PLAN_H_
