#include "weights/block_kernels.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

// The instruction set with byte permutations over whole registers, which Highway leaves out
// unasked.
#define HWY_WANT_AVX3_DL

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/block_kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Counting {
  std::size_t negative_zeros = 0;
  std::size_t nans = 0;
};

// Elsewhere every plan is of runs: registers of a size that is known here are what pays.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE
#define LANEWISE_FIXED_REGISTERS 0
#else
#define LANEWISE_FIXED_REGISTERS 1
#endif

// What a rewrite met, counted in the bytes of registers: no mask has to leave the vector unit. (Nor
// is GCC 12 to be trusted with many: it reads 32-bit masks that it has put by as 64 bits.)
#if LANEWISE_FIXED_REGISTERS
template <class D>
class Tally {
 public:
  explicit Tally(D d)
      : negative_zeros_(hn::Zero(d)),
        nans_(hn::Zero(d)),
        negative_zero_sums_(hn::Zero(d64_)),
        nan_sums_(hn::Zero(d64_)) {}

  // Small counts, byte by byte: Settle before their sum may pass 255.
  HWY_INLINE void AddNegativeZeros(hn::Vec<D> count) {
    negative_zeros_ = hn::Add(negative_zeros_, count);
  }
  HWY_INLINE void AddNans(hn::Vec<D> count) { nans_ = hn::Add(nans_, count); }
  HWY_INLINE void Settle(D d) {
    negative_zero_sums_ = hn::Add(negative_zero_sums_, hn::SumsOf8(negative_zeros_));
    nan_sums_ = hn::Add(nan_sums_, hn::SumsOf8(nans_));
    negative_zeros_ = nans_ = hn::Zero(d);
  }
  HWY_INLINE void AddTo(Counting& counting) const {
    counting.negative_zeros += Sum(negative_zero_sums_);
    counting.nans += Sum(nan_sums_);
  }

 private:
  using D64 = hn::Repartition<std::uint64_t, D>;
  static constexpr D64 d64_ = {};

  static HWY_INLINE std::size_t Sum(hn::Vec<D64> sums) {
    HWY_ALIGN std::uint64_t lanes[kMaxVectorBytes / 8];
    hn::Store(sums, d64_, lanes);
    std::size_t sum = 0;
    for (std::size_t i = 0; i < hn::Lanes(d64_); ++i) sum += lanes[i];
    return sum;
  }

  hn::Vec<D> negative_zeros_, nans_;
  hn::Vec<D64> negative_zero_sums_, nan_sums_;
};
#else
template <class D>
class Tally {
 public:
  explicit Tally(D) {}
  template <class V>
  HWY_INLINE void AddNegativeZeros(V count) {
    counting_.negative_zeros += Sum(count);
  }
  template <class V>
  HWY_INLINE void AddNans(V count) {
    counting_.nans += Sum(count);
  }
  HWY_INLINE void Settle(D) {}
  HWY_INLINE void AddTo(Counting& counting) const {
    counting.negative_zeros += counting_.negative_zeros;
    counting.nans += counting_.nans;
  }

 private:
  // Of bytes that are 0, 1 or 2.
  template <class V>
  static HWY_INLINE std::size_t Sum(V count) {
    constexpr D d;
    return hn::CountTrue(d, hn::Gt(count, hn::Zero(d))) +
           hn::CountTrue(d, hn::Gt(count, hn::Set(d, 1)));
  }
  Counting counting_;
};
#endif

template <Rewrite kRewrite, class D, class V>
HWY_INLINE V Rewritten(D d, V v, Tally<D>& tally) {
  if constexpr (kRewrite == Rewrite::kE4m3ToFnuz) {
    const V minus_zero = hn::Set(d, 0x80), one = hn::Set(d, 1);
    const V is_other = hn::Min(hn::Xor(v, minus_zero), one);
    tally.AddNegativeZeros(hn::Xor(is_other, one));
    tally.AddNans(hn::SaturatedSub(hn::And(v, hn::Set(d, 0x7F)), hn::Set(d, 0x7E)));
    return hn::IfThenZeroElse(hn::Eq(v, minus_zero), v);
  } else if constexpr (kRewrite == Rewrite::kE2m1DropNegativeZero) {
    // Bit 3 of each nibble's magnitude + 7 says whether it is not zero; nothing carries further.
    const V magnitudes = hn::Set(d, 0x77);
    const V zero = hn::AndNot(hn::Add(hn::And(v, magnitudes), magnitudes), hn::Set(d, 0x88));
    const V dropped = hn::And(v, zero);
    tally.AddNegativeZeros(hn::PopulationCount(dropped));
    return hn::Xor(v, dropped);
  } else {
    return v;
  }
}

// ---- Runs: neighbours in the row and in memory ----

// Copies and rewrites; what is past `valid` becomes padding.
template <Rewrite kRewrite>
HWY_NOINLINE void PackRun(const std::uint8_t* from, std::int64_t valid, std::int64_t bytes,
                          std::uint8_t padding, std::uint8_t* to, Counting& counting) {
  if constexpr (kRewrite == Rewrite::kNone) {
    if (valid > 0) std::memcpy(to, from, valid);
  } else {
    using D = hn::CappedTag<std::uint8_t, kMaxVectorBytes>;
    constexpr D d;
    const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
    Tally<D> tally(d);
    std::int64_t i = 0;
    for (; i + lanes <= valid; i += lanes) {
      hn::StoreU(Rewritten<kRewrite>(d, hn::LoadU(d, from + i), tally), d, to + i);
      tally.Settle(d);
    }
    if (i < valid) {
      HWY_ALIGN std::uint8_t rest[kMaxVectorBytes] = {};  // zeros are neither -0 nor NaN
      std::memcpy(rest, from + i, valid - i);
      hn::Store(Rewritten<kRewrite>(d, hn::Load(d, rest), tally), d, rest);
      tally.Settle(d);
      std::memcpy(to + i, rest, valid - i);
    }
    tally.AddTo(counting);
  }
  if (valid < bytes) std::memset(to + valid, padding, bytes - valid);
}

template <Rewrite kRewrite>
void PackRuns(const PackBlockArgs& args, Counting& counting) {
  const RegionPlan& plan = *args.plan;
  std::int64_t byte_base = args.byte_base;
  std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    for (const TilePlace& tile : plan.tiles) {
      const std::uint8_t* row = args.rows[tile.row];
      const std::int64_t at = byte_base + tile.byte;
      const std::int64_t valid =
          row == nullptr ? 0 : std::clamp<std::int64_t>(args.valid_bytes - at, 0, plan.run_bytes);
      PackRun<kRewrite>(row + (row == nullptr ? 0 : at), valid, plan.run_bytes, args.padding,
                        memory + tile.memory, counting);
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
}

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

// ---- Registers ----

#if !LANEWISE_FIXED_REGISTERS

int VectorBytesImpl() { return 0; }
void PackTiles(const PackBlockArgs&, Counting&) {}
void UnpackTiles(const UnpackBlockArgs&) {}

#else

constexpr int kVectorBytes = static_cast<int>(HWY_MIN(HWY_LANES(std::uint8_t), kMaxVectorBytes));
int VectorBytesImpl() { return kVectorBytes; }

// The registers of a tile, numbered by kBits bits. Halves of halves and no array, so that whatever
// runs over them is unrolled and they stay registers.
template <int kBits, class V>
struct Registers {
  Registers<kBits - 1, V> low, high;
};
template <class V>
struct Registers<0, V> {
  V v;
};

// visit(register, its number) for all, in order.
template <int kBits, class V, class Visit>
HWY_INLINE void Each(Registers<kBits, V>& r, const Visit& visit, int first = 0) {
  if constexpr (kBits == 0) {
    visit(r.v, first);
  } else {
    Each(r.low, visit, first);
    Each(r.high, visit, first + (1 << (kBits - 1)));
  }
}

#if HWY_TARGET == HWY_AVX3_DL
// Bytes permuted over the whole register, which Highway has no word for.
template <class V>
HWY_INLINE V BytesAnywhere(V v, V table) {
  if constexpr (sizeof(v.raw) == 64) {
    return V{_mm512_permutexvar_epi8(table.raw, v.raw)};
  } else if constexpr (sizeof(v.raw) == 32) {
    return V{_mm256_permutexvar_epi8(table.raw, v.raw)};
  } else {
    return V{_mm_permutexvar_epi8(table.raw, v.raw)};
  }
}
#endif

// The steps of a permutation, each over all registers: what is to be done is asked once a tile.
template <int kBits, class D, class V>
HWY_INLINE void Permute(D d, const RegisterPermutation& permutation, Registers<kBits, V>& r) {
#if HWY_TARGET == HWY_AVX3_DL
  if (permutation.any()) {
    const V table = hn::LoadU(d, permutation.byte_of.data());
    Each(r, [table](V& v, int) HWY_ATTR { v = BytesAnywhere(v, table); });
  }
#else
  if (permutation.first_bytes) {
    const V table = hn::LoadU(d, permutation.first_byte_of.data());
    Each(r, [table](V& v, int) HWY_ATTR { v = hn::TableLookupBytes(v, table); });
  }
  if (permutation.words) {
    const hn::Repartition<std::uint32_t, D> d32;
    const auto table = hn::SetTableIndices(d32, permutation.word_of.data());
    Each(r, [=](V& v, int)
                HWY_ATTR { v = hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d32, v), table)); });
  }
  if (permutation.last_bytes) {
    const V table = hn::LoadU(d, permutation.last_byte_of.data());
    Each(r, [table](V& v, int) HWY_ATTR { v = hn::TableLookupBytes(v, table); });
  }
#endif
}

// Exchanges the bit that tells `a` from `b` with a bit of the bytes' position in the registers: 3,
// 4 or 5.
template <int kPosition, class D, class V>
HWY_INLINE void ExchangePair(D d, V& a, V& b) {
  const V low = a, high = b;
  if constexpr (kPosition == 3) {
    const hn::Repartition<std::uint64_t, D> d64;
    const auto low64 = hn::BitCast(d64, low), high64 = hn::BitCast(d64, high);
    a = hn::BitCast(d, hn::InterleaveLower(d64, low64, high64));
    b = hn::BitCast(d, hn::InterleaveUpper(d64, low64, high64));
  } else if constexpr ((std::size_t{2} << kPosition) == hn::MaxLanes(D())) {
    a = hn::ConcatLowerLower(d, high, low);
    b = hn::ConcatUpperUpper(d, high, low);
  } else if constexpr ((std::size_t{2} << kPosition) < hn::MaxLanes(D())) {
    a = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(high), low);
    b = hn::OddEvenBlocks(high, hn::SwapAdjacentBlocks(low));
  }
}

template <int kPosition, int kBits, class D, class V>
HWY_INLINE void ExchangeHalves(D d, Registers<kBits, V>& a, Registers<kBits, V>& b) {
  if constexpr (kBits == 0) {
    ExchangePair<kPosition>(d, a.v, b.v);
  } else {
    ExchangeHalves<kPosition>(d, a.low, b.low);
    ExchangeHalves<kPosition>(d, a.high, b.high);
  }
}

template <int kBit, int kPosition, int kBits, class D, class V>
HWY_INLINE void ExchangeAt(D d, Registers<kBits, V>& r) {
  if constexpr (kBit == kBits - 1) {
    ExchangeHalves<kPosition>(d, r.low, r.high);
  } else {
    ExchangeAt<kBit, kPosition>(d, r.low);
    ExchangeAt<kBit, kPosition>(d, r.high);
  }
}

template <int kBit, int kBits, class D, class V>
HWY_INLINE void Exchange(D d, int position, Registers<kBits, V>& r) {
  if (position == 5) {
    ExchangeAt<kBit, 5>(d, r);
  } else if (position == 4) {
    ExchangeAt<kBit, 4>(d, r);
  } else {
    ExchangeAt<kBit, 3>(d, r);
  }
}

// Exchanges kFirst .. kLast - 1 of a network, each after its permutation. Register bit kFirst is
// bit kShift of the number of the registers at hand.
template <int kFirst, int kLast, int kShift, int kBits, class D, class V>
HWY_INLINE void Forward(D d, const BitNetwork& network, Registers<kBits, V>& r) {
  if constexpr (kFirst < kLast) {
    Permute(d, network.permute[kFirst], r);
    Exchange<kShift>(d, network.exchanged[kFirst], r);
    Forward<kFirst + 1, kLast, kShift + 1>(d, network, r);
  }
}
template <int kFirst, int kLast, int kShift, int kBits, class D, class V>
HWY_INLINE void Backward(D d, const BitNetwork& network, Registers<kBits, V>& r) {
  if constexpr (kFirst < kLast) {
    Backward<kFirst + 1, kLast, kShift + 1>(d, network, r);
    Exchange<kShift>(d, network.exchanged[kFirst], r);
    Permute(d, network.inverse[kFirst], r);
  }
}

// What is read is asked for ahead. Of many rows a little, since they are as many streams already;
// of one row or of memory pages ahead, into the L2 cache, since the processor's own prefetchers
// stop at pages. Prefetches stand beside the loads: GCC takes a function that does nothing else for
// one without effects, and drops its calls.
constexpr std::int64_t kRowsAhead = 128, kPagesAhead = 8192;
constexpr int kIntoL2 = 2;  // the locality of __builtin_prefetch

// Where a tile's registers come from.
struct RowTile {
  const std::uint8_t* const* rows;  // of the tile
  const TilePlace* loads;
  std::int64_t at;  // in the rows
  bool inside;      // no padding, no row's end
  bool one_row;

  const std::uint8_t* From(int i) const { return rows[loads[i].row] + at + loads[i].byte; }
};

// `count` registers of a tile at the rows' edge, or with padding.
HWY_NOINLINE void FillAtEdge(const RowTile& tile, int first, int count, std::int64_t bytes,
                             const PackBlockArgs& args, std::uint8_t* to, Counting& counting) {
  const auto pack = args.rewrite == Rewrite::kE4m3ToFnuz ? &PackRun<Rewrite::kE4m3ToFnuz>
                    : args.rewrite == Rewrite::kE2m1DropNegativeZero
                        ? &PackRun<Rewrite::kE2m1DropNegativeZero>
                        : &PackRun<Rewrite::kNone>;
  for (int i = first; i < first + count; ++i, to += bytes) {
    const std::uint8_t* const row = tile.rows[tile.loads[i].row];
    const std::int64_t at = tile.at + tile.loads[i].byte;
    const std::int64_t valid =
        row == nullptr ? 0 : std::clamp<std::int64_t>(args.valid_bytes - at, 0, bytes);
    pack(valid > 0 ? row + at : nullptr, valid, bytes, args.padding, to, counting);
  }
}

// Loads registers first .. of a tile.
template <Rewrite kRewrite, int kBits, class D, class V>
HWY_INLINE void LoadRows(D d, const RowTile& tile, int first, const PackBlockArgs& args,
                         Tally<D>& tally, Counting& counting, Registers<kBits, V>& r) {
  if (HWY_LIKELY(tile.inside)) {
    Each(r, [&](V& v, int i) HWY_ATTR {
      const std::uint8_t* const from = tile.From(first + i);
      if (tile.one_row) {
        __builtin_prefetch(from + kPagesAhead, /*rw=*/0, kIntoL2);
      } else {
        __builtin_prefetch(from + kRowsAhead);
      }
      v = Rewritten<kRewrite>(d, hn::LoadU(d, from), tally);
    });
    if constexpr (kRewrite != Rewrite::kNone) tally.Settle(d);
    return;
  }
  HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(D()) << kBits];
  FillAtEdge(tile, first, 1 << kBits, static_cast<std::int64_t>(hn::Lanes(d)), args, bytes,
             counting);
  Each(r, [&](V& v, int i) HWY_ATTR { v = hn::Load(d, bytes + i * hn::Lanes(d)); });
}

template <int kBits, class D, class V, class Place>
HWY_INLINE void StoreMemory(D d, bool streaming, const Place& place, Registers<kBits, V>& r) {
  if (streaming) {
    Each(r, [&](V& v, int i) HWY_ATTR { hn::Stream(v, d, place(i)); });
  } else {
    Each(r, [&](V& v, int i) HWY_ATTR { hn::StoreU(v, d, place(i)); });
  }
}

// Tiles of networks with at most kPart exchanges are registers throughout. Larger ones are more
// than there are: they go through the network in two parts, registers that the first kPart
// exchanges mix, then those that the others do, and wait between them in the L1 cache.
constexpr int kPart = 3;

// s exchanges and kSide other bits.
template <int kExchanges, int kSide, Rewrite kRewrite, class D>
HWY_INLINE void PackTile(D d, const RowTile& tile, const PackBlockArgs& args, std::uint8_t* to,
                         Tally<D>& tally, Counting& counting) {
  using V = hn::Vec<D>;
  const BitNetwork& network = args.plan->network;
  const std::int64_t* const stores = args.plan->stores.data();
  if constexpr (kExchanges <= kPart) {
    Registers<kExchanges + kSide, V> r;
    LoadRows<kRewrite>(d, tile, 0, args, tally, counting, r);
    Forward<0, kExchanges, kSide>(d, network, r);
    Permute(d, network.permute[kExchanges], r);
    StoreMemory(d, args.streaming, [&](int i) HWY_ATTR { return to + stores[i]; }, r);
  } else {
    static_assert(kSide == 0);
    HWY_ALIGN std::uint8_t between[hn::MaxLanes(D()) << kExchanges];
    for (int group = 0; group < 1 << kExchanges; group += 1 << kPart) {
      Registers<kPart, V> r;
      LoadRows<kRewrite>(d, tile, group, args, tally, counting, r);
      Forward<0, kPart, 0>(d, network, r);
      Each(r, [&](V& v, int i) HWY_ATTR { hn::Store(v, d, between + (group + i) * hn::Lanes(d)); });
    }
    for (int first = 0; first < 1 << kPart; ++first) {
      Registers<kExchanges - kPart, V> r;
      Each(r, [&](V& v, int i)
                  HWY_ATTR { v = hn::Load(d, between + (first + (i << kPart)) * hn::Lanes(d)); });
      Forward<kPart, kExchanges, 0>(d, network, r);
      Permute(d, network.permute[kExchanges], r);
      StoreMemory(
          d, args.streaming, [&](int i) HWY_ATTR { return to + stores[first + (i << kPart)]; }, r);
    }
  }
}

template <int kExchanges, int kSide, Rewrite kRewrite, class D>
HWY_NOINLINE void PackTilesOf(D d, const PackBlockArgs& args, Counting& total) {
  const RegionPlan& plan = *args.plan;
  Counting counting;
  Tally<D> tally(d);
  RowTile from;
  from.loads = plan.loads.data();
  from.one_row = plan.rows.size() == 1;
  std::int64_t byte_base = args.byte_base;
  std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    from.inside =
        args.rewrite == kRewrite && args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    for (const TilePlace& tile : plan.tiles) {
      from.rows = args.rows + tile.row;
      from.at = byte_base + tile.byte;
      PackTile<kExchanges, kSide, kRewrite>(d, from, args, memory + tile.memory, tally, counting);
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
  tally.AddTo(counting);
  total.negative_zeros += counting.negative_zeros;
  total.nans += counting.nans;
}

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
                          Registers<kBits, V>& r) {
  if (HWY_LIKELY(tile.inside)) {
    return StoreMemory(d, streaming, [&](int i) HWY_ATTR { return tile.To(first + i); }, r);
  }
  HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(D()) << kBits];
  Each(r, [&](V& v, int i) HWY_ATTR { hn::Store(v, d, bytes + i * hn::Lanes(d)); });
  StoreAtEdge(tile, first, 1 << kBits, static_cast<std::int64_t>(hn::Lanes(d)), bytes);
}

// One tile whose network is at most kPart exchanges.
template <int kExchanges, int kSide, class D>
HWY_INLINE void UnpackTile(D d, const UnpackBlockArgs& args, const std::uint8_t* from,
                           const SinkTile& to) {
  using V = hn::Vec<D>;
  const BitNetwork& network = args.plan->network;
  const std::int64_t* const stores = args.plan->stores.data();
  Registers<kExchanges + kSide, V> r;
  Each(r, [&](V& v, int i) HWY_ATTR {
    __builtin_prefetch(from + stores[i] + kPagesAhead, /*rw=*/0, kIntoL2);
    v = hn::LoadU(d, from + stores[i]);
  });
  Permute(d, network.inverse[kExchanges], r);
  Backward<0, kExchanges, kSide>(d, network, r);
  StoreRows(d, to, 0, args.streaming, r);
}

// How many tiles of a larger network wait together, so that several lines of a row follow each
// other.
constexpr std::int64_t kWaiting = 4;

template <int kExchanges, class D>
HWY_INLINE void UnpackLargeTiles(D d, const UnpackBlockArgs& args, const TilePlace* tiles,
                                 std::int64_t count, const std::uint8_t* memory,
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
      Each(r, [&](V& v, int i) HWY_ATTR {
        const std::uint8_t* const line = from + stores[first + (i << kPart)];
        __builtin_prefetch(line + kPagesAhead, /*rw=*/0, kIntoL2);
        v = hn::LoadU(d, line);
      });
      Permute(d, network.inverse[kExchanges], r);
      Backward<kPart, kExchanges, 0>(d, network, r);
      Each(r, [&](V& v, int i) HWY_ATTR {
        hn::Store(v, d, between + tile * kTileBytes + (first + (i << kPart)) * hn::Lanes(d));
      });
    }
  }
  for (int group = 0; group < 1 << kExchanges; group += 1 << kPart) {
    for (std::int64_t tile = 0; tile < count; ++tile) {
      Registers<kPart, V> r;
      Each(r, [&](V& v, int i) HWY_ATTR {
        v = hn::Load(d, between + tile * kTileBytes + (group + i) * hn::Lanes(d));
      });
      Backward<0, kPart, 0>(d, network, r);
      to.rows = args.rows + tiles[tile].row;
      to.at = byte_base + tiles[tile].byte;
      StoreRows(d, to, group, args.streaming, r);
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
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    to.inside = args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    if constexpr (kExchanges <= kPart) {
      for (const TilePlace& tile : plan.tiles) {
        to.rows = args.rows + tile.row;
        to.at = byte_base + tile.byte;
        UnpackTile<kExchanges, kSide>(d, args, memory + tile.memory, to);
      }
    } else {
      for (std::int64_t i = 0; i < count; i += kWaiting) {
        UnpackLargeTiles<kExchanges>(d, args, plan.tiles.data() + i, std::min(kWaiting, count - i),
                                     memory, byte_base, to);
      }
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
}

// Calls run.Of<exchanges, side bits>() with those of the plan.
template <int kExchanges, bool kSides, int kVectorBits, class Run>
HWY_INLINE void WithShape(const RegionPlan& plan, const Run& run) {
  if constexpr (kExchanges <= kVectorBits) {
    constexpr int kSide = SideBits(kExchanges);
    if (plan.network.register_bits != kExchanges) {
      WithShape<kExchanges + 1, kSides, kVectorBits>(plan, run);
    } else if (plan.side_bits == 0) {
      run.template Of<kExchanges, 0>();
    } else if constexpr ((1 << kVectorBits) == kVectorBytes && kSide > 0 &&
                         (kSides || kExchanges == 0)) {
      run.template Of<kExchanges, kSide>();
    }
  }
}

// Narrow registers are for rows of odd sizes: there what rewrites goes the way of a tile at the
// rows' edge, through a buffer.
template <int kBytes>
struct PackRunner {
  const PackBlockArgs& args;
  Counting& counting;
  template <int kExchanges, int kSide>
  void Of() const {
    constexpr hn::CappedTag<std::uint8_t, kBytes> d;
    if constexpr (kBytes == kVectorBytes) {
      if (args.rewrite == Rewrite::kE4m3ToFnuz) {
        return PackTilesOf<kExchanges, kSide, Rewrite::kE4m3ToFnuz>(d, args, counting);
      }
      if (args.rewrite == Rewrite::kE2m1DropNegativeZero) {
        return PackTilesOf<kExchanges, kSide, Rewrite::kE2m1DropNegativeZero>(d, args, counting);
      }
    }
    PackTilesOf<kExchanges, kSide, Rewrite::kNone>(d, args, counting);
  }
};
template <int kBytes>
struct UnpackRunner {
  const UnpackBlockArgs& args;
  template <int kExchanges, int kSide>
  void Of() const {
    UnpackTilesOf<kExchanges, kSide>(hn::CappedTag<std::uint8_t, kBytes>(), args);
  }
};

template <int kBytes>
constexpr int kBitsOf = std::countr_zero(static_cast<unsigned>(kBytes));

template <int kBytes>
void PackTilesOfWidth(const PackBlockArgs& args, Counting& counting) {
  WithShape<0, true, kBitsOf<kBytes> >(*args.plan, PackRunner<kBytes>{args, counting});
}
template <int kBytes>
void UnpackTilesOfWidth(const UnpackBlockArgs& args) {
  WithShape<0, false, kBitsOf<kBytes> >(*args.plan, UnpackRunner<kBytes>{args});
}

// A plan's registers are no wider than the machine's.
void PackTiles(const PackBlockArgs& args, Counting& counting) {
  if (args.plan->vector_bytes == 16) return PackTilesOfWidth<16>(args, counting);
  if (args.plan->vector_bytes == 32) {
    return PackTilesOfWidth<HWY_MIN(32, kVectorBytes)>(args, counting);
  }
  PackTilesOfWidth<kVectorBytes>(args, counting);
}

void UnpackTiles(const UnpackBlockArgs& args) {
  if (args.plan->vector_bytes == 16) return UnpackTilesOfWidth<16>(args);
  if (args.plan->vector_bytes == 32) return UnpackTilesOfWidth<HWY_MIN(32, kVectorBytes)>(args);
  UnpackTilesOfWidth<kVectorBytes>(args);
}

#endif

void PackBlockImpl(const PackBlockArgs& args) {
  Counting counting;
  if (args.plan->vector_bytes != 0) {
    PackTiles(args, counting);
  } else if (args.rewrite == Rewrite::kE4m3ToFnuz) {
    PackRuns<Rewrite::kE4m3ToFnuz>(args, counting);
  } else if (args.rewrite == Rewrite::kE2m1DropNegativeZero) {
    PackRuns<Rewrite::kE2m1DropNegativeZero>(args, counting);
  } else {
    PackRuns<Rewrite::kNone>(args, counting);
  }
  args.counts->negative_zeros += static_cast<std::int64_t>(counting.negative_zeros);
  args.counts->nans += static_cast<std::int64_t>(counting.nans);
}

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

HWY_EXPORT(VectorBytesImpl);
HWY_EXPORT(PackBlockImpl);
HWY_EXPORT(UnpackBlockImpl);
HWY_EXPORT(StreamCopyImpl);

int VectorBytes() { return HWY_DYNAMIC_DISPATCH(VectorBytesImpl)(); }
void PackBlock(const PackBlockArgs& args) { HWY_DYNAMIC_DISPATCH(PackBlockImpl)(args); }
void UnpackBlock(const UnpackBlockArgs& args) { HWY_DYNAMIC_DISPATCH(UnpackBlockImpl)(args); }
void StreamCopy(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamCopyImpl)(from, to, bytes);
}
void StreamFence() { hwy::FlushStream(); }

}  // namespace lanewise
#endif  // HWY_ONCE
