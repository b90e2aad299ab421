#include "reference/quantize/tile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "formats/formats.h"
#include "reference/quantize/block_code.h"

namespace lanewise::reference {
namespace {

absl::Status CheckExtent(const TileExtent& extent) {
  if (extent.row0 < 0 || extent.column0 < 0 || extent.rows < 0 || extent.columns < 0) {
    return absl::InvalidArgumentError(absl::StrCat("tile of ", extent.rows, " x ", extent.columns,
                                                   " at (", extent.row0, ", ", extent.column0,
                                                   "): expected no negative number"));
  }
  if (extent.column0 % kBlockSize != 0 || extent.columns % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("tile columns ", extent.column0, " .. ", extent.column0 + extent.columns,
                     " do not begin and end at multiples of the block size ", kBlockSize));
  }
  return absl::OkStatus();
}

// The tile of x, zero outside.
Tensor<float, 2> LoadTile(const Tensor<float, 2>& x, const TileExtent& extent) {
  Tensor<float, 2> tile(extent.rows, extent.columns);
  tile.setZero();
  const std::int64_t rows = std::min(extent.rows, x.dimension(0) - extent.row0);
  const std::int64_t columns = std::min(extent.columns, x.dimension(1) - extent.column0);
  if (rows > 0 && columns > 0) {
    const std::array<std::int64_t, 2> from = {extent.row0, extent.column0};
    const std::array<std::int64_t, 2> to = {0, 0};
    const std::array<std::int64_t, 2> size = {rows, columns};
    tile.slice(to, size) = x.slice(from, size);
  }
  return tile;
}

Tensor<std::uint8_t, 2> PackNibbles(const Tensor<std::uint8_t, 2>& bits) {
  Tensor<std::uint8_t, 2> packed(bits.dimension(0), bits.dimension(1) / 2);
  for (std::int64_t row = 0; row < packed.dimension(0); ++row) {
    for (std::int64_t i = 0; i < packed.dimension(1); ++i) {
      packed(row, i) =
          PackE2m1(E2m1::FromBits(bits(row, 2 * i)), E2m1::FromBits(bits(row, 2 * i + 1)));
    }
  }
  return packed;
}

}  // namespace

absl::StatusOr<Quantized> QuantizeTile(const Tensor<float, 2>& x, const TileExtent& extent,
                                       const QuantizeOptions& options) {
  if (absl::Status status = ValidateQuantizeOptions(options); !status.ok()) return status;
  if (absl::Status status = CheckExtent(extent); !status.ok()) return status;
  const std::int64_t blocks = extent.columns / kBlockSize;
  const Tensor<float, 3> xb =
      LoadTile(x, extent).reshape(std::array<std::int64_t, 3>{extent.rows, blocks, kBlockSize});

  // Eigen's maximum() may drop a NaN, so the reduction says what a NaN does.
  const bool skip_nan = options.non_finite == NonFinite::kNanElements;
  const auto larger = [skip_nan](float a, float b) {
    if (skip_nan && std::isnan(b)) return a;
    return std::isnan(a) || a > b ? a : b;
  };
  Quantized result;
  result.codes.resize(extent.rows, blocks);
  Tensor<std::uint8_t, 3> bits(extent.rows, blocks, kBlockSize);
  for (std::int64_t row = 0; row < extent.rows; ++row) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      float amax = 0.0f;
      for (std::int64_t i = 0; i < kBlockSize; ++i) amax = larger(amax, std::fabs(xb(row, b, i)));
      const std::uint8_t code = BlockCode(amax, options);
      result.codes(row, b) = code;
      const float rescale = ElementScale(code, options);
      for (std::int64_t i = 0; i < kBlockSize; ++i) {
        const float scaled = std::clamp(xb(row, b, i) * rescale, -options.maximum, options.maximum);
        bits(row, b, i) =
            code == kNanCode ? NanBits(options.format) : EncodeElement(options.format, scaled);
      }
    }
  }
  const Tensor<std::uint8_t, 2> flat =
      bits.reshape(std::array<std::int64_t, 2>{extent.rows, extent.columns});
  result.elements = ElementBits(options.format) == 4 ? PackNibbles(flat) : flat;
  return result;
}

}  // namespace lanewise::reference
