#ifndef LANEWISE_SEMANTICS_NON_FINITE_H_
#define LANEWISE_SEMANTICS_NON_FINITE_H_

// What a microscaling quantizer makes of a block with a NaN or an infinity: the word that the
// reference, the code at speed and kernels share. For host and device; includes nothing of ours.

#include <cstdint>
#include <string_view>

namespace lanewise {

enum class NonFinite : std::uint32_t {
  // Code 255 and NaN elements, for either. (e2m1 has no NaN: zeros.)
  kNanBlock,
  // Infinities are the largest magnitude there is: code 254, elements of +-maximum, and the
  // finite elements beside them scaled by 2^-127. A NaN still makes the block NaN.
  kSaturate,
  // An infinity makes the code 254 and the multiplier 0: it becomes a NaN element (0 * Inf), what is
  // beside it zeros of their signs. A NaN is a NaN element and does not count for the code. vLLM's
  // Triton quantizer on gfx950. Not for e2m1, which has no NaN.
  kNanElements,
  // The same, but a NaN too makes the code 254 and the multiplier 0. The activation quantizers of
  // the decode steps (DeepSeek V4.1 mono), dense and routed. Not for e2m1.
  kNanTopCode,
};

constexpr std::string_view NonFiniteName(NonFinite policy) {
  switch (policy) {
    case NonFinite::kNanBlock:
      return "nan-block";
    case NonFinite::kSaturate:
      return "saturate";
    case NonFinite::kNanElements:
      return "nan-elements";
    case NonFinite::kNanTopCode:
      return "nan-top-code";
  }
  return "unknown";
}

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_NON_FINITE_H_
