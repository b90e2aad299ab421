#include "reference/matrix_core/decoded.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "formats/formats.h"

namespace lanewise {
namespace {

template <class Format>
constexpr DecodedElement DecodeAs(std::uint32_t bits) {
  const Format element = Format::FromBits(static_cast<typename Format::Bits>(bits));
  const float sign = element.IsNegative() ? -1.0f : 1.0f;
  if (element.IsNan()) return {1, kNanExponent};
  if (element.IsInf()) return {sign, kInfExponent};
  if (element.IsZero()) return {0, kZeroExponent};

  constexpr std::uint32_t kOne = 1u << Format::kMantissaBits;
  const std::uint32_t mantissa = bits & (kOne - 1);
  const int field =
      static_cast<int>(bits >> Format::kMantissaBits & ((1u << Format::kExponentBits) - 1));
  const std::uint32_t significand = field == 0 ? mantissa : kOne + mantissa;
  return {sign * (static_cast<float>(significand) / kOne),
          static_cast<std::int16_t>(std::max(field, 1) - Format::kBias)};
}

// What a format of at most 8 bits makes of each byte.
struct Table {
  std::array<DecodedElement, 256> elements;
  std::array<float, 256> values;
};

template <class Format>
constexpr Table MakeTable() {
  Table table{};
  for (std::uint32_t bits = 0; bits < 256; ++bits) {
    table.elements[bits] = DecodeAs<Format>(bits);
    table.values[bits] = Format::FromBits(static_cast<typename Format::Bits>(bits)).ToFloat();
  }
  return table;
}

// By OperandFormat, for the formats of at most 8 bits.
constexpr Table kTables[] = {
    MakeTable<E4m3Fn>(), MakeTable<E5m2>(),     MakeTable<E2m3>(),     MakeTable<E3m2>(),
    MakeTable<E2m1>(),   MakeTable<E4m3Fnuz>(), MakeTable<E5m2Fnuz>(),
};

std::uint32_t LoadBits(OperandFormat format, const void* data, std::int64_t index) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  switch (ElementBytes(format)) {
    case 1:
      return bytes[index];
    case 2: {
      std::uint16_t bits;
      std::memcpy(&bits, bytes + index * 2, sizeof(bits));
      return bits;
    }
    default: {
      std::uint32_t bits;
      std::memcpy(&bits, bytes + index * 4, sizeof(bits));
      return bits;
    }
  }
}

}  // namespace

DecodedElement Decode(OperandFormat format, std::uint32_t bits) {
  if (format == OperandFormat::kBf16) return DecodeAs<Bf16>(bits);
  if (format == OperandFormat::kF16) return DecodeAs<F16>(bits);
  if (format == OperandFormat::kF32) return {std::bit_cast<float>(bits), 0};
  return kTables[static_cast<int>(format)].elements[bits & 0xFF];
}

DecodedElement DecodeAt(OperandFormat format, const void* data, std::int64_t index) {
  return Decode(format, LoadBits(format, data, index));
}

float ValueAt(OperandFormat format, const void* data, std::int64_t index) {
  const std::uint32_t bits = LoadBits(format, data, index);
  if (format == OperandFormat::kBf16) return std::bit_cast<float>(bits << 16);
  if (format == OperandFormat::kF16) return F16::FromBits(static_cast<F16::Bits>(bits)).ToFloat();
  if (format == OperandFormat::kF32) return std::bit_cast<float>(bits);
  return kTables[static_cast<int>(format)].values[bits];
}

DecodedRows::DecodedRows(const OperandView& a)
    : format_(a.format),
      rows_(a.outer),
      k_(a.k),
      significands_(a.outer * a.k),
      exponents_(a.outer * a.k) {
  std::int64_t to = 0;
  for (std::int64_t row = 0; row < a.outer; ++row) {
    for (std::int64_t k = 0; k < a.k; ++k, ++to) {
      const DecodedElement element =
          DecodeAt(a.format, a.data, row * a.outer_stride + k * a.k_stride);
      significands_[to] = element.significand;
      exponents_[to] = element.exponent;
    }
  }
}

DecodedColumns::DecodedColumns(const OperandView& b)
    : format_(b.format),
      columns_(b.outer),
      k_(b.k),
      significands_(panels() * b.k * kPanelWidth),
      exponents_(panels() * b.k * kPanelWidth, kZeroExponent) {
  for (std::int64_t panel = 0; panel < panels(); ++panel) {
    const std::int64_t first = panel * kPanelWidth;
    const std::int64_t width = std::min<std::int64_t>(kPanelWidth, b.outer - first);
    for (std::int64_t k = 0; k < b.k; ++k) {
      const std::int64_t to = (panel * b.k + k) * kPanelWidth;
      for (std::int64_t j = 0; j < width; ++j) {
        const DecodedElement element =
            DecodeAt(b.format, b.data, (first + j) * b.outer_stride + k * b.k_stride);
        significands_[to + j] = element.significand;
        exponents_[to + j] = element.exponent;
      }
    }
  }
}

}  // namespace lanewise
