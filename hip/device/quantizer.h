#ifndef LANEWISE_HIP_DEVICE_QUANTIZER_H_
#define LANEWISE_HIP_DEVICE_QUANTIZER_H_

// Which microscaling quantizer a kernel is: plain data for host and device, so that it can be a
// kernel's argument. It says what reference/quantize/options.h says (semantics/block_rule.h states
// each rule); a kernel's bytes equal reference::Quantize's.

#include <cstdint>

#include "semantics/block_rule.h"
#include "semantics/element_format.h"
#include "semantics/non_finite.h"

namespace lanewise::hip {

// As reference::QuantizeOptions, but for the format, which a kernel is compiled for.
struct Quantizer {
  BlockRule rule = BlockRule::kExact;
  NonFinite non_finite = NonFinite::kNanBlock;
  float maximum = 448.0f;        // positive, normal, at most the format's largest value
  float amax_floor = 0x1p-126f;  // finite, 0 or more
  uint32_t smallest_code = 0;    // 0 or 1

  friend bool operator==(const Quantizer&, const Quantizer&) = default;
};

// Elements that share a scale.
inline constexpr int kBlockSize = 32;
// The code of a block that is not a number, and the largest of one that is.
inline constexpr uint32_t kNanCode = 255;
inline constexpr uint32_t kLargestCode = 254;

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_DEVICE_QUANTIZER_H_
