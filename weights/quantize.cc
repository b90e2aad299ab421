#include "weights/quantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "weights/quantize_kernels.h"

namespace lanewise {
namespace {

constexpr std::uint32_t kInfinityBits = 0x7F800000;
constexpr std::uint32_t kMagnitudeBits = 0x7FFFFFFF;
constexpr std::uint32_t kFractionBits = 0x007FFFFF;
constexpr int kLargestCode = 254;
constexpr std::uint8_t kNanCode = 255;

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float Float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// A positive float's bits as significand 2^(exponent - 23), the significand in [2^23, 2^24).
struct Parts {
  std::uint32_t significand;
  int exponent;
};

Parts PartsOf(std::uint32_t bits) {
  const std::uint32_t fraction = bits & kFractionBits;
  const int field = static_cast<int>(bits >> 23);
  if (field != 0) return {fraction | 0x800000, field - 127};
  const int shift = std::countl_zero(fraction) - 8;
  return {fraction << shift, -126 - shift};
}

// ceil of log2 in float32. Where |e| lies between 2^j and 2^(j + 1), the float32 above e is
// 2^(j - 23) away, so log2(2^e (1 + t 2^-23)) = e + t 2^-23 / ln 2 + ... rounds to e for
// t <= 2^(j - 1) ln 2. (reference/quantize/block_code.h has the proof.)
int CeilOfRoundedLog2(std::uint32_t bits) {
  const Parts x = PartsOf(bits);
  const auto t = static_cast<int>(x.significand - 0x800000);
  // The step above a negative e is the one toward zero: that of |e| - 1.
  const unsigned magnitude = x.exponent < 0 ? -x.exponent - 1 : x.exponent;
  const int j = static_cast<int>(std::bit_width(magnitude)) - 1;
  const int swallowed = j < 0 ? 0 : static_cast<int>(0.6931471805599453 * (1 << j) / 2);
  return x.exponent + (t > swallowed ? 1 : 0);
}

class CodeRule {
 public:
  explicit CodeRule(const MxOptions& options)
      : options_(options),
        floor_(Bits(options.amax_floor) & kMagnitudeBits),
        maximum_(PartsOf(Bits(options.maximum))),
        reciprocal_(1.0f / options.maximum) {}

  // The code of a block from the bits of its largest magnitude.
  std::uint8_t operator()(std::uint32_t amax) const {
    if (amax >= kInfinityBits) {
      const bool saturate = amax == kInfinityBits && options_.non_finite == NonFinite::kSaturate;
      return saturate ? static_cast<std::uint8_t>(kLargestCode) : kNanCode;
    }
    return static_cast<std::uint8_t>(
        std::clamp(Unclamped(std::max(amax, floor_)), options_.smallest_code, kLargestCode));
  }

 private:
  int Unclamped(std::uint32_t a) const {
    if (a == 0) return 0;
    switch (options_.rule) {
      case BlockRule::kExact: {
        const Parts parts = PartsOf(a);
        return 127 + parts.exponent - maximum_.exponent +
               (parts.significand > maximum_.significand ? 1 : 0);
      }
      case BlockRule::kRoundedLog2: {
        const std::uint32_t quotient = Bits(Float(a) / options_.maximum);
        return quotient == 0 ? 0 : 127 + CeilOfRoundedLog2(quotient);
      }
      case BlockRule::kFloor:
        return 127 + PartsOf(a).exponent - maximum_.exponent;
      case BlockRule::kEven:
        return static_cast<int>((a + 0x200000) >> 23) - maximum_.exponent;
      case BlockRule::kRoundUp: {
        const std::uint32_t v = Bits(Float(a) * reciprocal_);
        return static_cast<int>(v >> 23) + ((v & kFractionBits) != 0 ? 1 : 0);
      }
    }
    return 0;
  }

  MxOptions options_;
  std::uint32_t floor_;
  Parts maximum_;
  float reciprocal_;
};

}  // namespace

MxOptions DefaultMxOptions(ElementFormat format) {
  MxOptions options;
  options.format = format;
  options.maximum = LargestFinite(format);
  return options;
}

absl::Status ValidateMxOptions(const MxOptions& options) {
  if (options.format == ElementFormat::kE5m2 || options.format == ElementFormat::kE5m2Fnuz) {
    return InvalidArgument("the format is ", ElementFormatName(options.format),
                           ", expected e4m3fn, e4m3fnuz or e2m1");
  }
  const float largest = LargestFinite(options.format);
  if (!(options.maximum > 0.0f && options.maximum <= largest)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the maximum is ", options.maximum, ", expected above 0 and at most ", largest,
                     ", the largest element of ", AbslView(ElementFormatName(options.format))));
  }
  if (options.non_finite > NonFinite::kSaturate) {
    return InvalidArgument("the policy for what is not finite is ",
                           NonFiniteName(options.non_finite), ", not nan-block or saturate");
  }
  if (!(std::isfinite(options.amax_floor) && options.amax_floor >= 0.0f)) {
    return absl::InvalidArgumentError(absl::StrCat("the amax floor is ", options.amax_floor,
                                                   ", expected a finite number of 0 or more"));
  }
  if (options.smallest_code != 0 && options.smallest_code != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the smallest code is ", options.smallest_code, ", expected 0 or 1"));
  }
  if (options.code_rows != 1 && options.code_rows != kMxBlock) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.code_rows, " rows share a code, expected 1 or ", kMxBlock));
  }
  return absl::OkStatus();
}

MxError& MxError::operator+=(const MxError& other) {
  largest = std::max(largest, other.largest);
  error += other.error;
  size += other.size;
  zeroed += other.zeroed;
  nan_blocks += other.nan_blocks;
  return *this;
}

absl::StatusOr<MxError> QuantizeRows(std::span<const std::uint8_t> source, FloatType type,
                                     std::int64_t rows, std::int64_t k, const MxOptions& options,
                                     std::span<std::uint8_t> elements,
                                     std::span<std::uint8_t> codes) {
  if (absl::Status status = ValidateMxOptions(options); !status.ok()) return status;
  if (rows < 0 || k < 0 || k % kMxBlock != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        rows, " rows of ", k, " elements: k must be a multiple of the block size ", kMxBlock));
  }
  if (rows % options.code_rows != 0) {
    return absl::InvalidArgumentError(absl::StrCat(rows, " rows are not a multiple of the ",
                                                   options.code_rows, " that share a code"));
  }
  const auto expect = [](const char* what, std::int64_t size, std::int64_t expected) {
    if (size == expected) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(what, " have ", size, " bytes, expected ", expected));
  };
  const std::int64_t blocks = k / kMxBlock;
  const std::int64_t row_bytes = ElementBytes(options.format, k);
  absl::Status status = expect("the floats", std::ssize(source), rows * k * FloatBytes(type));
  status.Update(expect("the elements", std::ssize(elements), rows * row_bytes));
  status.Update(expect("the codes", std::ssize(codes), rows / options.code_rows * blocks));
  if (!status.ok()) return status;

  const CodeRule rule(options);
  MxError error;
  std::vector<std::uint32_t> largest(static_cast<std::size_t>(blocks));
  for (std::int64_t first = 0; first < rows; first += options.code_rows) {
    const auto row_of = [&](std::int64_t row) {
      return source.data() + row * k * FloatBytes(type);
    };
    std::fill(largest.begin(), largest.end(), 0);
    for (std::int64_t row = first; row < first + options.code_rows; ++row) {
      LargestMagnitudes(row_of(row), type, blocks, largest.data());
    }
    std::uint8_t* const row_codes = codes.data() + first / options.code_rows * blocks;
    for (std::int64_t block = 0; block < blocks; ++block) {
      row_codes[block] = rule(largest[block]);
      if (row_codes[block] == kNanCode) ++error.nan_blocks;
    }
    for (std::int64_t row = first; row < first + options.code_rows; ++row) {
      QuantizeElements(row_of(row), type, options.format, options.maximum, blocks, row_codes,
                       elements.data() + row * row_bytes, &error);
    }
  }
  return error;
}

}  // namespace lanewise
