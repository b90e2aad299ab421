#ifndef LANEWISE_SEMANTICS_BLOCK_RULE_H_
#define LANEWISE_SEMANTICS_BLOCK_RULE_H_

// How a microscaling quantizer picks the e8m0 code of a block, which is where the kernels and
// libraries around these formats differ: the word that the reference, the code at speed and kernels
// share. docs/numerics.md says which quantizer has which rule and where two of them part.
//
//   for (const BlockRule rule : kBlockRules) {
//     if (BlockRuleName(rule) == flag) options.rule = rule;
//   }
//
// For host and device; includes nothing of this project.

#include <cstdint>
#include <string_view>

namespace lanewise {

// How the code follows from a = max(the block's largest magnitude, amax_floor). `max` is the
// magnitude that a block is scaled to, fl() is rounding to float32 nearest-even with subnormals
// kept, emax is floor(log2(max)). Every rule ends in a clamp to [smallest_code, 254].
enum class BlockRule : std::uint32_t {
  // The smallest power of two s with a <= max * s; integer arithmetic, no rounding anywhere. What
  // the other ceiling rules approximate.
  kExact,
  // ceil(fl(log2(fl(a / max)))) + 127: the float32 formula of vLLM's MXFP8 quantizers, with log2
  // rounded correctly. Where a is above max * 2^k by so little that the logarithm rounds to k, this
  // rule is 1 below kExact; everywhere else the two agree. With max = 448 that takes |k| >= 4; it
  // is at most 4 units in a's last place for k = -16 .. 15 and 39 anywhere
  // (reference/quantize/block_code.h has the exact bound). Real log2 implementations err in the
  // last place, so just there machines disagree.
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

inline constexpr BlockRule kBlockRules[] = {BlockRule::kExact,        //
                                            BlockRule::kRoundedLog2,  //
                                            BlockRule::kFloor,        //
                                            BlockRule::kEven,         //
                                            BlockRule::kRoundUp};

// As `lanewise quantize --rule` takes it.
constexpr std::string_view BlockRuleName(BlockRule rule) {
  switch (rule) {
    case BlockRule::kExact:
      return "exact";
    case BlockRule::kRoundedLog2:
      return "rounded-log2";
    case BlockRule::kFloor:
      return "floor";
    case BlockRule::kEven:
      return "even";
    case BlockRule::kRoundUp:
      return "round-up";
  }
  return "unknown";
}

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_BLOCK_RULE_H_
