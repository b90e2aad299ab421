#ifndef LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_
#define LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_

// What a microscaling (MX) quantizer is: blocks of 32 consecutive elements of a row share one e8m0
// code, an element is stored as nearest-even(x * 2^(127 - code)) in a narrow format. The kernels
// and libraries around these formats differ in how the code follows from the block; every
// difference is a parameter here. semantics/block_rule.h states the rules.

#include <cstdint>

#include "absl/status/status.h"
#include "reference/quantize/element_format.h"
#include "semantics/block_rule.h"
#include "semantics/non_finite.h"

namespace lanewise::reference {

// Elements that share a block scale, in OCP MX and in everything here.
inline constexpr std::int64_t kBlockSize = 32;

// The e8m0 code of a block that is not a number.
inline constexpr std::uint8_t kNanCode = 255;

// The largest code of a finite scale, 2^127.
inline constexpr std::uint8_t kLargestCode = 254;

// One quantizer. The defaults are MXFP8 for OCP e4m3.
struct QuantizeOptions {
  BlockRule rule = BlockRule::kExact;
  ElementFormat format = ElementFormat::kE4m3Fn;
  // The magnitude that the rule scales a block to and that elements are clamped to: 448 for
  // e4m3fn, 240 or 224 for e4m3fnuz, 6 for e2m1. Positive, at most the format's largest value.
  float maximum = 448.0f;
  // Blocks smaller than this are scaled as if they reached it: 2^-126 (vLLM), 0 (OCP, AITER) or
  // 1e-10 (AITER's MoE kernels).
  float amax_floor = 0x1p-126f;
  // 0, or 1 for kernels that build 2^(code - 127) from exponent bits and have no subnormal.
  int smallest_code = 0;
  NonFinite non_finite = NonFinite::kNanBlock;

  bool operator==(const QuantizeOptions&) const = default;
};

// The usual quantizer of a format: kExact, the format's largest value as maximum, floor 2^-126.
QuantizeOptions DefaultQuantizeOptions(ElementFormat format);

// OK, or InvalidArgument naming the option, its value and what it may be: maximum in (0, largest
// value of the format], amax_floor finite and not negative, smallest_code 0 or 1.
absl::Status ValidateQuantizeOptions(const QuantizeOptions& options);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_
