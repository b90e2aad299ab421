#include "weights/zero_signs.h"

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
  switch (conversion) {
    case Conversion::kE4m3ToFnuz:
      return 0x7F7F7F7F7F7F7F7F;
    case Conversion::kE2m1DropNegativeZero:
      return 0x7777777777777777;
    case Conversion::kBf16ToFnuz:
      return 0x7FFF7FFF7FFF7FFF;
    default:
      return 0;  // no zero is anything else's
  }
}

// The sign bits of the zero-valued elements of a word. Adding its largest to a magnitude carries
// into the sign's place unless it is zero, and no further.
std::uint64_t ZerosOf(std::uint64_t word, std::uint64_t magnitude) {
  return ~((word & magnitude) + magnitude) & ~magnitude;
}

// Calls visit(place, bytes, word) for the words of every row, the last of a row filled up with
// ones: `bytes` of the word are the row's, at `place`.
template <class Spans, class Visit>
void VisitWordsOfRows(const TensorPlan& plan, const Spans& spans, std::int64_t begin,
                      std::int64_t end, const Visit& visit) {
  if (MagnitudeBits(plan.conversion) == 0) return;
  for (std::int64_t row = begin; row < end; ++row) {
    const RowPlace place = plan.place(row);
    if (place.IsPadding()) continue;
    auto* const bytes = spans[place.source].data() + place.offset;
    std::int64_t i = 0;
    for (; i + kWord <= plan.source_row_bytes; i += kWord) {
      std::uint64_t word;
      std::memcpy(&word, bytes + i, kWord);
      visit(bytes + i, kWord, word);
    }
    if (i < plan.source_row_bytes) {
      std::uint64_t word = ~std::uint64_t{0};
      std::memcpy(&word, bytes + i, plan.source_row_bytes - i);
      visit(bytes + i, plan.source_row_bytes - i, word);
    }
  }
}

}  // namespace

bool DiscardsZeroSigns(const TensorPlan& plan) {
  return plan.conversion == Conversion::kE4m3ToFnuz ||
         plan.conversion == Conversion::kE2m1DropNegativeZero ||
         plan.conversion == Conversion::kBf16ToFnuz;
}

std::vector<std::uint8_t> ZeroSigns(const TensorPlan& plan, const Sources& sources) {
  return ZeroSignsOfRows(plan, sources, 0, plan.rows()).bytes;
}

std::int64_t ZeroSignBytes(const TensorPlan& plan, const Sources& sources) {
  return (CountZeros(plan, sources, 0, plan.rows()) + 7) / 8;
}

ZeroSignBits ZeroSignsOfRows(const TensorPlan& plan, const Sources& sources, std::int64_t begin,
                             std::int64_t end) {
  const std::uint64_t magnitude = MagnitudeBits(plan.conversion);
  ZeroSignBits bits;
  VisitWordsOfRows(
      plan, sources, begin, end, [&](const std::uint8_t*, std::int64_t, std::uint64_t word) {
        for (std::uint64_t zeros = ZerosOf(word, magnitude); zeros != 0; zeros &= zeros - 1) {
          if (bits.count % 8 == 0) bits.bytes.push_back(0);
          const std::uint64_t negative = word >> std::countr_zero(zeros) & 1;
          bits.bytes.back() |= static_cast<std::uint8_t>(negative << (bits.count % 8));
          ++bits.count;
        }
      });
  return bits;
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
  VisitWordsOfRows(plan, sources, begin, end,
                   [&](const std::uint8_t*, std::int64_t, std::uint64_t word) {
                     const std::uint64_t zeros = ZerosOf(word, magnitude);
                     sums += (zeros >> 7 & kOnes) + (zeros >> 3 & kOnes);
                     if (++words == kSafeWords) settle();
                   });
  settle();
  return count;
}

std::int64_t ApplyZeroSignsToRows(const TensorPlan& plan, std::span<const std::uint8_t> bits,
                                  std::int64_t first, std::int64_t begin, std::int64_t end,
                                  const Sinks& sinks) {
  const std::uint64_t magnitude = MagnitudeBits(plan.conversion);
  std::int64_t bit = first;
  const std::int64_t room = 8 * std::ssize(bits);
  VisitWordsOfRows(plan, sinks, begin, end,
                   [&](std::uint8_t* place, std::int64_t bytes, std::uint64_t word) {
                     std::uint64_t zeros = ZerosOf(word, magnitude), negative = 0;
                     for (; zeros != 0; zeros &= zeros - 1, ++bit) {
                       if (bit < room && (bits[bit / 8] >> (bit % 8) & 1) != 0) {
                         negative |= zeros & -zeros;
                       }
                     }
                     if (negative == 0) return;
                     word |= negative;
                     std::memcpy(place, &word, bytes);
                   });
  return bit - first;
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
