#ifndef LANEWISE_WEIGHTS_QUANTIZE_H_
#define LANEWISE_WEIGHTS_QUANTIZE_H_

// Rows of floats to MXFP8 or MXFP4 at speed, with an account of the error. For each block of 32
// consecutive elements x of a row, or of 32 rows:
//
//   amax    = max |x|
//   code    = by the rule, from max(amax, amax_floor): an e8m0 code, the scale 2^(code - 127)
//   element = nearest-even(clamp(x * 2^(127 - code), -maximum, +maximum))
//
// The bytes are those of reference/quantize/mx.h, which defines every rule and the special cases;
// this is written apart from it.

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "semantics/block_rule.h"
#include "semantics/element_format.h"
#include "semantics/float_type.h"
#include "semantics/non_finite.h"

namespace lanewise {

// Elements that share a code.
inline constexpr std::int64_t kMxBlock = 32;

// One quantizer; docs/numerics.md says when two of them differ.
struct MxOptions {
  ElementFormat format = ElementFormat::kE4m3Fn;  // or kE4m3Fnuz, kE2m1
  BlockRule rule = BlockRule::kExact;
  float maximum = 448.0f;  // above 0, at most the format's largest: 448, 240 or 6
  float amax_floor = 0x1p-126f;
  int smallest_code = 0;  // or 1
  NonFinite non_finite = NonFinite::kNanBlock;
  std::int64_t code_rows = 1;  // rows that share a code: 1, or 32 for square blocks
};

// The usual quantizer of a format: kExact, the format's largest value.
MxOptions DefaultMxOptions(ElementFormat format);

// OK, or InvalidArgument naming the option, its value and what it may be.
absl::Status ValidateMxOptions(const MxOptions& options);

// What quantization changed: x the source's elements, y what stands for them, over all blocks but
// those that became NaN, which are counted apart. The sums are good to some six digits.
struct MxError {
  double largest = 0;       // max |x - y|, exact
  double error = 0;         // sum of (x - y)^2
  double size = 0;          // sum of x^2
  std::int64_t zeroed = 0;  // elements that were not zero and are now
  std::int64_t nan_blocks = 0;

  MxError& operator+=(const MxError& other);
};

// Quantizes `rows` rows of `k` elements of `type`, row-major and little-endian at any alignment:
// elements get ElementBytes(k) bytes a row, codes k / 32 for each code_rows rows. InvalidArgument if
// k is not a multiple of 32, rows not one of code_rows, a span has another size than rows and k
// say, or an option is out of range. On one thread: rows can be dealt to several.
absl::StatusOr<MxError> QuantizeRows(std::span<const std::uint8_t> source, FloatType type,
                                     std::int64_t rows, std::int64_t k, const MxOptions& options,
                                     std::span<std::uint8_t> elements,
                                     std::span<std::uint8_t> codes);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_QUANTIZE_H_
