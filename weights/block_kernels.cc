#include "weights/block_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weights/block_kernels.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // compiles the rest of this file once for each instruction set
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanewise {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Bytes = hn::CappedTag<std::uint8_t, kMaxChunkBytes>;
constexpr Bytes kBytes;

// Whether one register holds a whole chunk. The narrower instruction sets permute through memory
// instead.
constexpr bool kWholeChunk = !HWY_HAVE_SCALABLE && HWY_LANES(std::uint8_t) >= kMaxChunkBytes;

struct Counting {
  std::size_t negative_zeros = 0;
  std::size_t nans = 0;
};

template <Rewrite kRewrite, class V>
HWY_INLINE V Rewritten(V v, Counting* counting) {
  if constexpr (kRewrite == Rewrite::kE4m3ToFnuz) {
    const auto minus_zero = hn::Eq(v, hn::Set(kBytes, 0x80));
    const auto nan = hn::Eq(hn::And(v, hn::Set(kBytes, 0x7F)), hn::Set(kBytes, 0x7F));
    counting->negative_zeros += hn::CountTrue(kBytes, minus_zero);
    counting->nans += hn::CountTrue(kBytes, nan);
    return hn::IfThenZeroElse(minus_zero, v);
  } else if constexpr (kRewrite == Rewrite::kE2m1DropNegativeZero) {
    const V low_sign = hn::Set(kBytes, 0x08), high_sign = hn::Set(kBytes, 0x80);
    const auto low = hn::Eq(hn::And(v, hn::Set(kBytes, 0x0F)), low_sign);
    const auto high = hn::Eq(hn::And(v, hn::Set(kBytes, 0xF0)), high_sign);
    counting->negative_zeros += hn::CountTrue(kBytes, low) + hn::CountTrue(kBytes, high);
    v = hn::Xor(v, hn::IfThenElseZero(low, low_sign));
    return hn::Xor(v, hn::IfThenElseZero(high, high_sign));
  } else {
    return v;
  }
}

// Copies pieces of a size known at compile time where it is one of the usual ones.
template <class CopyPiece>
HWY_INLINE void ForEachPiece(const RegionPlan& plan, const CopyPiece& copy) {
  const std::size_t pieces = plan.pieces.size();
  switch (plan.piece_bytes) {
    case 64:
      return copy(0, 0, std::integral_constant<std::size_t, 64>());
    case 32:
      for (std::size_t i = 0; i < pieces; ++i) {
        copy(i, 32 * i, std::integral_constant<std::size_t, 32>());
      }
      return;
    case 16:
      for (std::size_t i = 0; i < pieces; ++i) {
        copy(i, 16 * i, std::integral_constant<std::size_t, 16>());
      }
      return;
    case 8:
      for (std::size_t i = 0; i < pieces; ++i) {
        copy(i, 8 * i, std::integral_constant<std::size_t, 8>());
      }
      return;
    default:
      for (std::size_t i = 0; i < pieces; ++i) {
        copy(i, plan.piece_bytes * i, static_cast<std::size_t>(plan.piece_bytes));
      }
  }
}

// Bytes within each 16-byte block, by register where there is one.
HWY_INLINE void PermuteInBlocks(const std::uint8_t* HWY_RESTRICT from,
                                const std::uint8_t* HWY_RESTRICT index,
                                std::uint8_t* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < kMaxChunkBytes; ++i) to[i] = from[i / 16 * 16 + index[i]];
#else
  for (std::size_t i = 0; i < kMaxChunkBytes; i += hn::Lanes(kBytes)) {
    const auto v = hn::TableLookupBytes(hn::Load(kBytes, from + i), hn::LoadU(kBytes, index + i));
    hn::Store(v, kBytes, to + i);
  }
#endif
}

// permuted[i] = chunk[source_of[i]]. Both are 64-byte buffers, aligned.
HWY_INLINE void Permute(const RegionPlan& plan, const std::uint8_t* HWY_RESTRICT chunk,
                        std::uint8_t* HWY_RESTRICT permuted) {
  if (!plan.two_step) {
    for (int i = 0; i < plan.chunk_bytes; ++i) permuted[i] = chunk[plan.source_of[i]];
    return;
  }
  alignas(64) std::uint8_t words[kMaxChunkBytes];
  PermuteInBlocks(chunk, plan.byte_in_block.data(), words);
  for (int i = 0; i < kMaxChunkBytes / 4; ++i) {
    std::memcpy(permuted + 4 * i, words + 4 * plan.word_of[i], 4);
  }
}

// chunk[source_of[i]] = permuted[i].
HWY_INLINE void InversePermute(const RegionPlan& plan, const std::uint8_t* HWY_RESTRICT permuted,
                               std::uint8_t* HWY_RESTRICT chunk) {
  if (!plan.two_step) {
    for (int i = 0; i < plan.chunk_bytes; ++i) chunk[plan.source_of[i]] = permuted[i];
    return;
  }
  alignas(64) std::uint8_t words[kMaxChunkBytes];
  for (int i = 0; i < kMaxChunkBytes / 4; ++i) {
    std::memcpy(words + 4 * i, permuted + 4 * plan.inverse_word_of[i], 4);
  }
  PermuteInBlocks(words, plan.inverse_byte_in_block.data(), chunk);
}

// The same two permutations of a chunk that fills one register, their tables loaded once.
template <bool kFillsOneRegister>
class RegisterPermutation {
 public:
  RegisterPermutation(const std::uint8_t* byte_in_block, const std::uint32_t* word_of)
      : bytes_(hn::LoadU(kBytes, byte_in_block)), words_(hn::SetTableIndices(kWords, word_of)) {}

  template <class V>
  HWY_INLINE V BytesThenWords(V v) const {
    return MoveWords(hn::TableLookupBytes(v, bytes_));
  }
  template <class V>
  HWY_INLINE V WordsThenBytes(V v) const {
    return hn::TableLookupBytes(MoveWords(v), bytes_);
  }

 private:
  using Words = hn::CappedTag<std::uint32_t, kMaxChunkBytes / 4>;
  static constexpr Words kWords = {};

  template <class V>
  HWY_INLINE V MoveWords(V v) const {
    return hn::BitCast(kBytes, hn::TableLookupLanes(hn::BitCast(kWords, v), words_));
  }

  hn::Vec<Bytes> bytes_;
  decltype(hn::SetTableIndices(Words(), static_cast<const std::uint32_t*>(nullptr))) words_;
};

// Narrower registers never reach the whole-chunk path: nothing to hold.
template <>
class RegisterPermutation<false> {
 public:
  RegisterPermutation(const std::uint8_t*, const std::uint32_t*) {}
  template <class V>
  V BytesThenWords(V v) const {
    return v;
  }
  template <class V>
  V WordsThenBytes(V v) const {
    return v;
  }
};

template <Rewrite kRewrite>
void PackBlockWith(const PackBlockArgs& args) {
  const RegionPlan& plan = *args.plan;
  const std::int64_t chunk_bytes = plan.chunk_bytes;
  Counting counting;
  alignas(64) std::uint8_t chunk[kMaxChunkBytes];
  alignas(64) std::uint8_t permuted[kMaxChunkBytes];
  const bool whole = kWholeChunk && chunk_bytes == kMaxChunkBytes && plan.two_step;
  const RegisterPermutation<kWholeChunk> permutation(plan.byte_in_block.data(),
                                                     plan.word_of.data());
  for (const ChunkMove& move : plan.moves) {
    const std::uint8_t* row = args.rows[move.row];
    const std::int64_t at = args.byte_base + move.byte;
    const std::int64_t valid =
        row == nullptr ? 0 : std::clamp<std::int64_t>(args.valid_bytes - at, 0, chunk_bytes);
    if (whole && valid == kMaxChunkBytes) {
      auto v = Rewritten<kRewrite>(hn::LoadU(kBytes, row + at), &counting);
      if (!plan.identity) v = permutation.BytesThenWords(v);
      hn::Store(v, kBytes, permuted);
    } else {
      std::memset(chunk, 0, sizeof chunk);
      if (valid > 0) std::memcpy(chunk, row + at, valid);
      for (std::size_t i = 0; i < kMaxChunkBytes; i += hn::Lanes(kBytes)) {
        hn::Store(Rewritten<kRewrite>(hn::Load(kBytes, chunk + i), &counting), kBytes, chunk + i);
      }
      std::memset(chunk + valid, args.padding, chunk_bytes - valid);
      Permute(plan, chunk, permuted);
    }
    std::uint8_t* to = args.memory + move.memory;
    ForEachPiece(plan, [&](std::size_t piece, std::size_t from, auto bytes) {
      std::memcpy(to + plan.pieces[piece], permuted + from, bytes);
    });
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
  const RegionPlan& plan = *args.plan;
  const std::int64_t chunk_bytes = plan.chunk_bytes;
  alignas(64) std::uint8_t chunk[kMaxChunkBytes];
  alignas(64) std::uint8_t permuted[kMaxChunkBytes] = {};
  const bool whole = kWholeChunk && chunk_bytes == kMaxChunkBytes && plan.two_step;
  const RegisterPermutation<kWholeChunk> permutation(plan.inverse_byte_in_block.data(),
                                                     plan.inverse_word_of.data());
  for (const ChunkMove& move : plan.moves) {
    std::uint8_t* row = args.rows[move.row];
    if (row == nullptr) continue;
    const std::int64_t at = args.byte_base + move.byte;
    const std::int64_t valid = std::clamp<std::int64_t>(args.valid_bytes - at, 0, chunk_bytes);
    if (valid == 0) continue;
    const std::uint8_t* from = args.memory + move.memory;
    ForEachPiece(plan, [&](std::size_t piece, std::size_t to, auto bytes) {
      std::memcpy(permuted + to, from + plan.pieces[piece], bytes);
    });
    if (whole && valid == kMaxChunkBytes) {
      auto v = hn::Load(kBytes, permuted);
      if (!plan.identity) v = permutation.WordsThenBytes(v);
      hn::StoreU(v, kBytes, row + at);
    } else {
      InversePermute(plan, permuted, chunk);
      std::memcpy(row + at, chunk, valid);
    }
  }
}

void StreamCopyImpl(const std::uint8_t* HWY_RESTRICT from, std::uint8_t* HWY_RESTRICT to,
                    std::int64_t bytes) {
  const std::int64_t step = static_cast<std::int64_t>(hn::Lanes(kBytes));
  for (std::int64_t i = 0; i < bytes; i += step) {
    hn::Stream(hn::Load(kBytes, from + i), kBytes, to + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanewise
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lanewise {

HWY_EXPORT(PackBlockImpl);
HWY_EXPORT(UnpackBlockImpl);
HWY_EXPORT(StreamCopyImpl);

void PackBlock(const PackBlockArgs& args) { HWY_DYNAMIC_DISPATCH(PackBlockImpl)(args); }
void UnpackBlock(const UnpackBlockArgs& args) { HWY_DYNAMIC_DISPATCH(UnpackBlockImpl)(args); }
void StreamCopy(const std::uint8_t* from, std::uint8_t* to, std::int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(StreamCopyImpl)(from, to, bytes);
}
void StreamFence() { hwy::FlushStream(); }

}  // namespace lanewise
#endif  // HWY_ONCE
