#include <algorithm>
#include <cstddef>
#include <cstring>

#include "weights/block_kernels.h"

// The instruction set with byte permutations over whole registers, which Highway leaves out
// unasked.
#define HWY_WANT_AVX3_DL

// Processors with no SSE4 run the baseline: they are older than 2008, and each instruction set takes
// its seconds to compile.
#define HWY_DISABLED_TARGETS HWY_SSSE3

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/unpack_block.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"
#include "weights/read_ahead.h"
#include "weights/tile_registers-inl.h"
#include "weights/width_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void UnpackRuns(const UnpackBlockArgs& args) {
  const RegionPlan& plan = *args.plan;
  std::int64_t byte_base = args.byte_base;
  const std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    for (const TilePlace& tile : plan.tiles) {
      std::uint8_t* row = args.rows[tile.row];
      const std::int64_t at = byte_base + tile.byte;
      const std::int64_t valid = std::clamp<std::int64_t>(args.valid_bytes - at, 0, plan.run_bytes);
      if (row != nullptr && valid > 0) std::memcpy(row + at, memory + tile.memory, valid);
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
}

#if !LANEWISE_FIXED_REGISTERS

void UnpackTiles(const UnpackBlockArgs&) {}

#else

// Where a tile's registers go.
struct SinkTile {
  std::uint8_t* const* rows;  // of the tile
  const TilePlace* loads;
  std::int64_t at;
  std::int64_t valid_bytes;
  bool inside;

  std::uint8_t* To(int i) const { return rows[loads[i].row] + at + loads[i].byte; }
};

HWY_NOINLINE void StoreAtEdge(const SinkTile& tile, int first, int count, std::int64_t bytes,
                              const std::uint8_t* from) {
  for (int i = first; i < first + count; ++i, from += bytes) {
    std::uint8_t* const row = tile.rows[tile.loads[i].row];
    const std::int64_t to = tile.at + tile.loads[i].byte;
    const std::int64_t valid = std::clamp<std::int64_t>(tile.valid_bytes - to, 0, bytes);
    if (row != nullptr && valid > 0) std::memcpy(row + to, from, valid);
  }
}

// Stores registers first .. of a tile.
template <int kBits, class D, class V>
HWY_INLINE void StoreRows(D d, const SinkTile& tile, int first, bool streaming,
                          const ReadAhead& ahead, Registers<kBits, V>& r) {
  if (HWY_LIKELY(tile.inside)) {
    return StoreMemory(
        d, streaming,
        [&](int i) LANEWISE_UNROLLED {
          ahead.Ask<1 << kBits, hn::MaxLanes(D())>(i);
          return tile.To(first + i);
        },
        r);
  }
  HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(D()) << kBits];
  Each(r, [&](V& v, int i) LANEWISE_UNROLLED { hn::Store(v, d, bytes + i * hn::Lanes(d)); });
  StoreAtEdge(tile, first, 1 << kBits, static_cast<std::int64_t>(hn::Lanes(d)), bytes);
}

// One tile whose network is at most kPart exchanges.
template <int kExchanges, int kSide, class D>
HWY_INLINE void UnpackTile(D d, const UnpackBlockArgs& args, const std::uint8_t* from,
                           const ReadAhead& ahead, const SinkTile& to) {
  using V = hn::Vec<D>;
  const BitNetwork& network = args.plan->network;
  const std::int64_t* const stores = args.plan->stores.data();
  Registers<kExchanges + kSide, V> r;
  Each(r, [&](V& v, int i) LANEWISE_UNROLLED { v = hn::LoadU(d, from + stores[i]); });
  Permute(d, network.inverse[kExchanges], r);
  Backward<0, kExchanges, kSide>(d, network, r);
  StoreRows(d, to, 0, args.streaming, ahead, r);
}

// How many tiles of a larger network wait together, so that several lines of a row follow each
// other.
constexpr std::int64_t kWaiting = 4;

template <int kExchanges, class D>
HWY_INLINE void UnpackLargeTiles(D d, const UnpackBlockArgs& args, const TilePlace* tiles,
                                 std::int64_t count, const std::uint8_t* memory, ReadAhead& ahead,
                                 std::int64_t byte_base, SinkTile& to) {
  using V = hn::Vec<D>;
  const BitNetwork& network = args.plan->network;
  const std::int64_t* const stores = args.plan->stores.data();
  constexpr std::size_t kTileBytes = hn::MaxLanes(D()) << kExchanges;
  HWY_ALIGN std::uint8_t between[kWaiting * kTileBytes];
  for (std::int64_t tile = 0; tile < count; ++tile) {
    const std::uint8_t* const from = memory + tiles[tile].memory;
    for (int first = 0; first < 1 << kPart; ++first) {
      Registers<kExchanges - kPart, V> r;
      Each(r, [&](V& v, int i)
                  LANEWISE_UNROLLED { v = hn::LoadU(d, from + stores[first + (i << kPart)]); });
      Permute(d, network.inverse[kExchanges], r);
      Backward<kPart, kExchanges, 0>(d, network, r);
      Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
        hn::Store(v, d, between + tile * kTileBytes + (first + (i << kPart)) * hn::Lanes(d));
      });
    }
  }
  // Tiles that are neighbours in the same rows go two at a time: see SideBits.
  for (int group = 0; group < 1 << kExchanges; group += 1 << kPart) {
    for (std::int64_t tile = 0; tile < count; ++tile) {
      const std::uint8_t* const from = between + tile * kTileBytes + group * hn::Lanes(d);
      to.rows = args.rows + tiles[tile].row;
      to.at = byte_base + tiles[tile].byte;
      if (HWY_LIKELY(to.inside && tile + 1 < count && tiles[tile + 1].row == tiles[tile].row)) {
        Registers<kPart + 1, V> r;
        Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
          v = hn::Load(d, from + (i & 1) * kTileBytes + (i >> 1) * hn::Lanes(d));
        });
        Backward<0, kPart, 1>(d, network, r);
        const std::int64_t next = tiles[tile + 1].byte - tiles[tile].byte;
        StoreMemory(
            d, args.streaming,
            [&](int i) LANEWISE_UNROLLED {
              ahead.Ask<2 << kPart, hn::MaxLanes(D())>(i);
              return to.To(group + (i >> 1)) + (i & 1) * next;
            },
            r);
        ahead.Move(static_cast<std::int64_t>(hn::Lanes(d)) << (kPart + 1));
        ++tile;
      } else {
        Registers<kPart, V> r;
        Each(r, [&](V& v, int i) LANEWISE_UNROLLED { v = hn::Load(d, from + i * hn::Lanes(d)); });
        Backward<0, kPart, 0>(d, network, r);
        StoreRows(d, to, group, args.streaming, ahead, r);
        ahead.Move(static_cast<std::int64_t>(hn::Lanes(d)) << kPart);
      }
    }
  }
}

template <int kExchanges, int kSide, class D>
HWY_NOINLINE void UnpackTilesOf(D d, const UnpackBlockArgs& args) {
  const RegionPlan& plan = *args.plan;
  const std::int64_t count = std::ssize(plan.tiles);
  SinkTile to;
  to.loads = plan.loads.data();
  to.valid_bytes = args.valid_bytes;
  std::int64_t byte_base = args.byte_base;
  const std::uint8_t* memory = args.memory;
  // Counted, not told from where the blocks lie: of some layouts only all of them together are one
  // stretch of memory.
  ReadAhead ahead(args.stretch, memory);
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    to.inside = args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    if constexpr (kExchanges <= kPart) {
      for (const TilePlace& tile : plan.tiles) {
        to.rows = args.rows + tile.row;
        to.at = byte_base + tile.byte;
        UnpackTile<kExchanges, kSide>(d, args, memory + tile.memory, ahead, to);
        ahead.Move(static_cast<std::int64_t>(hn::Lanes(d)) << (kExchanges + kSide));
      }
    } else {
      for (std::int64_t i = 0; i < count; i += kWaiting) {
        UnpackLargeTiles<kExchanges>(d, args, plan.tiles.data() + i, std::min(kWaiting, count - i),
                                     memory, ahead, byte_base, to);
      }
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
}

template <int kBytes>
struct UnpackRunner {
  const UnpackBlockArgs& args;
  template <int kExchanges, int kSide>
  void Of() const {
    UnpackTilesOf<kExchanges, kSide>(hn::CappedTag<std::uint8_t, kBytes>(), args);
  }
};

template <int kBytes>
void UnpackTilesOfWidth(const UnpackBlockArgs& args) {
  WithShape<0, true, kBitsOf<kBytes> >(*args.plan, UnpackRunner<kBytes>{args});
}

void UnpackTiles(const UnpackBlockArgs& args) {
  if constexpr (kVectorBytes != 16 && kRunsWidth<16>) {
    if (args.plan->vector_bytes == 16) return UnpackTilesOfWidth<16>(args);
  }
  if constexpr (kVectorBytes != 32 && kRunsWidth<32>) {
    if (args.plan->vector_bytes == 32) return UnpackTilesOfWidth<32>(args);
  }
  UnpackTilesOfWidth<kVectorBytes>(args);
}

#endif

void UnpackBlockImpl(const UnpackBlockArgs& args) {
  if (args.plan->vector_bytes == 0) return UnpackRuns(args);
  UnpackTiles(args);
}

void StreamCopyImpl(const std::uint8_t* HWY_RESTRICT from, std::uint8_t* HWY_RESTRICT to,
                    std::int64_t bytes) {
  constexpr hn::CappedTag<std::uint8_t, kMaxVectorBytes> d;
  const std::int64_t step = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t i = 0; i < bytes; i += step) {
    hn::Stream(hn::Load(d, from + i), d, to + i);
  }
}

#undef LANEWISE_FIXED_REGISTERS

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(UnpackBlockImpl);
HWY_EXPORT(StreamCopyImpl);

void UnpackBlock(const UnpackBlockArgs& args) {
  LANEWISE_OF_WIDTH(args.plan->vector_bytes, UnpackBlockImpl)(args);
}
void StreamCopy(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamCopyImpl)(from, to, bytes);
}
void StreamFence() { hwy::FlushStream(); }

}  // namespace lanewise
#endif  // HWY_ONCE
