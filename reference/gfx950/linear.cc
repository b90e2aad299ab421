#include "reference/gfx950/linear.h"

#include <array>
#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "reference/block_codes.h"
#include "reference/require.h"

namespace lanewise::reference::gfx950 {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Shape = std::array<std::int64_t, 2>;

Bf16 Dequantized(std::uint8_t byte, std::uint8_t code) {
  return Bf16::FromFloat(E4m3Fn::FromBits(byte).ToFloat() * E8m0::FromBits(code).ToFloat());
}

bool Same(Bf16 a, Bf16 b) { return a.bits() == b.bits() || (a.IsNan() && b.IsNan()); }

// A byte that dequantizes to `w` under `code`, if there is one.
std::uint8_t Quantized(Bf16 w, std::uint8_t code) {
  if (code == 255) return 0x7F;
  return E4m3Fn::FromFloat(w.ToFloat() * std::ldexp(1.0f, 127 - code), Overflow::kSaturate).bits();
}

// Refuses row codes that are not [N, K / 32].
template <class T>
absl::Status CheckRowCodes(const Tensor<T, 2>& weight, const Bytes& row_codes) {
  if (absl::Status status = RequireMultiple(weight, "weight", 1, 32); !status.ok()) return status;
  return RequireShape(row_codes, "row codes", {weight.dimension(0), weight.dimension(1) / 32},
                      absl::StrCat("weight ", ShapeText(weight)));
}

}  // namespace

std::optional<Bytes> AsBlock32Scale(const Bytes& row_codes) {
  absl::StatusOr<Bytes> blocks = FoldRowCodes(row_codes);
  if (!blocks.ok()) return std::nullopt;
  return *blocks;
}

absl::StatusOr<LinearWeight> ProcessLinear(const Bytes& weight, const Bytes& scale,
                                           bool batch_invariant, const Checks& checks) {
  if (absl::Status status = RequireMultiple(weight, "weight", 1, 32); !status.ok()) return status;
  const std::int64_t rows = weight.dimension(0), columns = weight.dimension(1) / 32;
  if (scale.dimension(0) < rows || scale.dimension(1) < columns) {
    return absl::InvalidArgumentError(absl::StrCat("scale ", ShapeText(scale), ": expected [", rows,
                                                   ", ", columns, "] or more beside weight ",
                                                   ShapeText(weight)));
  }
  for (std::int64_t row = 0; checks.padding && row < scale.dimension(0); ++row) {
    for (std::int64_t column = 0; column < scale.dimension(1); ++column) {
      if ((row >= rows || column >= columns) && scale(row, column) != 0) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "scale[%d, %d] is %d (0x%02X): expected 0 outside of the [%d, %d] codes in use", row,
            column, scale(row, column), scale(row, column), rows, columns));
      }
    }
  }

  const Bytes row_codes = scale.slice(Shape{0, 0}, Shape{rows, columns});
  if (!batch_invariant) {
    std::optional<Bytes> blocks = AsBlock32Scale(row_codes);
    if (blocks) return LinearWeight{LinearKind::kBlockCodes, weight, *blocks};
  }
  if (weight.dimension(1) % 128 == 0) {
    return LinearWeight{LinearKind::kRowCodes, weight, row_codes};
  }
  absl::StatusOr<Tensor<Bf16, 2>> dequantized = Dequantize(weight, row_codes);
  if (!dequantized.ok()) return dequantized.status();
  return LinearWeight{LinearKind::kBf16, *dequantized, row_codes};
}

absl::StatusOr<Tensor<Bf16, 2>> Dequantize(const Bytes& weight, const Bytes& row_codes) {
  if (absl::Status status = CheckRowCodes(weight, row_codes); !status.ok()) return status;
  Tensor<Bf16, 2> w(weight.dimensions());
  for (std::int64_t row = 0; row < weight.dimension(0); ++row) {
    for (std::int64_t column = 0; column < weight.dimension(1); ++column) {
      w(row, column) = Dequantized(weight(row, column), row_codes(row, column / 32));
    }
  }
  return w;
}

absl::StatusOr<Bytes> UndoDequantize(const Tensor<Bf16, 2>& w, const Bytes& row_codes) {
  if (absl::Status status = CheckRowCodes(w, row_codes); !status.ok()) return status;
  Bytes bytes(w.dimensions());
  std::int64_t bad = 0;
  std::string first;
  for (std::int64_t row = 0; row < w.dimension(0); ++row) {
    for (std::int64_t column = 0; column < w.dimension(1); ++column) {
      const std::uint8_t code = row_codes(row, column / 32);
      bytes(row, column) = Quantized(w(row, column), code);
      if (Same(Dequantized(bytes(row, column), code), w(row, column))) continue;
      if (bad++ == 0) {
        first = absl::StrFormat("w[%d, %d] is %g (bf16 0x%04X) under code %d", row, column,
                                w(row, column).ToFloat(), w(row, column).bits(), code);
      }
    }
  }
  if (bad == 0) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(bad, " of ", w.size(), " values are not e4m3 x scale; the first: ", first));
}

}  // namespace lanewise::reference::gfx950
