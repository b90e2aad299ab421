#include "tools/inspect/element_counts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "formats/formats.h"

namespace lanewise::tools {
namespace {

// How often each byte occurs. Whatever 8-bit or packed 4-bit elements are, this tells all of it.
std::array<std::int64_t, 256> Histogram(std::span<const std::uint8_t> bytes) {
  std::array<std::int64_t, 256> histogram = {};
  for (const std::uint8_t byte : bytes) ++histogram[byte];
  return histogram;
}

void Add(float value, std::int64_t count, ElementCounts* counts) {
  if (std::isnan(value)) counts->nans += count;
  if (std::isinf(value)) counts->infs += count;
  if (value == 0 && std::signbit(value)) counts->negative_zeros += count;
}

template <class Format>
ElementCounts CountBytes(std::span<const std::uint8_t> bytes) {
  ElementCounts counts;
  const auto histogram = Histogram(bytes);
  for (int byte = 0; byte < 256; ++byte) {
    Add(Format::FromBits(static_cast<std::uint8_t>(byte)).ToFloat(), histogram[byte], &counts);
  }
  return counts;
}

ElementCounts CountE2m1(std::span<const std::uint8_t> bytes) {
  ElementCounts counts;
  const auto histogram = Histogram(bytes);
  for (int byte = 0; byte < 256; ++byte) {
    for (const int nibble : {byte & 15, byte >> 4}) {
      Add(E2m1::FromBits(static_cast<std::uint8_t>(nibble)).ToFloat(), histogram[byte], &counts);
    }
  }
  return counts;
}

ElementCounts CountCodes(std::span<const std::uint8_t> bytes) {
  ElementCounts counts;
  const auto histogram = Histogram(bytes);
  for (int code = 0; code < 255; ++code) {
    if (histogram[code] == 0) continue;
    if (!counts.least_code) counts.least_code = code;
    counts.greatest_code = code;
  }
  counts.nan_codes = histogram[255];
  return counts;
}

// Elements of 6 bits: four in three bytes.
template <class Format>
ElementCounts CountSixBits(std::span<const std::uint8_t> bytes) {
  ElementCounts counts;
  const std::size_t elements = bytes.size() * 8 / 6;
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t at = 6 * i / 8;
    const int two = bytes[at] | (at + 1 < bytes.size() ? bytes[at + 1] << 8 : 0);
    Add(Format::FromBits(static_cast<std::uint8_t>(two >> (6 * i % 8) & 63)).ToFloat(), 1, &counts);
  }
  return counts;
}

// The element may lie at any address. Double holds them all.
template <class Unsigned, class ToDouble>
ElementCounts CountWide(std::span<const std::uint8_t> bytes, ToDouble to_double) {
  ElementCounts counts;
  for (std::size_t at = 0; at + sizeof(Unsigned) <= bytes.size(); at += sizeof(Unsigned)) {
    Unsigned bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    const double value = to_double(bits);
    counts.nans += std::isnan(value);
    counts.infs += std::isinf(value);
    counts.negative_zeros += value == 0 && std::signbit(value);
  }
  return counts;
}

template <class Float, class Unsigned>
double AsFloat(Unsigned bits) {
  Float value;
  static_assert(sizeof(value) == sizeof(bits));
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

bool IsCounted(DType dtype) {
  constexpr DType kNotCounted[] = {DType::kBool, DType::kU8,  DType::kI8,  DType::kU16, DType::kI16,
                                   DType::kU32,  DType::kI32, DType::kU64, DType::kI64};
  return std::find(std::begin(kNotCounted), std::end(kNotCounted), dtype) == std::end(kNotCounted);
}

ElementCounts CountElements(DType dtype, std::span<const std::uint8_t> bytes) {
  switch (dtype) {
    case DType::kF8E4m3:
      return CountBytes<E4m3Fn>(bytes);
    case DType::kF8E5m2:
      return CountBytes<E5m2>(bytes);
    case DType::kF8E4m3Fnuz:
      return CountBytes<E4m3Fnuz>(bytes);
    case DType::kF8E5m2Fnuz:
      return CountBytes<E5m2Fnuz>(bytes);
    case DType::kF8E8m0:
      return CountCodes(bytes);
    case DType::kF4:
      return CountE2m1(bytes);
    case DType::kF6E2m3:
      return CountSixBits<E2m3>(bytes);
    case DType::kF6E3m2:
      return CountSixBits<E3m2>(bytes);
    case DType::kBf16:
      return CountWide<std::uint16_t>(
          bytes, [](std::uint16_t bits) -> double { return Bf16::FromBits(bits).ToFloat(); });
    case DType::kF16:
      return CountWide<std::uint16_t>(
          bytes, [](std::uint16_t bits) -> double { return F16::FromBits(bits).ToFloat(); });
    case DType::kF32:
    case DType::kC64:  // pairs of F32
      return CountWide<std::uint32_t>(bytes, AsFloat<float, std::uint32_t>);
    case DType::kF64:
      return CountWide<std::uint64_t>(bytes, AsFloat<double, std::uint64_t>);
    default:
      return {};
  }
}

}  // namespace lanewise::tools
