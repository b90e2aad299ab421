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
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise {

// Elements that share a code.
inline constexpr std::int64_t kMxBlock = 32;

enum class MxFormat { kE4m3Fn, kE4m3Fnuz, kE2m1 };

// How the code follows from the block; docs/numerics.md says when they differ.
enum class MxRule {
  kExact,        // the smallest power of two s with a <= maximum * s
  kRoundedLog2,  // ceil(float32 log2(float32 a / maximum)), with log2 rounded correctly
  kFloor,        // floor(log2 a) - floor(log2 maximum); elements may saturate
  kEven,         // the exponent of a rounded to one fraction bit; elements may saturate
  kRoundUp,      // the power of two at or above float32 a * (1 / maximum)
};
inline constexpr MxRule kMxRules[] = {MxRule::kExact, MxRule::kRoundedLog2, MxRule::kFloor,
                                      MxRule::kEven, MxRule::kRoundUp};

// Blocks with a NaN or an infinity.
enum class MxNonFinite {
  kNanBlock,  // code 255 and NaN elements (e2m1 has no NaN: zeros)
  kSaturate,  // an infinity gives code 254 and +-maximum; a NaN still makes the block NaN
};

struct MxOptions {
  MxFormat format = MxFormat::kE4m3Fn;
  MxRule rule = MxRule::kExact;
  float maximum = 448.0f;  // above 0, at most the format's largest: 448, 240 or 6
  float amax_floor = 0x1p-126f;
  int smallest_code = 0;  // or 1
  MxNonFinite non_finite = MxNonFinite::kNanBlock;
  std::int64_t code_rows = 1;  // rows that share a code: 1, or 32 for square blocks
};

// The usual quantizer of a format: kExact, the format's largest value.
MxOptions DefaultMxOptions(MxFormat format);

// OK, or InvalidArgument naming the option, its value and what it may be.
absl::Status ValidateMxOptions(const MxOptions& options);

std::string_view MxFormatName(MxFormat format);            // "e4m3fn", "e4m3fnuz", "e2m1"
std::string_view MxRuleName(MxRule rule);                  // "exact", "rounded-log2", "floor", ...
std::string_view MxNonFiniteName(MxNonFinite non_finite);  // "nan-block", "saturate"

// Bytes of the elements of a row of k: k, or k / 2 (the even element in the low nibble).
constexpr std::int64_t MxRowBytes(MxFormat format, std::int64_t k) {
  return format == MxFormat::kE2m1 ? k / 2 : k;
}

enum class FloatType { kF32, kBf16, kF16 };

constexpr std::int64_t FloatBytes(FloatType type) { return type == FloatType::kF32 ? 4 : 2; }

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
// elements get MxRowBytes(k) bytes a row, codes k / 32 for each code_rows rows. InvalidArgument if
// k is not a multiple of 32, rows not one of code_rows, a span has another size than rows and k
// say, or an option is out of range. On one thread: rows can be dealt to several.
absl::StatusOr<MxError> QuantizeRows(std::span<const std::uint8_t> source, FloatType type,
                                     std::int64_t rows, std::int64_t k, const MxOptions& options,
                                     std::span<std::uint8_t> elements,
                                     std::span<std::uint8_t> codes);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_QUANTIZE_H_
