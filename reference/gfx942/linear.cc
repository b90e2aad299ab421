#include "reference/gfx942/linear.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "reference/block_codes.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;

// 2^(127 - code): what a dequantized value is multiplied with to get its e4m3 value back.
float Multiplier(std::uint8_t code) { return std::ldexp(1.0f, 127 - code); }

E4m3Fn Quotient(Bf16 w, std::uint8_t code) {
  return E4m3Fn::FromFloat(w.ToFloat() * Multiplier(code));
}

Bf16 Dequantized(E4m3Fn q, std::uint8_t code) {
  return Bf16::FromFloat(q.ToFloat() / Multiplier(code));
}

// Refuses a weight [N, K] whose codes are not [N / 32, K / 32] with N and K multiples of 32.
template <class T>
absl::Status CheckBlocks(const Tensor<T, 2>& w, const Bytes& scale) {
  if (absl::Status status = RequireMultiple(w, "w", 0, 32); !status.ok()) return status;
  if (absl::Status status = RequireMultiple(w, "w", 1, 32); !status.ok()) return status;
  return RequireShape(scale, "scale", {w.dimension(0) / 32, w.dimension(1) / 32},
                      absl::StrCat("w ", ShapeText(w)));
}

// Block codes as they are, row codes folded.
template <class T>
absl::StatusOr<Bytes> BlockCodes(const Tensor<T, 2>& w, const Bytes& scale) {
  const bool are_row_codes =
      scale.dimension(0) == w.dimension(0) && scale.dimension(1) == w.dimension(1) / 32;
  if (are_row_codes) return FoldRowCodes(scale);
  return scale;
}

}  // namespace

absl::StatusOr<Bytes> OcpFromDequant(const Tensor<Bf16, 2>& w, const Bytes& scale) {
  if (absl::Status status = CheckBlocks(w, scale); !status.ok()) return status;
  Bytes bytes(w.dimensions());
  std::int64_t bad = 0;
  std::string first;
  for (std::int64_t row = 0; row < w.dimension(0); ++row) {
    for (std::int64_t column = 0; column < w.dimension(1); ++column) {
      const Bf16 value = w(row, column);
      const std::uint8_t code = scale(row / 32, column / 32);
      const E4m3Fn q = Quotient(value, code);
      bytes(row, column) = q.bits();
      const Bf16 back = Dequantized(q, code);
      if (back.ToFloat() == value.ToFloat()) continue;
      if (bad++ == 0) {
        first = absl::StrFormat("w[%d, %d] is %g (bf16 0x%04X), under code %d e4m3 gives %g", row,
                                column, value.ToFloat(), value.bits(), code, back.ToFloat());
      }
    }
  }
  if (bad == 0) return bytes;
  return absl::InvalidArgumentError(
      absl::StrCat(bad, " of ", w.size(), " values are not e4m3 x scale; the first: ", first));
}

absl::StatusOr<Tensor<Bf16, 2>> UndoOcpFromDequant(const Bytes& bytes, const Bytes& scale) {
  if (absl::Status status = CheckBlocks(bytes, scale); !status.ok()) return status;
  Tensor<Bf16, 2> w(bytes.dimensions());
  for (std::int64_t row = 0; row < bytes.dimension(0); ++row) {
    for (std::int64_t column = 0; column < bytes.dimension(1); ++column) {
      w(row, column) =
          Dequantized(E4m3Fn::FromBits(bytes(row, column)), scale(row / 32, column / 32));
    }
  }
  return w;
}

absl::StatusOr<DenseCopied> LinearCopy(const Tensor<Bf16, 2>& w, const Bytes& scale,
                                       const Checks& checks) {
  absl::StatusOr<Bytes> blocks = BlockCodes(w, scale);
  if (!blocks.ok()) return blocks.status();
  absl::StatusOr<Bytes> w8 = OcpFromDequant(w, *blocks);
  if (!w8.ok()) return w8.status();
  return DenseCopy(*w8, *blocks, ChunkOrder::kNatural, checks);
}

absl::StatusOr<DenseCopied> LinearCopy(const Bytes& w8, const Bytes& scale, const Checks& checks) {
  absl::StatusOr<Bytes> blocks = BlockCodes(w8, scale);
  if (!blocks.ok()) return blocks.status();
  return DenseCopy(w8, *blocks, ChunkOrder::kNatural, checks);
}

}  // namespace lanewise::reference::gfx942
