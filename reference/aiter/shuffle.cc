#include "reference/aiter/shuffle.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::aiter {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Shape = std::array<std::int64_t, 2>;

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> Weight16x16(const Tensor<std::uint8_t, kRank>& w,
                                                        Way way) {
  if (absl::Status status = RequireMultiple(w, "w", -2, 16); !status.ok()) return status;
  if (absl::Status status = RequireMultiple(w, "w", -1, 32); !status.ok()) return status;
  if (w.size() == 0) return w;
  const std::int64_t bytes = w.dimension(kRank - 1), groups = w.size() / bytes / 16;
  // [row group, row, block, byte] -> [row group, block, row, byte]
  return Rearranged(w, Factors{groups, 16, bytes / 16, 16}, Order{0, 2, 1, 3}, w.dimensions(), way);
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> E8m0(const Tensor<std::uint8_t, kRank>& codes,
                                                 Way way) {
  if (absl::Status status = RequireMultiple(codes, "codes", -1, 8); !status.ok()) return status;
  const Bytes flat = AsRows(codes);
  if (absl::Status status = RequireMultiple(flat, "codes as rows", 0, 32); !status.ok()) {
    return status;
  }
  // [row block, row half, row, column step, column half, column]
  //   -> [row block, column step, column, row, column half, row half]
  return Rearranged(codes, Factors{flat.dimension(0) / 32, 2, 16, flat.dimension(1) / 8, 2, 4},
                    Order{0, 3, 5, 2, 4, 1}, codes.dimensions(), way);
}

// The smallest multiple of `step` that is not below `size`.
std::int64_t RoundedUp(std::int64_t size, std::int64_t step) {
  return (size + step - 1) / step * step;
}

}  // namespace

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> ShuffleWeight16x16(
    const Tensor<std::uint8_t, kRank>& w) {
  return Weight16x16(w, Way::kForward);
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoShuffleWeight16x16(
    const Tensor<std::uint8_t, kRank>& w) {
  return Weight16x16(w, Way::kBack);
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> E8m0Shuffle(const Tensor<std::uint8_t, kRank>& codes) {
  return E8m0(codes, Way::kForward);
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoE8m0Shuffle(
    const Tensor<std::uint8_t, kRank>& codes) {
  return E8m0(codes, Way::kBack);
}

Bytes PadE8m0(const Bytes& codes) {
  const std::int64_t rows = codes.dimension(0), columns = codes.dimension(1);
  Bytes padded(RoundedUp(rows, 256), RoundedUp(columns, 8));
  padded.setZero();
  padded.slice(Shape{0, 0}, Shape{rows, columns}) = codes;
  return padded;
}

absl::StatusOr<Bytes> UndoPadE8m0(const Bytes& padded, std::int64_t rows, std::int64_t columns) {
  if (rows < 0 || columns < 0) {
    return absl::InvalidArgumentError(absl::StrCat("codes of [", rows, ", ", columns, "]"));
  }
  const std::string beside = absl::StrCat("codes of [", rows, ", ", columns, "]");
  if (absl::Status status = RequireShape(
          padded, "padded codes", Shape{RoundedUp(rows, 256), RoundedUp(columns, 8)}, beside);
      !status.ok()) {
    return status;
  }
  for (std::int64_t row = 0; row < padded.dimension(0); ++row) {
    for (std::int64_t column = 0; column < padded.dimension(1); ++column) {
      if ((row >= rows || column >= columns) && padded(row, column) != 0) {
        return absl::InvalidArgumentError(
            absl::StrFormat("padded codes [%d, %d] is 0x%02X: expected padding 0x00", row, column,
                            padded(row, column)));
      }
    }
  }
  return Bytes(padded.slice(Shape{0, 0}, Shape{rows, columns}));
}

template absl::StatusOr<Tensor<std::uint8_t, 2>> ShuffleWeight16x16(const Tensor<std::uint8_t, 2>&);
template absl::StatusOr<Tensor<std::uint8_t, 3>> ShuffleWeight16x16(const Tensor<std::uint8_t, 3>&);
template absl::StatusOr<Tensor<std::uint8_t, 2>> UndoShuffleWeight16x16(
    const Tensor<std::uint8_t, 2>&);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoShuffleWeight16x16(
    const Tensor<std::uint8_t, 3>&);
template absl::StatusOr<Tensor<std::uint8_t, 2>> E8m0Shuffle(const Tensor<std::uint8_t, 2>&);
template absl::StatusOr<Tensor<std::uint8_t, 3>> E8m0Shuffle(const Tensor<std::uint8_t, 3>&);
template absl::StatusOr<Tensor<std::uint8_t, 2>> UndoE8m0Shuffle(const Tensor<std::uint8_t, 2>&);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoE8m0Shuffle(const Tensor<std::uint8_t, 3>&);

}  // namespace lanewise::reference::aiter
