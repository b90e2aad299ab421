#include "checkpoint/synthesize/synthesize_values.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "xxhash.h"

namespace lanewise {
namespace {

struct Word {
  SyntheticValues values;
  std::string_view name;
};

constexpr Word kWords[] = {
    {SyntheticValues::kE4m3, "e4m3"},   {SyntheticValues::kE2m1, "e2m1"},
    {SyntheticValues::kCodes, "codes"}, {SyntheticValues::kFoldingCodes, "folding_codes"},
    {SyntheticValues::kBf16, "bf16"},   {SyntheticValues::kF32, "f32"},
};

// Eight random bytes, number `index` of a key: SplitMix64, whose state after n steps is a
// multiplication away (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
inline std::uint64_t RandomWord(std::uint64_t key, std::uint64_t index) {
  std::uint64_t z = key + (index + 1) * 0x9E3779B97F4A7C15;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The rules below make eight random bytes values of a format.

// A magnitude of 0x7F is NaN: its bit 3 is turned.
inline std::uint64_t ToE4m3(std::uint64_t word) {
  const std::uint64_t nan = ((word & 0x7F7F7F7F7F7F7F7F) + 0x0101010101010101) & 0x8080808080808080;
  return word ^ (nan >> 4);
}
inline std::uint64_t ToE2m1(std::uint64_t word) { return word; }
inline std::uint64_t ToCodes(std::uint64_t word) {
  return (word & 0x0F0F0F0F0F0F0F0F) + 110 * 0x0101010101010101;
}
// Sign, exponent field 118 and three random bits more, random mantissa.
inline std::uint64_t ToBf16(std::uint64_t word) {
  return (word & 0x83FF83FF83FF83FF) + (std::uint64_t{118} << 7) * 0x0001000100010001;
}
inline std::uint64_t ToF32(std::uint64_t word) {
  return (word & 0x83FFFFFF83FFFFFF) + (std::uint64_t{118} << 23) * 0x0000000100000001;
}

// Bytes of the words from byte `offset` on.
template <class Rule>
void FillWords(Rule rule, std::uint64_t key, std::int64_t offset, std::span<std::uint8_t> bytes) {
  std::uint64_t index = static_cast<std::uint64_t>(offset) / 8;
  std::size_t skip = static_cast<std::size_t>(offset % 8), done = 0;
  const auto part = [&](std::size_t size) {
    const std::uint64_t word = rule(RandomWord(key, index++));
    std::memcpy(bytes.data() + done, reinterpret_cast<const char*>(&word) + skip, size);
    done += size;
    skip = 0;
  };
  if (skip > 0) part(std::min(8 - skip, bytes.size()));
  const std::size_t words = (bytes.size() - done) / 8;
  std::uint8_t* const out = bytes.data() + done;
  for (std::size_t i = 0; i < words; ++i) {
    const std::uint64_t word = rule(RandomWord(key, index + i));
    std::memcpy(out + 8 * i, &word, 8);
  }
  index += words;
  done += 8 * words;
  if (done < bytes.size()) part(bytes.size() - done);
}

void FillFolding(std::uint64_t key, std::int64_t row_bytes, std::int64_t offset,
                 std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    const std::int64_t row = offset / row_bytes, column = offset % row_bytes;
    const std::size_t size = std::min(bytes.size(), static_cast<std::size_t>(row_bytes - column));
    FillWords(ToCodes, key, row / 32 * row_bytes + column, bytes.first(size));
    bytes = bytes.subspan(size);
    offset += static_cast<std::int64_t>(size);
  }
}

}  // namespace

std::string_view SyntheticValuesName(SyntheticValues values) {
  return std::find_if(std::begin(kWords), std::end(kWords),
                      [values](const Word& word) { return word.values == values; })
      ->name;
}

std::optional<SyntheticValues> SyntheticValuesFromName(std::string_view name) {
  for (const Word& word : kWords) {
    if (word.name == name) return word.values;
  }
  return std::nullopt;
}

std::optional<SyntheticValues> DefaultSyntheticValues(DType dtype) {
  switch (dtype) {
    case DType::kF8E4m3:
      return SyntheticValues::kE4m3;
    case DType::kF4:
      return SyntheticValues::kE2m1;
    case DType::kF8E8m0:
      return SyntheticValues::kCodes;
    case DType::kBf16:
      return SyntheticValues::kBf16;
    case DType::kF32:
      return SyntheticValues::kF32;
    default:
      return std::nullopt;
  }
}

bool CanHold(DType dtype, SyntheticValues values) {
  switch (values) {
    case SyntheticValues::kE4m3:
      return dtype == DType::kF8E4m3;
    case SyntheticValues::kE2m1:
      return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kF4;
    case SyntheticValues::kCodes:
    case SyntheticValues::kFoldingCodes:
      return dtype == DType::kU8 || dtype == DType::kF8E8m0;
    case SyntheticValues::kBf16:
      return dtype == DType::kBf16;
    case SyntheticValues::kF32:
      return dtype == DType::kF32;
  }
  return false;
}

std::uint64_t SyntheticKey(std::uint64_t seed, std::string_view tensor) {
  return XXH3_64bits_withSeed(tensor.data(), tensor.size(), seed);
}

void FillSynthetic(SyntheticValues values, std::uint64_t key, std::int64_t row_bytes,
                   std::int64_t offset, std::span<std::uint8_t> bytes) {
  switch (values) {
    case SyntheticValues::kE4m3:
      return FillWords(ToE4m3, key, offset, bytes);
    case SyntheticValues::kE2m1:
      return FillWords(ToE2m1, key, offset, bytes);
    case SyntheticValues::kCodes:
      return FillWords(ToCodes, key, offset, bytes);
    case SyntheticValues::kFoldingCodes:
      return FillFolding(key, row_bytes, offset, bytes);
    case SyntheticValues::kBf16:
      return FillWords(ToBf16, key, offset, bytes);
    case SyntheticValues::kF32:
      return FillWords(ToF32, key, offset, bytes);
  }
}

}  // namespace lanewise
