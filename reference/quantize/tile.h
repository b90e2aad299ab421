#ifndef LANEWISE_REFERENCE_QUANTIZE_TILE_H_
#define LANEWISE_REFERENCE_QUANTIZE_TILE_H_

// Quantization inside a GEMM: a program quantizes the [BLOCK_M, BLOCK_K] tile of the activation
// that it is about to multiply. Written as the tile operation is (reshape, reduce, scale), apart
// from Quantize in mx.h, whose bytes it must equal: blocks lie along K and a tile holds whole
// blocks, so where the tile was cut cannot matter.
//
// Source: vLLM's _quant_mxfp8_tile of the gfx950 MXFP8 linear, with the block rule as a parameter.

#include <cstdint>

#include "absl/status/statusor.h"
#include "reference/quantize/mx.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// A tile of an activation: rows row0 .. row0 + rows of x, columns column0 .. column0 + columns.
struct TileExtent {
  std::int64_t row0;
  std::int64_t column0;
  std::int64_t rows;
  std::int64_t columns;
};

// The tile of `x` [M, K], quantized: elements [rows, columns] (e2m1: packed, [rows, columns / 2])
// and codes [rows, columns / 32]. What the tile reaches past M or K is read as zero.
// InvalidArgument if column0 or columns is not a multiple of 32, an extent is negative, or
// `options` is not valid.
absl::StatusOr<Quantized> QuantizeTile(const Tensor<float, 2>& x, const TileExtent& extent,
                                       const QuantizeOptions& options);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_TILE_H_
