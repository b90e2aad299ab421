#ifndef LANEWISE_WEIGHTS_DEQUANTIZE_H_
#define LANEWISE_WEIGHTS_DEQUANTIZE_H_

// Rows of MXFP8 or MXFP4 back to floats at speed. For every element e of a block with the e8m0 code
// c:
//
//   y = e * 2^(c - 127)        rounded once, nearest-even, to the type of the result
//
// In float32 y is exact, subnormals included; only magnitudes of 2^128 and more overflow, to
// infinity. A code of 255 and a NaN element give the quiet NaN (0x7FC00000, 0x7FC0). An infinity of
// e5m2 stays one. The values are those of reference/quantize/mx.h; this is written apart from it.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "semantics/element_format.h"
#include "semantics/float_type.h"

namespace lanewise {

// How many rows and columns one code stands for; the last blocks of a matrix may be cut off.
struct MxCodeBlock {
  std::int64_t rows = 1;
  std::int64_t columns = 32;

  std::int64_t Rows(std::int64_t n) const { return (n + rows - 1) / rows; }
  std::int64_t Columns(std::int64_t k) const { return (k + columns - 1) / columns; }
};

// Writes rows x k values of `to` (kF32 or kBf16), row-major and little-endian at any alignment,
// from as many elements, row-major, and block.Rows(rows) x block.Columns(k) codes. InvalidArgument
// if a span has another size than that, a size is negative, a block's is below 1, e2m1 has an odd k
// or odd block columns, or `to` is kF16. On one thread: rows can be dealt to several, in multiples
// of block.rows.
absl::Status DequantizeRows(std::span<const std::uint8_t> elements, ElementFormat element,
                            std::int64_t rows, std::int64_t k, MxCodeBlock block,
                            std::span<const std::uint8_t> codes, FloatType to,
                            std::span<std::uint8_t> values);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_DEQUANTIZE_H_
