#include "weights/block_kernels.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

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

template <Rewrite kRewrite, class D, class V>
HWY_INLINE V Rewritten(D d, V v, Counting& counting) {
  if constexpr (kRewrite == Rewrite::kE4m3ToFnuz) {
    const auto minus_zero = hn::Eq(v, hn::Set(d, 0x80));
    const auto nan = hn::Eq(hn::And(v, hn::Set(d, 0x7F)), hn::Set(d, 0x7F));
    counting.negative_zeros += hn::CountTrue(d, minus_zero);
    counting.nans += hn::CountTrue(d, nan);
    return hn::IfThenZeroElse(minus_zero, v);
  } else if constexpr (kRewrite == Rewrite::kE2m1DropNegativeZero) {
    const V low_sign = hn::Set(d, 0x08), high_sign = hn::Set(d, 0x80);
    const auto low = hn::Eq(hn::And(v, hn::Set(d, 0x0F)), low_sign);
    const auto high = hn::Eq(hn::And(v, hn::Set(d, 0xF0)), high_sign);
    counting.negative_zeros += hn::CountTrue(d, low) + hn::CountTrue(d, high);
    v = hn::Xor(v, hn::IfThenElseZero(low, low_sign));
    return hn::Xor(v, hn::IfThenElseZero(high, high_sign));
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
    std::int64_t i = 0;
    for (; i + lanes <= valid; i += lanes) {
      hn::StoreU(Rewritten<kRewrite>(d, hn::LoadU(d, from + i), counting), d, to + i);
    }
    if (i < valid) {
      HWY_ALIGN std::uint8_t rest[kMaxVectorBytes] = {};  // zeros are neither -0 nor NaN
      std::memcpy(rest, from + i, valid - i);
      hn::Store(Rewritten<kRewrite>(d, hn::Load(d, rest), counting), d, rest);
      std::memcpy(to + i, rest, valid - i);
    }
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

#if HWY_TARGET == HWY_SCALAR || HWY_HAVE_SCALABLE

// No registers of a size known here: every plan is of runs.
int VectorBytesImpl() { return 0; }
template <Rewrite kRewrite>
void PackTiles(const PackBlockArgs&, Counting&) {}
void UnpackTiles(const UnpackBlockArgs&) {}

#else

constexpr int kVectorBytes = static_cast<int>(HWY_MIN(HWY_LANES(std::uint8_t), kMaxVectorBytes));
int VectorBytesImpl() { return kVectorBytes; }

// The steps of a permutation, each over all registers: what is to be done is asked once a tile.
template <class D, class V>
HWY_INLINE void Permute(D d, const RegisterPermutation& permutation, int registers, V* v) {
  if (permutation.first_bytes) {
    const V table = hn::LoadU(d, permutation.first_byte_of.data());
    for (int i = 0; i < registers; ++i) v[i] = hn::TableLookupBytes(v[i], table);
  }
  if (permutation.words) {
    const hn::Repartition<std::uint32_t, D> d32;
    const auto table = hn::SetTableIndices(d32, permutation.word_of.data());
    for (int i = 0; i < registers; ++i) {
      v[i] = hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d32, v[i]), table));
    }
  }
  if (permutation.last_bytes) {
    const V table = hn::LoadU(d, permutation.last_byte_of.data());
    for (int i = 0; i < registers; ++i) v[i] = hn::TableLookupBytes(v[i], table);
  }
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

template <int kPosition, class D, class V>
HWY_INLINE void ExchangeAt(D d, int bit, int registers, V* v) {
  for (int i = 0; i < registers; ++i) {
    if ((i >> bit & 1) == 0) ExchangePair<kPosition>(d, v[i], v[i | 1 << bit]);
  }
}

template <class D, class V>
HWY_INLINE void Exchange(D d, int bit, int position, int registers, V* v) {
  if (position == 5) return ExchangeAt<5>(d, bit, registers, v);
  if (position == 4) return ExchangeAt<4>(d, bit, registers, v);
  ExchangeAt<3>(d, bit, registers, v);
}

// How many registers a tile has, known at compile time so that they stay registers: s exchanged
// bits and `side` others. -1: asked of the plan.
template <int kBits, int kSide>
struct Tile {
  static constexpr int kRoom =
      kBits < 0 ? 1 << (kMaxVectorBits + kMaxSideBits) : 1 << (kBits + kSide);
  static HWY_INLINE int Bits(const RegionPlan& plan) {
    return kBits < 0 ? plan.network.register_bits : kBits;
  }
  static HWY_INLINE int Side(const RegionPlan& plan) { return kBits < 0 ? plan.side_bits : kSide; }
  static HWY_INLINE int Registers(const RegionPlan& plan) {
    return kBits < 0 ? 1 << (plan.network.register_bits + plan.side_bits) : kRoom;
  }
};

template <class TileShape, class D, class V>
HWY_INLINE void Forward(D d, const RegionPlan& plan, V* v) {
  const BitNetwork& network = plan.network;
  const int bits = TileShape::Bits(plan), side = TileShape::Side(plan);
  const int registers = TileShape::Registers(plan);
  for (int k = 0; k < bits; ++k) {
    Permute(d, network.permute[k], registers, v);
    Exchange(d, side + k, network.exchanged[k], registers, v);
  }
  Permute(d, network.permute[bits], registers, v);
}

template <class TileShape, class D, class V>
HWY_INLINE void Backward(D d, const RegionPlan& plan, V* v) {
  const BitNetwork& network = plan.network;
  const int bits = TileShape::Bits(plan), side = TileShape::Side(plan);
  const int registers = TileShape::Registers(plan);
  Permute(d, network.inverse[bits], registers, v);
  for (int k = bits - 1; k >= 0; --k) {
    Exchange(d, side + k, network.exchanged[k], registers, v);
    Permute(d, network.inverse[k], registers, v);
  }
}

// The bytes of a register at the row's edge, or of padding.
template <Rewrite kRewrite>
HWY_NOINLINE void FillAtEdge(const std::uint8_t* row, std::int64_t at, std::int64_t bytes,
                             const PackBlockArgs& args, std::uint8_t* to, Counting& counting) {
  const std::int64_t valid =
      row == nullptr ? 0 : std::clamp<std::int64_t>(args.valid_bytes - at, 0, bytes);
  PackRun<kRewrite>(valid > 0 ? row + at : nullptr, valid, bytes, args.padding, to, counting);
}

template <class TileShape, Rewrite kRewrite, class D>
HWY_NOINLINE void PackTilesOf(D d, const PackBlockArgs& args, Counting& total) {
  const RegionPlan& plan = *args.plan;
  const int registers = TileShape::Registers(plan);
  const TilePlace* const loads = plan.loads.data();
  const std::int64_t* const stores = plan.stores.data();
  Counting counting;
  std::int64_t byte_base = args.byte_base;
  std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    const bool inside = args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    for (const TilePlace& tile : plan.tiles) {
      const std::uint8_t* const* rows = args.rows + tile.row;
      const std::int64_t at = byte_base + tile.byte;
      hn::Vec<D> v[TileShape::kRoom];
      if (HWY_LIKELY(inside)) {
        for (int i = 0; i < registers; ++i) {
          const std::uint8_t* from = rows[loads[i].row] + at + loads[i].byte;
          v[i] = Rewritten<kRewrite>(d, hn::LoadU(d, from), counting);
        }
      } else {
        for (int i = 0; i < registers; ++i) {
          HWY_ALIGN std::uint8_t bytes[kMaxVectorBytes];
          FillAtEdge<kRewrite>(rows[loads[i].row], at + loads[i].byte,
                               static_cast<std::int64_t>(hn::Lanes(d)), args, bytes, counting);
          v[i] = hn::Load(d, bytes);
        }
      }
      Forward<TileShape>(d, plan, v);
      std::uint8_t* const to = memory + tile.memory;
      if (args.streaming) {
        for (int i = 0; i < registers; ++i) hn::Stream(v[i], d, to + stores[i]);
      } else {
        for (int i = 0; i < registers; ++i) hn::StoreU(v[i], d, to + stores[i]);
      }
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
  total.negative_zeros += counting.negative_zeros;
  total.nans += counting.nans;
}

template <class TileShape, class D>
HWY_NOINLINE void UnpackTilesOf(D d, const UnpackBlockArgs& args) {
  const RegionPlan& plan = *args.plan;
  const int registers = TileShape::Registers(plan);
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const TilePlace* const loads = plan.loads.data();
  const std::int64_t* const stores = plan.stores.data();
  std::int64_t byte_base = args.byte_base;
  const std::uint8_t* memory = args.memory;
  for (std::int64_t repeat = 0; repeat < args.repeat; ++repeat) {
    const bool inside = args.all_rows && byte_base + plan.byte_end <= args.valid_bytes;
    for (const TilePlace& tile : plan.tiles) {
      std::uint8_t* const* rows = args.rows + tile.row;
      const std::int64_t at = byte_base + tile.byte;
      const std::uint8_t* const from = memory + tile.memory;
      hn::Vec<D> v[TileShape::kRoom];
      for (int i = 0; i < registers; ++i) v[i] = hn::LoadU(d, from + stores[i]);
      Backward<TileShape>(d, plan, v);
      if (HWY_LIKELY(inside && args.streaming)) {
        for (int i = 0; i < registers; ++i) {
          hn::Stream(v[i], d, rows[loads[i].row] + at + loads[i].byte);
        }
      } else if (HWY_LIKELY(inside)) {
        for (int i = 0; i < registers; ++i) {
          hn::StoreU(v[i], d, rows[loads[i].row] + at + loads[i].byte);
        }
      } else {
        for (int i = 0; i < registers; ++i) {
          std::uint8_t* const row = rows[loads[i].row];
          const std::int64_t to = at + loads[i].byte;
          const std::int64_t valid = std::clamp<std::int64_t>(args.valid_bytes - to, 0, lanes);
          if (row == nullptr || valid == 0) continue;
          HWY_ALIGN std::uint8_t bytes[kMaxVectorBytes];
          hn::Store(v[i], d, bytes);
          std::memcpy(row + to, bytes, valid);
        }
      }
    }
    if (!plan.loops.empty())
      byte_base += plan.loops.back().byte, memory += plan.loops.back().memory;
  }
}

// Registers of kBytes, the usual numbers of them known at compile time. Cases are numbered
// s * (kMaxSideBits + 1) + side bits.
template <int kBytes, Rewrite kRewrite>
void PackTilesOfWidth(const PackBlockArgs& args, Counting& counting) {
  constexpr hn::CappedTag<std::uint8_t, kBytes> d;
  if constexpr (kBytes == kVectorBytes) {
    switch (args.plan->network.register_bits * (kMaxSideBits + 1) + args.plan->side_bits) {
      case 0:
        return PackTilesOf<Tile<0, 0>, kRewrite>(d, args, counting);
      case 3:
        return PackTilesOf<Tile<1, 0>, kRewrite>(d, args, counting);
      case 4:
        return PackTilesOf<Tile<1, 1>, kRewrite>(d, args, counting);
      case 5:
        return PackTilesOf<Tile<1, 2>, kRewrite>(d, args, counting);
      case 6:
        return PackTilesOf<Tile<2, 0>, kRewrite>(d, args, counting);
      case 7:
        return PackTilesOf<Tile<2, 1>, kRewrite>(d, args, counting);
      case 8:
        return PackTilesOf<Tile<2, 2>, kRewrite>(d, args, counting);
      case 9:
        return PackTilesOf<Tile<3, 0>, kRewrite>(d, args, counting);
      case 10:
        return PackTilesOf<Tile<3, 1>, kRewrite>(d, args, counting);
      default:
        break;
    }
  }
  PackTilesOf<Tile<-1, -1>, kRewrite>(d, args, counting);
}

template <int kBytes>
void UnpackTilesOfWidth(const UnpackBlockArgs& args) {
  constexpr hn::CappedTag<std::uint8_t, kBytes> d;
  if constexpr (kBytes == kVectorBytes) {
    switch (args.plan->network.register_bits * (kMaxSideBits + 1) + args.plan->side_bits) {
      case 0:
        return UnpackTilesOf<Tile<0, 0> >(d, args);
      case 3:
        return UnpackTilesOf<Tile<1, 0> >(d, args);
      case 4:
        return UnpackTilesOf<Tile<1, 1> >(d, args);
      case 5:
        return UnpackTilesOf<Tile<1, 2> >(d, args);
      case 6:
        return UnpackTilesOf<Tile<2, 0> >(d, args);
      case 7:
        return UnpackTilesOf<Tile<2, 1> >(d, args);
      case 8:
        return UnpackTilesOf<Tile<2, 2> >(d, args);
      case 9:
        return UnpackTilesOf<Tile<3, 0> >(d, args);
      case 10:
        return UnpackTilesOf<Tile<3, 1> >(d, args);
      default:
        break;
    }
  }
  UnpackTilesOf<Tile<-1, -1> >(d, args);
}

// A plan's registers are no wider than the machine's.
template <Rewrite kRewrite>
void PackTiles(const PackBlockArgs& args, Counting& counting) {
  if (args.plan->vector_bytes == 16) return PackTilesOfWidth<16, kRewrite>(args, counting);
  if (args.plan->vector_bytes == 32) {
    return PackTilesOfWidth<HWY_MIN(32, kVectorBytes), kRewrite>(args, counting);
  }
  PackTilesOfWidth<kVectorBytes, kRewrite>(args, counting);
}

void UnpackTiles(const UnpackBlockArgs& args) {
  if (args.plan->vector_bytes == 16) return UnpackTilesOfWidth<16>(args);
  if (args.plan->vector_bytes == 32) return UnpackTilesOfWidth<HWY_MIN(32, kVectorBytes)>(args);
  UnpackTilesOfWidth<kVectorBytes>(args);
}

#endif

template <Rewrite kRewrite>
void PackBlockWith(const PackBlockArgs& args) {
  Counting counting;
  if (args.plan->vector_bytes == 0) {
    PackRuns<kRewrite>(args, counting);
  } else {
    PackTiles<kRewrite>(args, counting);
  }
  args.counts->negative_zeros += static_cast<std::int64_t>(counting.negative_zeros);
  args.counts->nans += static_cast<std::int64_t>(counting.nans);
}

void PackBlockImpl(const PackBlockArgs& args) {
  switch (args.rewrite) {
    case Rewrite::kNone:
      return PackBlockWith<Rewrite::kNone>(args);
    case Rewrite::kE4m3ToFnuz:
      return PackBlockWith<Rewrite::kE4m3ToFnuz>(args);
    case Rewrite::kE2m1DropNegativeZero:
      return PackBlockWith<Rewrite::kE2m1DropNegativeZero>(args);
  }
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
