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
#define HWY_TARGET_INCLUDE "weights/pack_block.cc"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"
#include "weights/bf16_registers-inl.h"
#include "weights/tile_registers-inl.h"
#include "weights/width_dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

struct Counting {
  std::size_t negative_zeros = 0;
  std::size_t nans = 0;
};

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
    const V minus_zero = hn::Set(d, 0x80);
    tally.AddNans(hn::SaturatedSub(hn::And(v, hn::Set(d, 0x7F)), hn::Set(d, 0x7E)));
    if constexpr (hn::MaxLanes(D()) < 64) {
      const V is_minus_zero = hn::VecFromMask(d, hn::Eq(v, minus_zero));
      tally.AddNegativeZeros(hn::And(is_minus_zero, hn::Set(d, 1)));
      return hn::AndNot(is_minus_zero, v);
    } else {
      const V one = hn::Set(d, 1);
      tally.AddNegativeZeros(hn::Xor(hn::Min(hn::Xor(v, minus_zero), one), one));
      return hn::IfThenZeroElse(hn::Eq(v, minus_zero), v);
    }
  } else if constexpr (kRewrite == Rewrite::kE2m1DropNegativeZero) {
    // Bit 3 of each nibble's magnitude + 7 says whether it is not zero; nothing carries further.
    const V magnitudes = hn::Set(d, 0x77);
    const V zero = hn::AndNot(hn::Add(hn::And(v, magnitudes), magnitudes), hn::Set(d, 0x88));
    const V dropped = hn::And(v, zero);
    // Bits 3 and 7 of each byte: one of each nibble.
    const V one = hn::Set(d, 1);
    tally.AddNegativeZeros(hn::Add(hn::Min(hn::And(dropped, hn::Set(d, 0x80)), one),
                                   hn::Min(hn::And(dropped, hn::Set(d, 0x08)), one)));
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

// ---- Registers ----

#if !LANEWISE_FIXED_REGISTERS

int VectorBytesImpl() { return 0; }
bool TakesBf16Impl() { return false; }
bool PackTiles(const PackBlockArgs&, Counting&) { return true; }

#else

int VectorBytesImpl() { return kVectorBytes; }
bool TakesBf16Impl() { return kTakesBf16<hn::CappedTag<std::uint8_t, kVectorBytes> >; }

// Where a tile's registers come from.
struct RowTile {
  const std::uint8_t* const* rows;   // of the tile
  const std::uint8_t* const* codes;  // ... if they are bf16, or nullptr
  const TilePlace* loads;
  std::int64_t at;  // in the rows
  bool inside;      // no padding, no row's end
  bool one_row;
  const ReadAhead* ahead;  // of one row, or nullptr

  const std::uint8_t* From(int i) const { return rows[loads[i].row] + at + loads[i].byte; }
};

// `count` registers of a tile at the rows' edge, or with padding.
template <class D, class Check>
HWY_NOINLINE void FillAtEdge(D d, const RowTile& tile, int first, int count,
                             const PackBlockArgs& args, Check& check, std::uint8_t* to,
                             Counting& counting) {
  constexpr std::int64_t kBytes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  const auto pack = args.rewrite == Rewrite::kE4m3ToFnuz ? &PackRun<Rewrite::kE4m3ToFnuz>
                    : args.rewrite == Rewrite::kE2m1DropNegativeZero
                        ? &PackRun<Rewrite::kE2m1DropNegativeZero>
                        : &PackRun<Rewrite::kNone>;
  HWY_ALIGN std::uint8_t values[2 * kBytes];
  for (int i = first; i < first + count; ++i, to += kBytes) {
    const std::int64_t row = tile.loads[i].row;
    const std::int64_t at = tile.at + tile.loads[i].byte;
    const std::int64_t valid =
        tile.rows[row] == nullptr ? 0 : std::clamp<std::int64_t>(args.valid_bytes - at, 0, kBytes);
    const std::uint8_t* from = valid > 0 ? tile.rows[row] + at : nullptr;
    if constexpr (kTakesBf16<D>) {
      if (valid == 0 || tile.codes == nullptr) {
        pack(from, valid, kBytes, args.padding, to, counting);
        continue;
      }
      std::memset(values, 0, sizeof(values));  // zeros are exact under any code
      std::memcpy(values, tile.rows[row] + 2 * at, 2 * valid);
      const std::uint8_t low = tile.codes[row][at >> args.code_shift];
      const std::uint8_t high = valid > 32 ? tile.codes[row][(at + 32) >> args.code_shift] : low;
      hn::Store(FromBf16(d, values, low, high, check), d, values);
      from = values;
    }
    pack(from, valid, kBytes, args.padding, to, counting);
  }
}

// Of rows of bf16, twice as wide, further ahead.
constexpr std::int64_t kBf16RowsAhead = 2 * kRowsAhead;

// Loads registers first .. of a tile that is all inside its rows, each rewritten at once: the loads
// then have something to wait for beside each other.
template <bool kBf16, Rewrite kRewrite, int kBits, class D, class V>
HWY_INLINE void LoadInside(D d, const RowTile& tile, int first, const PackBlockArgs& args,
                           FromBf16Check<V>& check, Tally<D>& tally, Registers<kBits, V>& r) {
  if (kBf16 && tile.codes != nullptr) {
    if constexpr (kBf16) {
      Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
        const TilePlace& load = tile.loads[first + i];
        const std::int64_t at = tile.at + load.byte;
        const std::uint8_t* const from = tile.rows[load.row] + 2 * at;
        const std::uint8_t* const codes = tile.codes[load.row];
        const std::uint8_t code = codes[at >> args.code_shift];
        std::uint8_t high_code = code;
        __builtin_prefetch(from + kBf16RowsAhead);
        if constexpr (hn::MaxLanes(D()) > 32) {
          __builtin_prefetch(from + kBf16RowsAhead + 64);
          high_code = codes[(at + 32) >> args.code_shift];
        }
        v = FromBf16(d, from, code, high_code, check);
        v = Rewritten<kRewrite>(d, v, tally);
      });
    }
  } else if (tile.ahead != nullptr) {
    Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
      tile.ahead->Ask<1 << kBits, hn::MaxLanes(D())>(i);
      v = Rewritten<kRewrite>(d, hn::LoadU(d, tile.From(first + i)), tally);
    });
  } else {
    // Rows that are many are near each other's next lines; one that is short is read on elsewhere.
    const std::int64_t ahead = tile.one_row ? kPagesAhead : kRowsAhead;
    Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
      const std::uint8_t* const from = tile.From(first + i);
      __builtin_prefetch(from + ahead);
      v = Rewritten<kRewrite>(d, hn::LoadU(d, from), tally);
    });
  }
  if constexpr (kRewrite != Rewrite::kNone) tally.Settle(d);
}

// Loads registers first .. of a tile.
template <bool kBf16, int kBits, class D, class V>
HWY_INLINE void LoadRows(D d, const RowTile& tile, int first, const PackBlockArgs& args,
                         FromBf16Check<V>& check, Tally<D>& tally, Counting& counting,
                         Registers<kBits, V>& r) {
  if (HWY_UNLIKELY(!tile.inside)) {
    HWY_ALIGN std::uint8_t bytes[hn::MaxLanes(D()) << kBits];
    FillAtEdge(d, tile, first, 1 << kBits, args, check, bytes, counting);
    Each(r, [&](V& v, int i) LANEWISE_UNROLLED { v = hn::Load(d, bytes + i * hn::Lanes(d)); });
    return;
  }
  if (args.rewrite == Rewrite::kE4m3ToFnuz) {
    return LoadInside<kBf16, Rewrite::kE4m3ToFnuz>(d, tile, first, args, check, tally, r);
  }
  if (args.rewrite == Rewrite::kE2m1DropNegativeZero) {
    return LoadInside<false, Rewrite::kE2m1DropNegativeZero>(d, tile, first, args, check, tally, r);
  }
  LoadInside<kBf16, Rewrite::kNone>(d, tile, first, args, check, tally, r);
}

// s exchanges and kSide other bits.
template <int kExchanges, int kSide, bool kBf16, class D>
HWY_INLINE void PackTile(D d, const RowTile& tile, const PackBlockArgs& args, std::uint8_t* to,
                         FromBf16Check<hn::Vec<D> >& check, Tally<D>& tally, Counting& counting) {
  using V = hn::Vec<D>;
  const BitNetwork& network = args.plan->network;
  const std::int64_t* const stores = args.plan->stores.data();
  if constexpr (kExchanges <= kPart) {
    Registers<kExchanges + kSide, V> r;
    LoadRows<kBf16>(d, tile, 0, args, check, tally, counting, r);
    Forward<0, kExchanges, kSide>(d, network, r);
    Permute(d, network.permute[kExchanges], r);
    StoreMemory(d, args.streaming, [&](int i) LANEWISE_UNROLLED { return to + stores[i]; }, r);
  } else {
    static_assert(kSide == 0);
    HWY_ALIGN std::uint8_t between[hn::MaxLanes(D()) << kExchanges];
    for (int group = 0; group < 1 << kExchanges; group += 1 << kPart) {
      Registers<kPart, V> r;
      LoadRows<kBf16>(d, tile, group, args, check, tally, counting, r);
      Forward<0, kPart, 0>(d, network, r);
      Each(r, [&](V& v, int i)
                  LANEWISE_UNROLLED { hn::Store(v, d, between + (group + i) * hn::Lanes(d)); });
    }
    for (int first = 0; first < 1 << kPart; ++first) {
      Registers<kExchanges - kPart, V> r;
      Each(r, [&](V& v, int i) LANEWISE_UNROLLED {
        v = hn::Load(d, between + (first + (i << kPart)) * hn::Lanes(d));
      });
      Forward<kPart, kExchanges, 0>(d, network, r);
      Permute(d, network.permute[kExchanges], r);
      StoreMemory(
          d, args.streaming,
          [&](int i) LANEWISE_UNROLLED { return to + stores[first + (i << kPart)]; }, r);
    }
  }
}

template <int kExchanges, int kSide, class D>
HWY_NOINLINE bool PackTilesOf(D d, const PackBlockArgs& args, Counting& total) {
  constexpr bool kBf16 = kTakesBf16<D> && kExchanges <= kMaxBf16Exchanges;
  const RegionPlan& plan = *args.plan;
  Counting counting;
  Tally<D> tally(d);
  FromBf16Check<hn::Vec<D> > check(d);
  RowTile from;
  from.loads = plan.loads.data();
  from.codes = nullptr;
  from.one_row = plan.rows.size() == 1;
  const bool reads_ahead = args.stretch.begin != nullptr && args.rows[0] != nullptr;
  ReadAhead ahead(args.stretch, reads_ahead ? args.rows[0] + args.byte_base : args.stretch.begin);
  from.ahead = reads_ahead ? &ahead : nullptr;
  std::int64_t byte_base = args.byte_base;
  std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    from.inside = args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    for (const TilePlace& tile : plan.tiles) {
      from.rows = args.rows + tile.row;
      if (args.codes != nullptr) from.codes = args.codes + tile.row;
      from.at = byte_base + tile.byte;
      PackTile<kExchanges, kSide, kBf16>(d, from, args, memory + tile.memory, check, tally,
                                         counting);
      ahead.Move(static_cast<std::int64_t>(hn::Lanes(d)) << (kExchanges + kSide));
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
  tally.AddTo(counting);
  total.negative_zeros += counting.negative_zeros;
  total.nans += counting.nans;
  return check.Exact(d);
}

template <int kBytes>
struct PackRunner {
  const PackBlockArgs& args;
  Counting& counting;
  bool& exact;
  template <int kExchanges, int kSide>
  void Of() const {
    exact = PackTilesOf<kExchanges, kSide>(hn::CappedTag<std::uint8_t, kBytes>(), args, counting);
  }
};

template <int kBytes>
bool PackTilesOfWidth(const PackBlockArgs& args, Counting& counting) {
  bool exact = true;
  WithShape<0, false, kBitsOf<kBytes> >(*args.plan, PackRunner<kBytes>{args, counting, exact});
  return exact;
}

bool PackTiles(const PackBlockArgs& args, Counting& counting) {
  if constexpr (kVectorBytes != 16 && kRunsWidth<16>) {
    if (args.plan->vector_bytes == 16) return PackTilesOfWidth<16>(args, counting);
  }
  if constexpr (kVectorBytes != 32 && kRunsWidth<32>) {
    if (args.plan->vector_bytes == 32) return PackTilesOfWidth<32>(args, counting);
  }
  return PackTilesOfWidth<kVectorBytes>(args, counting);
}

#endif

bool PackBlockImpl(const PackBlockArgs& args) {
  Counting counting;
  bool exact = true;
  if (args.plan->vector_bytes != 0) {
    exact = PackTiles(args, counting);
  } else if (args.rewrite == Rewrite::kE4m3ToFnuz) {
    PackRuns<Rewrite::kE4m3ToFnuz>(args, counting);
  } else if (args.rewrite == Rewrite::kE2m1DropNegativeZero) {
    PackRuns<Rewrite::kE2m1DropNegativeZero>(args, counting);
  } else {
    PackRuns<Rewrite::kNone>(args, counting);
  }
  if (!exact) return false;
  args.counts->negative_zeros += static_cast<std::int64_t>(counting.negative_zeros);
  args.counts->nans += static_cast<std::int64_t>(counting.nans);
  return true;
}

#undef LANEWISE_FIXED_REGISTERS

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(VectorBytesImpl);
HWY_EXPORT(TakesBf16Impl);
HWY_EXPORT(PackBlockImpl);

int VectorBytes() { return HWY_DYNAMIC_DISPATCH(VectorBytesImpl)(); }

bool TakesBf16(const RegionPlan& plan) {
  return plan.vector_bytes != 0 && plan.network.register_bits <= kMaxBf16Exchanges &&
         plan.byte_begin % 32 == 0 && LANEWISE_OF_WIDTH(plan.vector_bytes, TakesBf16Impl)();
}

bool PackBlock(const PackBlockArgs& args) {
  return LANEWISE_OF_WIDTH(args.plan->vector_bytes, PackBlockImpl)(args);
}

}  // namespace lanewise
#endif  // HWY_ONCE
