#include "reference/quantize/mx.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/quantize/block_code.h"

namespace lanewise::reference {
namespace {

// The block's largest magnitude for BlockCode: NaN if there is one that counts.
float LargestMagnitude(std::span<const float, kBlockSize> x, const QuantizeOptions& options) {
  float amax = 0.0f;
  for (const float value : x) {
    if (std::isnan(value)) {
      if (options.non_finite == NonFinite::kNanElements) continue;
      return value;
    }
    amax = std::max(amax, std::fabs(value));
  }
  return amax;
}

float ToFloat(float x) { return x; }
float ToFloat(Bf16 x) { return x.ToFloat(); }
float ToFloat(F16 x) { return x.ToFloat(); }

// The elements of a block of that code.
void EncodeBlock(std::span<const float, kBlockSize> x, std::uint8_t code,
                 const QuantizeOptions& options, std::span<std::uint8_t, kBlockSize> elements) {
  if (code == kNanCode) {
    std::fill(elements.begin(), elements.end(), NanBits(options.format));
    return;
  }
  const float scale = ElementScale(code, options);
  for (std::int64_t i = 0; i < kBlockSize; ++i) {
    const float scaled = std::clamp(x[i] * scale, -options.maximum, options.maximum);
    elements[i] = EncodeElement(options.format, scaled);
  }
}

// `code_rows` rows share a code.
template <class T>
absl::StatusOr<Quantized> QuantizeAny(const Tensor<T, 2>& x, const QuantizeOptions& options,
                                      std::int64_t code_rows) {
  if (absl::Status status = ValidateQuantizeOptions(options); !status.ok()) return status;
  const std::int64_t rows = x.dimension(0);
  const std::int64_t columns = x.dimension(1);
  if (columns % kBlockSize != 0) {
    return absl::InvalidArgumentError(absl::StrCat("x is ", ShapeText(x), ": K = ", columns,
                                                   " is not a multiple of the block size ",
                                                   kBlockSize));
  }
  if (rows % code_rows != 0) {
    return absl::InvalidArgumentError(absl::StrCat("x is ", ShapeText(x), ": ", rows,
                                                   " rows are not a multiple of ", code_rows,
                                                   ", a square block's"));
  }
  const int per_byte = 8 / ElementBits(options.format);
  Quantized result;
  result.elements.resize(rows, columns / per_byte);
  result.codes.resize(rows / code_rows, columns / kBlockSize);
  std::array<float, kBlockSize> block;
  std::array<std::uint8_t, kBlockSize> bits;
  const auto load = [&](std::int64_t row, std::int64_t b) {
    for (std::int64_t i = 0; i < kBlockSize; ++i) block[i] = ToFloat(x(row, b * kBlockSize + i));
  };
  for (std::int64_t first = 0; first < rows; first += code_rows) {
    for (std::int64_t b = 0; b < columns / kBlockSize; ++b) {
      float amax = 0.0f;
      for (std::int64_t row = first; row < first + code_rows; ++row) {
        load(row, b);
        const float largest = LargestMagnitude(block, options);
        if (std::isnan(largest) || largest > amax) amax = largest;
        if (std::isnan(amax)) break;
      }
      const std::uint8_t code = BlockCode(amax, options);
      result.codes(first / code_rows, b) = code;
      for (std::int64_t row = first; row < first + code_rows; ++row) {
        load(row, b);
        EncodeBlock(block, code, options, bits);
        for (std::int64_t i = 0; i < kBlockSize; i += per_byte) {
          const std::uint8_t byte =
              per_byte == 1 ? bits[i]
                            : PackE2m1(E2m1::FromBits(bits[i]), E2m1::FromBits(bits[i + 1]));
          result.elements(row, (b * kBlockSize + i) / per_byte) = byte;
        }
      }
    }
  }
  return result;
}

absl::Status CheckShapes(const Quantized& quantized, ElementFormat format) {
  const int per_byte = 8 / ElementBits(format);
  const std::int64_t rows = quantized.elements.dimension(0);
  const std::int64_t columns = quantized.elements.dimension(1) * per_byte;
  if (columns % kBlockSize != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "elements are ", ShapeText(quantized.elements), " of ", AbslView(ElementFormatName(format)),
        ": K = ", columns, " is not a multiple of the block size ", kBlockSize));
  }
  const std::int64_t code_rows = quantized.codes.dimension(0);
  const bool square = rows % kBlockSize == 0 && code_rows == rows / kBlockSize;
  if ((code_rows != rows && !square) || quantized.codes.dimension(1) != columns / kBlockSize) {
    return absl::InvalidArgumentError(
        absl::StrCat("codes are ", ShapeText(quantized.codes), ", expected [", rows, ", ",
                     columns / kBlockSize, "] (or a row for 32) for elements ",
                     ShapeText(quantized.elements), " of ", AbslView(ElementFormatName(format))));
  }
  return absl::OkStatus();
}

// Fills `values` [rows, K] with `convert(element * scale)`.
template <class T, class Convert>
absl::StatusOr<Tensor<T, 2>> DequantizeAny(const Quantized& quantized, ElementFormat format,
                                           Convert convert) {
  if (absl::Status status = CheckShapes(quantized, format); !status.ok()) return status;
  std::array<float, 256> table;
  for (int bits = 0; bits < 256; ++bits) {
    table[bits] = DecodeElement(format, static_cast<std::uint8_t>(bits));
  }
  const bool nibbles = ElementBits(format) == 4;
  const std::int64_t rows = quantized.elements.dimension(0);
  const std::int64_t columns = quantized.codes.dimension(1) * kBlockSize;
  const std::int64_t code_rows = quantized.codes.dimension(0) == rows ? 1 : kBlockSize;
  Tensor<T, 2> values(rows, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const std::uint8_t code = quantized.codes(row / code_rows, k / kBlockSize);
      const float scale = E8m0::FromBits(code).ToFloat();
      const std::uint8_t byte = quantized.elements(row, nibbles ? k / 2 : k);
      const std::uint8_t bits = !nibbles ? byte : k % 2 == 0 ? byte & 0xF : byte >> 4;
      values(row, k) = convert(table[bits] * scale);
    }
  }
  return values;
}

}  // namespace

std::uint8_t QuantizeBlock(std::span<const float, kBlockSize> x, const QuantizeOptions& options,
                           std::span<std::uint8_t, kBlockSize> elements) {
  const std::uint8_t code = BlockCode(LargestMagnitude(x, options), options);
  EncodeBlock(x, code, options, elements);
  return code;
}

absl::StatusOr<Quantized> Quantize(const Tensor<float, 2>& x, const QuantizeOptions& options) {
  return QuantizeAny(x, options, 1);
}

absl::StatusOr<Quantized> Quantize(const Tensor<Bf16, 2>& x, const QuantizeOptions& options) {
  return QuantizeAny(x, options, 1);
}

absl::StatusOr<Quantized> Quantize(const Tensor<F16, 2>& x, const QuantizeOptions& options) {
  return QuantizeAny(x, options, 1);
}

absl::StatusOr<Quantized> QuantizeSquareBlocks(const Tensor<float, 2>& x,
                                               const QuantizeOptions& options) {
  return QuantizeAny(x, options, kBlockSize);
}

absl::StatusOr<Tensor<float, 2>> DequantizeToFloat(const Quantized& quantized,
                                                   ElementFormat format) {
  return DequantizeAny<float>(quantized, format, [](float value) { return value; });
}

absl::StatusOr<Tensor<Bf16, 2>> DequantizeToBf16(const Quantized& quantized, ElementFormat format) {
  return DequantizeAny<Bf16>(quantized, format, [](float value) {
    return std::isnan(value) ? Bf16::Nan() : Bf16::FromFloat(value);
  });
}

}  // namespace lanewise::reference
