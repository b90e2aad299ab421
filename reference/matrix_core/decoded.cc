#include "reference/matrix_core/decoded.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace lanewise {
namespace {

// How a format spends its bits (sign, exponent, mantissa, from the top) and what its special values
// are.
struct Fields {
  enum Special {
    kNone,
    kIeee,         // all-ones exponent: Inf, or NaN where the mantissa is not 0
    kAllOnesNan,   // all ones but the sign
    kMinusZeroNan  // FNUZ: the sign alone
  };
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;
};

constexpr Fields FieldsOf(OperandFormat format) {
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return {4, 3, 7, Fields::kAllOnesNan};
    case OperandFormat::kE5m2:
      return {5, 2, 15, Fields::kIeee};
    case OperandFormat::kE2m3:
      return {2, 3, 1, Fields::kNone};
    case OperandFormat::kE3m2:
      return {3, 2, 3, Fields::kNone};
    case OperandFormat::kE2m1:
      return {2, 1, 1, Fields::kNone};
    case OperandFormat::kE4m3Fnuz:
      return {4, 3, 8, Fields::kMinusZeroNan};
    case OperandFormat::kE5m2Fnuz:
      return {5, 2, 16, Fields::kMinusZeroNan};
    case OperandFormat::kBf16:
      return {8, 7, 127, Fields::kIeee};
    case OperandFormat::kF16:
      return {5, 10, 15, Fields::kIeee};
    case OperandFormat::kF32:
    case OperandFormat::kF8f6f4:
      break;
  }
  return {8, 23, 127, Fields::kIeee};
}

constexpr DecodedElement DecodeFields(Fields fields, std::uint32_t bits) {
  const std::uint32_t mantissa_one = 1u << fields.mantissa_bits;
  const std::uint32_t exponent_ones = (1u << fields.exponent_bits) - 1;
  const std::uint32_t mantissa = bits & (mantissa_one - 1);
  const std::uint32_t exponent = (bits >> fields.mantissa_bits) & exponent_ones;
  const bool negative = (bits >> (fields.mantissa_bits + fields.exponent_bits)) & 1;
  const float sign = negative ? -1.0f : 1.0f;

  const bool top = exponent == exponent_ones;
  switch (fields.special) {
    case Fields::kIeee:
      if (top)
        return mantissa == 0 ? DecodedElement{sign, kInfExponent} : DecodedElement{1, kNanExponent};
      break;
    case Fields::kAllOnesNan:
      if (top && mantissa == mantissa_one - 1) return {1, kNanExponent};
      break;
    case Fields::kMinusZeroNan:
      if (negative && exponent == 0 && mantissa == 0) return {1, kNanExponent};
      break;
    case Fields::kNone:
      break;
  }
  if (exponent == 0 && mantissa == 0) return {0, kZeroExponent};
  const std::uint32_t significand = exponent == 0 ? mantissa : mantissa_one + mantissa;
  return {
      sign * static_cast<float>(significand) / static_cast<float>(mantissa_one),
      static_cast<std::int16_t>((exponent == 0 ? 1 : static_cast<int>(exponent)) - fields.bias)};
}

using Table = std::array<DecodedElement, 256>;

constexpr Table MakeTable(OperandFormat format) {
  const Fields fields = FieldsOf(format);
  const std::uint32_t mask = (2u << (fields.exponent_bits + fields.mantissa_bits)) - 1;
  Table table{};
  for (std::uint32_t bits = 0; bits < table.size(); ++bits) {
    table[bits] = DecodeFields(fields, bits & mask);
  }
  return table;
}

// By OperandFormat, for the formats of at most 8 bits.
constexpr Table kTables[] = {
    MakeTable(OperandFormat::kE4m3Fn),   MakeTable(OperandFormat::kE5m2),
    MakeTable(OperandFormat::kE2m3),     MakeTable(OperandFormat::kE3m2),
    MakeTable(OperandFormat::kE2m1),     MakeTable(OperandFormat::kE4m3Fnuz),
    MakeTable(OperandFormat::kE5m2Fnuz),
};

}  // namespace

DecodedElement Decode(OperandFormat format, std::uint32_t bits) {
  // Both with the fields as constants: this is where the time of decoding 16-bit operands goes.
  if (format == OperandFormat::kBf16) return DecodeFields(FieldsOf(OperandFormat::kBf16), bits);
  if (format == OperandFormat::kF16) return DecodeFields(FieldsOf(OperandFormat::kF16), bits);
  if (format == OperandFormat::kF32) return {std::bit_cast<float>(bits), 0};
  return kTables[static_cast<int>(format)][bits & 0xFF];
}

DecodedElement DecodeAt(OperandFormat format, const void* data, std::int64_t index) {
  const unsigned char* bytes = static_cast<const unsigned char*>(data);
  switch (ElementBytes(format)) {
    case 1:
      return Decode(format, bytes[index]);
    case 2: {
      std::uint16_t bits;
      std::memcpy(&bits, bytes + index * 2, sizeof(bits));
      return Decode(format, bits);
    }
    default: {
      std::uint32_t bits;
      std::memcpy(&bits, bytes + index * 4, sizeof(bits));
      return Decode(format, bits);
    }
  }
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
