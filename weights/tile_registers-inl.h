// Tiles as trees of registers, and the networks that permute them: what pack_block.cc and
// unpack_block.cc share. Compiled once for each instruction set, so included after
// hwy/foreach_target.h and without a guard of the usual kind.

#if defined(LANEWISE_WEIGHTS_TILE_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEWISE_WEIGHTS_TILE_REGISTERS_INL_H_
#undef LANEWISE_WEIGHTS_TILE_REGISTERS_INL_H_
#else
#define LANEWISE_WEIGHTS_TILE_REGISTERS_INL_H_
#endif

#include <bit>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "weights/bit_network.h"
#include "weights/plan.h"

// Elsewhere every plan is of runs: registers of a size that is known here are what pays.
#undef LANEWISE_FIXED_REGISTERS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_HAVE_SCALABLE || \
    (defined(HWY_SSE2) && HWY_TARGET == HWY_SSE2)
#define LANEWISE_FIXED_REGISTERS 0
#else
#define LANEWISE_FIXED_REGISTERS 1
#endif

// Of lambdas that run over a tile's registers: a call would put them all on the stack.
#undef LANEWISE_UNROLLED
#define LANEWISE_UNROLLED HWY_ATTR __attribute__((always_inline))

#if LANEWISE_FIXED_REGISTERS

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr int kVectorBytes = static_cast<int>(HWY_MIN(HWY_LANES(std::uint8_t), kMaxVectorBytes));

// Whether plans of this width are run here: of this instruction set's own, and of narrower ones
// that width_dispatch.h has no instruction set for (with -march=native, for one).
template <int kBytes>
constexpr bool kRunsWidth =
    kBytes == kVectorBytes || (kBytes == 32 && kVectorBytes > 32 && !(HWY_TARGETS & HWY_AVX2)) ||
    (kBytes == 16 && kVectorBytes > 16 && !(HWY_TARGETS & HWY_SSE4));

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
    Each(r, [table](V& v, int) LANEWISE_UNROLLED { v = BytesAnywhere(v, table); });
  }
#else
  if (permutation.first_bytes) {
    const V table = hn::LoadU(d, permutation.first_byte_of.data());
    Each(r, [table](V& v, int) LANEWISE_UNROLLED { v = hn::TableLookupBytes(v, table); });
  }
  if (permutation.words) {
    const hn::Repartition<std::uint32_t, D> d32;
    const auto table = hn::SetTableIndices(d32, permutation.word_of.data());
    Each(r, [=](V& v, int) LANEWISE_UNROLLED {
      v = hn::BitCast(d, hn::TableLookupLanes(hn::BitCast(d32, v), table));
    });
  }
  if (permutation.last_bytes) {
    const V table = hn::LoadU(d, permutation.last_byte_of.data());
    Each(r, [table](V& v, int) LANEWISE_UNROLLED { v = hn::TableLookupBytes(v, table); });
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
constexpr std::int64_t kRowsAhead = kVectorBytes == 64 ? 128 : 256, kPagesAhead = 8192;
constexpr int kIntoL2 = 2;  // the locality of __builtin_prefetch

template <int kBits, class D, class V, class Place>
HWY_INLINE void StoreMemory(D d, bool streaming, const Place& place, Registers<kBits, V>& r) {
  if (streaming) {
    Each(r, [&](V& v, int i) LANEWISE_UNROLLED { hn::Stream(v, d, place(i)); });
  } else {
    Each(r, [&](V& v, int i) LANEWISE_UNROLLED { hn::StoreU(v, d, place(i)); });
  }
}

// Tiles of networks with at most kPart exchanges are registers throughout. Larger ones are more
// than there are: they go through the network in two parts, registers that the first kPart
// exchanges mix, then those that the others do, and wait between them in the L1 cache.
constexpr int kPart = 3;

// Calls run.Of<exchanges, side bits>() with those of the plan.
template <int kExchanges, bool kToRows, int kVectorBits, class Run>
HWY_INLINE void WithShape(const RegionPlan& plan, const Run& run) {
  if constexpr (kExchanges <= MaxExchanges(kVectorBits)) {
    constexpr int kSide = SideBits(kExchanges, kToRows, 1 << kVectorBits);
    if (plan.network.register_bits != kExchanges) {
      WithShape<kExchanges + 1, kToRows, kVectorBits>(plan, run);
    } else if (plan.side_bits == 0) {
      run.template Of<kExchanges, 0>();
    } else if constexpr (kSide > 0) {
      run.template Of<kExchanges, kSide>();
    }
  }
}

template <int kBytes>
constexpr int kBitsOf = std::countr_zero(static_cast<unsigned>(kBytes));

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#endif  // LANEWISE_FIXED_REGISTERS

#endif  // LANEWISE_WEIGHTS_TILE_REGISTERS_INL_H_
