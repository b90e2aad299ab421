#include "weights/zero_signs.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace lanewise {
namespace {

// Elements are looked at eight bytes at a time: in a word of little-endian bytes they and their
// signs stand in ascending order.
static_assert(std::endian::native == std::endian::little);
constexpr std::int64_t kWord = 8;

// All bits of an element but its sign, over a word of them.
std::uint64_t MagnitudeBits(Conversion conversion) {
  const ConversionTraits traits = TraitsOf(conversion);
  if (traits.loss != Loss::kZeroSigns) return 0;  // no sign of a zero is lost
  switch (traits.source_bits) {
    case 4:
      return 0x7777777777777777;
    case 8:
      return 0x7F7F7F7F7F7F7F7F;
    default:
      return 0x7FFF7FFF7FFF7FFF;
  }
}

// The sign bits of the zero-valued elements of a word. Adding its largest to a magnitude carries
// into the sign's place unless it is zero, and no further.
std::uint64_t ZerosOf(std::uint64_t word, std::uint64_t magnitude) {
  return ~((word & magnitude) + magnitude) & ~magnitude;
}

// Bits that are collected, the first in bit 0 of the first byte.
class BitWriter {
 public:
  // The lowest `count` of `bits`, at most 32; the others must be 0.
  void Add(std::uint64_t bits, int count) {
    begun_ |= bits << filled_;
    filled_ += count;
    if (filled_ < 32) return;
    words_.push_back(static_cast<std::uint32_t>(begun_));
    begun_ >>= 32;
    filled_ -= 32;
  }

  ZeroSignBits Take() {
    ZeroSignBits bits;
    bits.count = 32 * std::ssize(words_) + filled_;
    if (filled_ > 0) words_.push_back(static_cast<std::uint32_t>(begun_));
    bits.bytes.resize(static_cast<std::size_t>((bits.count + 7) / 8));
    if (!bits.bytes.empty()) std::memcpy(bits.bytes.data(), words_.data(), bits.bytes.size());
    return bits;
  }

 private:
  std::vector<std::uint32_t> words_;
  std::uint64_t begun_ = 0;
  int filled_ = 0;
};

// Bits that are read, 0 past the end.
class BitReader {
 public:
  BitReader(std::span<const std::uint8_t> bytes, std::int64_t first) : bytes_(bytes), at_(first) {}

  // At least the next 32, the first lowest.
  std::uint64_t Peek() const {
    const std::int64_t left = std::ssize(bytes_) - at_ / 8;
    std::uint64_t word = 0;
    if (left >= kWord) {
      std::memcpy(&word, bytes_.data() + at_ / 8, kWord);
    } else if (left > 0) {
      std::memcpy(&word, bytes_.data() + at_ / 8, static_cast<std::size_t>(left));
    }
    return word >> (at_ % 8);
  }
  void Skip(int count) { at_ += count; }
  std::int64_t at() const { return at_; }

 private:
  std::span<const std::uint8_t> bytes_;
  std::int64_t at_;
};

// Takes the bits of a word at the places of a mask to the lowest ones, and back to those places.
struct AnyBits {
  static std::uint64_t Gather(std::uint64_t word, std::uint64_t mask) {
    std::uint64_t bits = 0;
    for (int i = 0; mask != 0; mask &= mask - 1, ++i) {
      bits |= (word >> std::countr_zero(mask) & 1) << i;
    }
    return bits;
  }
  static std::uint64_t Scatter(std::uint64_t bits, std::uint64_t mask) {
    std::uint64_t word = 0;
    for (; mask != 0; mask &= mask - 1, bits >>= 1) {
      if ((bits & 1) != 0) word |= mask & -mask;
    }
    return word;
  }
};

// A row's signs, and their return to it. A word has 16 elements at most.
template <class Bits>
[[gnu::always_inline]] inline void CollectRow(const std::uint8_t* row, std::int64_t bytes,
                                              std::uint64_t magnitude, BitWriter* signs) {
  for (std::int64_t i = 0; i < bytes; i += kWord) {
    std::uint64_t word = ~std::uint64_t{0};
    std::memcpy(&word, row + i, static_cast<std::size_t>(std::min(kWord, bytes - i)));
    const std::uint64_t zeros = ZerosOf(word, magnitude);
    signs->Add(Bits::Gather(word, zeros), std::popcount(zeros));
  }
}
template <class Bits>
[[gnu::always_inline]] inline void ApplyRow(std::uint8_t* row, std::int64_t bytes,
                                            std::uint64_t magnitude, BitReader* signs) {
  for (std::int64_t i = 0; i < bytes; i += kWord) {
    const auto size = static_cast<std::size_t>(std::min(kWord, bytes - i));
    std::uint64_t word = ~std::uint64_t{0};
    std::memcpy(&word, row + i, size);
    const std::uint64_t zeros = ZerosOf(word, magnitude);
    if (zeros == 0) continue;
    word |= Bits::Scatter(signs->Peek(), zeros);
    signs->Skip(std::popcount(zeros));
    std::memcpy(row + i, &word, size);
  }
}

using Collect = void(const std::uint8_t*, std::int64_t, std::uint64_t, BitWriter*);
using Apply = void(std::uint8_t*, std::int64_t, std::uint64_t, BitReader*);

struct RowLoops {
  Collect* collect = [](const std::uint8_t* row, std::int64_t bytes, std::uint64_t magnitude,
                        BitWriter* signs) { CollectRow<AnyBits>(row, bytes, magnitude, signs); };
  Apply* apply = [](std::uint8_t* row, std::int64_t bytes, std::uint64_t magnitude,
                    BitReader* signs) { ApplyRow<AnyBits>(row, bytes, magnitude, signs); };
};

#if defined(__x86_64__)

// One instruction each.
struct Bmi2Bits {
  [[gnu::target("bmi2,popcnt")]] static std::uint64_t Gather(std::uint64_t word,
                                                             std::uint64_t mask) {
    return _pext_u64(word, mask);
  }
  [[gnu::target("bmi2,popcnt")]] static std::uint64_t Scatter(std::uint64_t bits,
                                                              std::uint64_t mask) {
    return _pdep_u64(bits, mask);
  }
};

[[gnu::target("bmi2,popcnt")]] void CollectBmi2(const std::uint8_t* row, std::int64_t bytes,
                                                std::uint64_t magnitude, BitWriter* signs) {
  CollectRow<Bmi2Bits>(row, bytes, magnitude, signs);
}
[[gnu::target("bmi2,popcnt")]] void ApplyBmi2(std::uint8_t* row, std::int64_t bytes,
                                              std::uint64_t magnitude, BitReader* signs) {
  ApplyRow<Bmi2Bits>(row, bytes, magnitude, signs);
}

const RowLoops& Loops() {
  static const RowLoops loops = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")
                                    ? RowLoops{CollectBmi2, ApplyBmi2}
                                    : RowLoops{};
  return loops;
}

#else

const RowLoops& Loops() {
  static const RowLoops loops;
  return loops;
}

#endif  // defined(__x86_64__)

}  // namespace

bool DiscardsZeroSigns(const TensorPlan& plan) {
  return TraitsOf(plan.conversion).loss == Loss::kZeroSigns;
}

std::vector<std::uint8_t> ZeroSigns(const TensorPlan& plan, const Sources& sources) {
  return ZeroSignsOfRows(plan, sources, 0, plan.rows()).bytes;
}

ZeroSignBits ZeroSignsOfRows(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                             std::int64_t end) {
  const std::uint64_t magnitude = MagnitudeBits(plan.conversion);
  BitWriter signs;
  if (magnitude == 0) return signs.Take();
  const RowLoops& loops = Loops();
  for (std::int64_t row = begin; row < end; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    loops.collect(sources[place.source].data() + place.offset, plan.source_row_bytes, magnitude,
                  &signs);
  }
  return signs.Take();
}

std::int64_t CountZeros(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                        std::int64_t end) {
  // A word's zeros are one bit in each byte, or two, of nibbles: summed byte by byte, then over the
  // bytes before a byte could overflow.
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr int kSafeWords = 127;
  const std::uint64_t magnitude = MagnitudeBits(plan.conversion);
  std::int64_t count = 0;
  std::uint64_t sums = 0;
  int words = 0;
  const auto settle = [&] {
    const std::uint64_t even = sums & 0x00FF00FF00FF00FF, odd = sums >> 8 & 0x00FF00FF00FF00FF;
    count += static_cast<std::int64_t>((even + odd) * 0x0001000100010001 >> 48);
    sums = 0;
    words = 0;
  };
  for (std::int64_t row = begin; row < end && magnitude != 0; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    const std::uint8_t* const bytes = sources[place.source].data() + place.offset;
    for (std::int64_t i = 0; i < plan.source_row_bytes; i += kWord) {
      std::uint64_t word = ~std::uint64_t{0};
      const std::int64_t size = std::min(kWord, plan.source_row_bytes - i);
      std::memcpy(&word, bytes + i, static_cast<std::size_t>(size));
      const std::uint64_t zeros = ZerosOf(word, magnitude);
      sums += (zeros >> 7 & kOnes) + (zeros >> 3 & kOnes);
      if (++words == kSafeWords) settle();
    }
  }
  settle();
  return count;
}

std::int64_t ApplyZeroSignsToRows(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                                  std::int64_t first, std::int64_t begin, std::int64_t end,
                                  const Sinks& sinks) {
  const std::uint64_t magnitude = MagnitudeBits(plan.conversion);
  if (magnitude == 0) return 0;
  BitReader signs(bits, first);
  const RowLoops& loops = Loops();
  for (std::int64_t row = begin; row < end; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    loops.apply(sinks[place.source].data() + place.offset, plan.source_row_bytes, magnitude,
                &signs);
  }
  return signs.at() - first;
}

absl::Status CheckZeroSigns(std::span<const std::uint8_t> bits, std::int64_t zeros) {
  bool unused_set = false;
  for (std::int64_t i = zeros; i < 8 * std::ssize(bits); ++i) {
    unused_set = unused_set || (bits[i / 8] >> (i % 8) & 1) != 0;
  }
  if ((zeros + 7) / 8 == std::ssize(bits) && !unused_set) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the weight has ", zeros, " zeros, and ",
                                                 bits.size(),
                                                 " bytes of their signs do not fit them"));
}

absl::Status ApplyZeroSigns(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                            const Sinks& sinks) {
  return CheckZeroSigns(bits, ApplyZeroSignsToRows(plan, bits, 0, 0, plan.rows(), sinks));
}

}  // namespace lanewise
