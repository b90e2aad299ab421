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
};

constexpr std::string_view NonFiniteName(NonFinite policy) {
  switch (policy) {
    case NonFinite::kNanBlock:
      return "nan-block";
    case NonFinite::kSaturate:
      return "saturate";
  }
  return "unknown";
}

}  // namespace lanewise

#endif  // LANEWISE_SEMANTICS_NON_FINITE_H_
