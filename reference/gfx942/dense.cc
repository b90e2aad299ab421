#include "reference/gfx942/dense.h"

#include <array>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Shape = std::array<std::int64_t, 2>;

constexpr std::uint8_t kNegativeZero = 0x80;
// A padded block's scale: 1, raised by one.
constexpr std::uint8_t kPaddingCode = 128;

std::int64_t PaddedK(std::int64_t k) { return (k + 127) / 128 * 128; }

// [N, Kp] bytes between row-major order and the copy's.
Bytes Tiled(const Bytes& bytes, ChunkOrder order, Way way) {
  const std::int64_t tiles = bytes.dimension(0) / 16, steps = bytes.dimension(1) / 128;
  if (order == ChunkOrder::kNatural) {
    // [tile, row, step, half, block, lane group, byte]
    //   -> [tile, step, half, lane group, row, block, byte]
    return Rearranged(bytes, Factors{tiles, 16, steps, 2, 2, 4, 8}, Order{0, 2, 3, 5, 1, 4, 6},
                      bytes.dimensions(), way);
  }
  // As above with byte = [pair, odd] -> [odd, pair]
  return Rearranged(bytes, Factors{tiles, 16, steps, 2, 2, 4, 4, 2}, Order{0, 2, 3, 5, 1, 4, 7, 6},
                    bytes.dimensions(), way);
}

// `values` with columns of `padding` added, up to `columns`.
Bytes PaddedTo(const Bytes& values, std::int64_t columns, std::uint8_t padding) {
  Bytes padded(values.dimension(0), columns);
  padded.setConstant(padding);
  padded.slice(Shape{0, 0}, values.dimensions()) = values;
  return padded;
}

absl::Status CheckBlocks(const Bytes& w8, const Bytes& scale) {
  if (absl::Status status = RequireMultiple(w8, "w8", 0, 32); !status.ok()) return status;
  if (absl::Status status = RequireMultiple(w8, "w8", 1, 32); !status.ok()) return status;
  if (w8.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("w8 ", ShapeText(w8), " is empty"));
  }
  return RequireShape(scale, "scale", {w8.dimension(0) / 32, w8.dimension(1) / 32},
                      absl::StrCat("w8 ", ShapeText(w8)));
}

// Refuses the first element of `values` for which `is_bad` holds.
template <class Predicate>
absl::Status RefuseWhere(const Bytes& values, const char* name, Predicate is_bad, const char* why) {
  for (std::int64_t row = 0; row < values.dimension(0); ++row) {
    for (std::int64_t column = 0; column < values.dimension(1); ++column) {
      if (is_bad(row, column, values(row, column))) {
        return absl::InvalidArgumentError(absl::StrFormat("%s[%d, %d] is %d (0x%02X): %s", name,
                                                          row, column, values(row, column),
                                                          values(row, column), why));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<DenseCopied> DenseCopy(const Bytes& w8, const Bytes& scale, ChunkOrder order,
                                      const Checks& checks) {
  if (absl::Status status = CheckBlocks(w8, scale); !status.ok()) return status;
  const auto too_large = [](std::int64_t, std::int64_t, std::uint8_t code) {
    return code >= kFirstRefusedCode;
  };
  if (absl::Status status =
          RefuseWhere(scale, "scale", too_large, "a copy takes codes below 250 only");
      !status.ok()) {
    return status;
  }
  if (checks.nan_bytes) {
    const auto is_nan = [](std::int64_t, std::int64_t, std::uint8_t byte) {
      return (byte & 0x7F) == 0x7F;
    };
    if (absl::Status status =
            RefuseWhere(w8, "w8", is_nan, "an e4m3fn NaN, which FNUZ would read as +-240");
        !status.ok()) {
      return status;
    }
  }

  const std::int64_t columns = PaddedK(w8.dimension(1));
  DenseCopied copy;
  Bytes bytes = w8;
  for (std::int64_t i = 0; i < bytes.size(); ++i) {
    std::uint8_t& byte = bytes.data()[i];
    if (byte != kNegativeZero) continue;
    byte = 0;
    ++copy.negative_zeros;
  }
  copy.bytes = Tiled(PaddedTo(bytes, columns, 0), order, Way::kForward);
  const Bytes raised = scale + scale.constant(1);
  copy.codes = PaddedTo(raised, columns / 32, kPaddingCode);
  return copy;
}

absl::StatusOr<DenseWeight> UndoDenseCopy(const Bytes& bytes, const Bytes& codes, std::int64_t k,
                                          ChunkOrder order) {
  if (k <= 0 || k % 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("K = ", k, " is not a positive multiple of 32"));
  }
  const std::int64_t rows = bytes.dimension(0), columns = PaddedK(k);
  if (absl::Status status = RequireMultiple(bytes, "bytes", 0, 32); !status.ok()) return status;
  if (absl::Status status = RequireShape(bytes, "bytes", {rows, columns}, absl::StrCat("K = ", k));
      !status.ok()) {
    return status;
  }
  if (absl::Status status = RequireShape(codes, "codes", {rows / 32, columns / 32},
                                         absl::StrCat("bytes ", ShapeText(bytes)));
      !status.ok()) {
    return status;
  }

  const Bytes row_major = Tiled(bytes, order, Way::kBack);
  const auto not_copied_byte = [k](std::int64_t, std::int64_t column, std::uint8_t byte) {
    return byte == kNegativeZero || (column >= k && byte != 0);
  };
  const auto not_copied_code = [k](std::int64_t, std::int64_t column, std::uint8_t code) {
    return column >= k / 32 ? code != kPaddingCode : code == 0 || code > kFirstRefusedCode;
  };
  if (absl::Status status = RefuseWhere(row_major, "the copied weight", not_copied_byte,
                                        "a copy holds no 0x80, and zeros in its padding");
      !status.ok()) {
    return status;
  }
  if (absl::Status status = RefuseWhere(codes, "codes", not_copied_code,
                                        "a copy holds codes 1 to 250, and 128 in its padding");
      !status.ok()) {
    return status;
  }
  DenseWeight weight;
  weight.bytes = row_major.slice(Shape{0, 0}, Shape{rows, k});
  const Bytes kept = codes.slice(Shape{0, 0}, Shape{rows / 32, k / 32});
  weight.codes = kept - kept.constant(1);
  return weight;
}

}  // namespace lanewise::reference::gfx942
