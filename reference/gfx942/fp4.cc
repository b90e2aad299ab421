#include "reference/gfx942/fp4.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

using Bytes = Tensor<std::uint8_t, 2>;
using Shape = std::array<std::int64_t, 2>;

// Columns [first, first + count) of every row.
Bytes Columns(const Bytes& rows, std::int64_t first, std::int64_t count) {
  return rows.slice(Shape{0, first}, Shape{rows.dimension(0), count});
}

// The two byte runs of every row or tile, one after the other. The first may be empty.
Bytes Beside(const Bytes& head, const Bytes& tail) {
  if (head.size() == 0) return tail;
  return head.concatenate(tail, 1);
}

// [rows, bytes] in and out; bytes is a multiple of 32.
Bytes LaneMajor(const Bytes& w, Way way) {
  const std::int64_t rows = w.dimension(0), bytes = w.dimension(1);
  const std::int64_t steps = bytes / 64, full = 64 * steps, rest = bytes - full;
  // [row, step, block, lane group, byte] -> [row, step, lane group, block, byte]
  const Bytes head = Rearranged(Columns(w, 0, full), Factors{rows, steps, 4, 4, 4},
                                Order{0, 1, 3, 2, 4}, Shape{rows, full}, way);
  if (rest == 0) return head;
  // [row, block, lane group, byte] -> [row, lane group, block, byte]
  const Bytes tail = Rearranged(Columns(w, full, rest), Factors{rows, 2, 4, 4}, Order{0, 2, 1, 3},
                                Shape{rows, rest}, way);
  return Beside(head, tail);
}

Bytes TileMajor(const Bytes& w) {
  const std::int64_t tiles = w.dimension(0) / 16, bytes = w.dimension(1);
  const std::int64_t steps = bytes / 64, full = 64 * steps, rest = bytes - full;
  // [tile, row, step, block, lane group, byte] -> [tile, step, lane group, row, block, byte]
  const Bytes head = Rearranged(Columns(w, 0, full), Factors{tiles, 16, steps, 4, 4, 4},
                                Order{0, 2, 4, 1, 3, 5}, Shape{tiles, 16 * full}, Way::kForward);
  if (rest == 0) return head;
  // [tile, row, block, lane group, byte] -> [tile, lane group, row, block, byte]
  const Bytes tail = Rearranged(Columns(w, full, rest), Factors{tiles, 16, 2, 4, 4},
                                Order{0, 3, 1, 2, 4}, Shape{tiles, 16 * rest}, Way::kForward);
  return Beside(head, tail);
}

// `w` as TileMajor gives it, [tiles, 16 * bytes]; returns [rows, bytes].
Bytes UndoTileMajor(const Bytes& w) {
  const std::int64_t tiles = w.dimension(0), bytes = w.dimension(1) / 16;
  const std::int64_t steps = bytes / 64, full = 64 * steps, rest = bytes - full;
  const Bytes head = Rearranged(Columns(w, 0, 16 * full), Factors{tiles, 16, steps, 4, 4, 4},
                                Order{0, 2, 4, 1, 3, 5}, Shape{16 * tiles, full}, Way::kBack);
  if (rest == 0) return head;
  const Bytes tail = Rearranged(Columns(w, 16 * full, 16 * rest), Factors{tiles, 16, 2, 4, 4},
                                Order{0, 3, 1, 2, 4}, Shape{16 * tiles, rest}, Way::kBack);
  return Beside(head, tail);
}

template <int kRank>
absl::Status CheckTiles(const Tensor<std::uint8_t, kRank>& w) {
  if (absl::Status status = RequireMultiple(w, "w", -2, 16); !status.ok()) return status;
  if (absl::Status status = RequireMultiple(w, "w", -1, 32); !status.ok()) return status;
  if (w.dimension(kRank - 1) == 0) {
    return absl::InvalidArgumentError(absl::StrCat("w ", ShapeText(w), ": rows without bytes"));
  }
  return absl::OkStatus();
}

bool LowIsNegativeZero(std::uint8_t byte) { return (byte & 0x0F) == 0x08; }
bool HighIsNegativeZero(std::uint8_t byte) { return (byte & 0xF0) == 0x80; }

}  // namespace

template <int kRank>
std::int64_t Fp4CountNegativeZero(const Tensor<std::uint8_t, kRank>& w) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < w.size(); ++i) {
    count += LowIsNegativeZero(w.data()[i]) + HighIsNegativeZero(w.data()[i]);
  }
  return count;
}

template <int kRank>
std::int64_t Fp4DropNegativeZero(Tensor<std::uint8_t, kRank>* w) {
  const std::int64_t count = Fp4CountNegativeZero(*w);
  for (std::int64_t i = 0; i < w->size(); ++i) {
    std::uint8_t& byte = w->data()[i];
    if (LowIsNegativeZero(byte)) byte &= 0xF0;
    if (HighIsNegativeZero(byte)) byte &= 0x0F;
  }
  return count;
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> Fp4LaneMajor(const Tensor<std::uint8_t, kRank>& w) {
  if (absl::Status status = RequireMultiple(w, "w", -1, 32); !status.ok()) return status;
  if (w.size() == 0) return w;
  return Reshaped(LaneMajor(AsRows(w), Way::kForward), w.dimensions());
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoFp4LaneMajor(const Tensor<std::uint8_t, kRank>& w) {
  if (absl::Status status = RequireMultiple(w, "w", -1, 32); !status.ok()) return status;
  if (w.size() == 0) return w;
  return Reshaped(LaneMajor(AsRows(w), Way::kBack), w.dimensions());
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> Fp4TileMajor(const Tensor<std::uint8_t, kRank>& w) {
  if (absl::Status status = CheckTiles(w); !status.ok()) return status;
  if (w.size() == 0) return w;
  return Reshaped(TileMajor(AsRows(w)), w.dimensions());
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoFp4TileMajor(const Tensor<std::uint8_t, kRank>& w) {
  if (absl::Status status = CheckTiles(w); !status.ok()) return status;
  if (w.size() == 0) return w;
  const Bytes rows = AsRows(w);
  const Bytes tiles = Reshaped(rows, Shape{rows.dimension(0) / 16, 16 * rows.dimension(1)});
  return Reshaped(UndoTileMajor(tiles), w.dimensions());
}

template std::int64_t Fp4CountNegativeZero(const Tensor<std::uint8_t, 2>& w);
template std::int64_t Fp4CountNegativeZero(const Tensor<std::uint8_t, 3>& w);
template std::int64_t Fp4DropNegativeZero(Tensor<std::uint8_t, 2>* w);
template std::int64_t Fp4DropNegativeZero(Tensor<std::uint8_t, 3>* w);
template absl::StatusOr<Tensor<std::uint8_t, 2>> Fp4LaneMajor(const Tensor<std::uint8_t, 2>& w);
template absl::StatusOr<Tensor<std::uint8_t, 3>> Fp4LaneMajor(const Tensor<std::uint8_t, 3>& w);
template absl::StatusOr<Tensor<std::uint8_t, 2>> UndoFp4LaneMajor(const Tensor<std::uint8_t, 2>& w);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoFp4LaneMajor(const Tensor<std::uint8_t, 3>& w);
template absl::StatusOr<Tensor<std::uint8_t, 2>> Fp4TileMajor(const Tensor<std::uint8_t, 2>& w);
template absl::StatusOr<Tensor<std::uint8_t, 3>> Fp4TileMajor(const Tensor<std::uint8_t, 3>& w);
template absl::StatusOr<Tensor<std::uint8_t, 2>> UndoFp4TileMajor(const Tensor<std::uint8_t, 2>& w);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoFp4TileMajor(const Tensor<std::uint8_t, 3>& w);

}  // namespace lanewise::reference::gfx942
