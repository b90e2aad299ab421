#ifndef LANEWISE_REFERENCE_QUANTIZE_MX_H_
#define LANEWISE_REFERENCE_QUANTIZE_MX_H_

// Quantization of rows to a microscaling format and back. For a row x[0 .. K) and each block of 32:
//
//   amax    = max |x[k]|                                       k in the block
//   code    = BlockCode(amax, options)                         (block_code.h)
//   element = nearest-even(clamp(x[k] * 2^(127 - code), -maximum, +maximum))
//
// which stands for element * 2^(code - 127). The product by a power of two is exact wherever it
// matters: it can only lose bits below 2^-126, far under half of any format's smallest value.
// A block whose code is 255 has NaN elements (NanBits; e2m1 has no NaN and gets zeros), so that a
// reader that looks at the elements alone sees NaN as well. Blocks with a NaN or an infinity:
// NonFinite.
//
// Source: vLLM's mxfp8_e4m3_quantize and dequant_mxfp8_to_bf16 (as the gfx950 MXFP8 linear uses
// them), OCP MX v1.0 section 6.3.

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/quantize/options.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// A quantized matrix of `rows` x K.
struct Quantized {
  // 8-bit formats: [rows, K], a byte an element. e2m1: [rows, K / 2], the even k in the low nibble.
  Tensor<std::uint8_t, 2> elements;
  // [rows, K / 32], e8m0; of square blocks [rows / 32, K / 32].
  Tensor<std::uint8_t, 2> codes;
};

// Quantizes one block and returns its code. `elements` receives the bits of each element in a byte
// of its own (e2m1 too: nibbles unpacked). `options` must be valid.
std::uint8_t QuantizeBlock(std::span<const float, kBlockSize> x, const QuantizeOptions& options,
                           std::span<std::uint8_t, kBlockSize> elements);

// Quantizes `x` [rows, K]. InvalidArgument if K is not a multiple of 32 or `options` is not valid.
absl::StatusOr<Quantized> Quantize(const Tensor<float, 2>& x, const QuantizeOptions& options);
absl::StatusOr<Quantized> Quantize(const Tensor<Bf16, 2>& x, const QuantizeOptions& options);
absl::StatusOr<Quantized> Quantize(const Tensor<F16, 2>& x, const QuantizeOptions& options);

// The same with one code for 32 rows: amax is taken over blocks of 32 x 32, and codes are
// [rows / 32, K / 32]. InvalidArgument also if rows is not a multiple of 32.
absl::StatusOr<Quantized> QuantizeSquareBlocks(const Tensor<float, 2>& x,
                                               const QuantizeOptions& options);

// element * 2^(code - 127) as float32. Exact for every format here, subnormal results included;
// only a magnitude of 2^128 and more overflows, to infinity. Code 255 or a NaN element gives NaN.
// InvalidArgument if the shapes of elements and codes do not match, in either form of codes.
absl::StatusOr<Tensor<float, 2>> DequantizeToFloat(const Quantized& quantized,
                                                   ElementFormat format);

// The same rounded to bfloat16, nearest-even: the one rounding there is, because the float32
// product is exact. NaN is the quiet NaN 0x7FC0.
absl::StatusOr<Tensor<Bf16, 2>> DequantizeToBf16(const Quantized& quantized, ElementFormat format);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_MX_H_
