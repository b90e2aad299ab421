#ifndef LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_
#define LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_

// What a microscaling (MX) quantizer is: blocks of 32 consecutive elements of a row share one e8m0
// code, an element is stored as nearest-even(x * 2^(127 - code)) in a narrow format. The kernels
// and libraries around these formats differ in how the code follows from the block; every
// difference is a parameter here.

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "reference/quantize/element_format.h"

namespace lanewise::reference {

// Elements that share a block scale, in OCP MX and in everything here.
inline constexpr std::int64_t kBlockSize = 32;

// The e8m0 code of a block that is not a number.
inline constexpr std::uint8_t kNanCode = 255;

// The largest code of a finite scale, 2^127.
inline constexpr std::uint8_t kLargestCode = 254;

// How the code follows from a = max(the block's largest magnitude, amax_floor). `max` is
// QuantizeOptions::maximum, fl() is rounding to float32 nearest-even with subnormals kept, emax is
// floor(log2(max)). Every rule ends in a clamp to [smallest_code, 254].
enum class BlockRule {
  // The smallest power of two s with a <= max * s; integer arithmetic, no rounding anywhere. What
  // the other ceiling rules approximate.
  kExact,
  // ceil(fl(log2(fl(a / max)))) + 127: the float32 formula of vLLM's MXFP8 quantizers, with log2
  // rounded correctly. Where a is above max * 2^k by so little that the logarithm rounds to k, this
  // rule is 1 below kExact; everywhere else the two agree. With max = 448 that takes |k| >= 4; it
  // is
  // at most 4 units in a's last place for k = -16 .. 15 and 39 anywhere (block_code.h has the exact
  // bound). Real log2 implementations err in the last place, so just there machines disagree.
  kRoundedLog2,
  // floor(log2(a)) - emax + 127: OCP MX v1.0, section 6.3. Elements may exceed max; they saturate.
  kFloor,
  // exponent(bits(a) + 0x200000) - emax, the exponent field of a after rounding its significand to
  // one fraction bit, half up: AITER's rule, for FP4 and FP8 alike. (torchao's EVEN rounds to
  // the element's own fraction bits and equals this for e2m1 only.) Elements may exceed max.
  kEven,
  // v = fl(a * fl(1 / max)), then the exponent field of v plus one where its fraction is not zero:
  // AITER's and torchao's "round up", in use for FP4 and for gfx942's MoE activations. Equal to
  // kExact for the maxima 448, 240, 224 and 6 but for subnormal v, which always give 1.
  kRoundUp,
};

// What a block with a NaN or an infinity becomes.
enum class NonFinite {
  // Code 255 and NaN elements, for either.
  kNanBlock,
  // Infinities are the largest magnitude there is: code 254, elements of +-maximum, and the
  // finite elements beside them scaled by 2^-127. A NaN still makes the block NaN.
  kSaturate,
};

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

// "exact", "rounded-log2", "floor", "even", "round-up".
std::string_view BlockRuleName(BlockRule rule);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_OPTIONS_H_
