#include "reference/gfx942/codes.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "reference/rearrange.h"
#include "reference/require.h"

namespace lanewise::reference::gfx942 {
namespace {

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> TileRounds(const Tensor<std::uint8_t, kRank>& codes,
                                                       std::int64_t blocks, Way way) {
  if (blocks < 1) {
    return absl::InvalidArgumentError(absl::StrCat("a round of ", blocks, " blocks"));
  }
  if (absl::Status status = RequireMultiple(codes, "codes", -1, blocks); !status.ok())
    return status;
  if (absl::Status status = RequireMultiple(codes, "codes", -2, 16); !status.ok()) return status;
  if (codes.size() == 0) return codes;
  const std::int64_t columns = codes.dimension(kRank - 1);
  const std::int64_t tiles = codes.size() / columns / 16;
  // [tile, row, round, block] -> [tile, round, row, block]
  return Rearranged(codes, Factors{tiles, 16, columns / blocks, blocks}, Order{0, 2, 1, 3},
                    codes.dimensions(), way);
}

}  // namespace

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> CodesTileRounds(
    const Tensor<std::uint8_t, kRank>& codes, std::int64_t blocks) {
  return TileRounds(codes, blocks, Way::kForward);
}

template <int kRank>
absl::StatusOr<Tensor<std::uint8_t, kRank>> UndoCodesTileRounds(
    const Tensor<std::uint8_t, kRank>& codes, std::int64_t blocks) {
  return TileRounds(codes, blocks, Way::kBack);
}

template absl::StatusOr<Tensor<std::uint8_t, 2>> CodesTileRounds(const Tensor<std::uint8_t, 2>&,
                                                                 std::int64_t);
template absl::StatusOr<Tensor<std::uint8_t, 3>> CodesTileRounds(const Tensor<std::uint8_t, 3>&,
                                                                 std::int64_t);
template absl::StatusOr<Tensor<std::uint8_t, 2>> UndoCodesTileRounds(const Tensor<std::uint8_t, 2>&,
                                                                     std::int64_t);
template absl::StatusOr<Tensor<std::uint8_t, 3>> UndoCodesTileRounds(const Tensor<std::uint8_t, 3>&,
                                                                     std::int64_t);

}  // namespace lanewise::reference::gfx942
