#ifndef LANEWISE_TOOLS_INSPECT_ELEMENT_COUNTS_H_
#define LANEWISE_TOOLS_INSPECT_ELEMENT_COUNTS_H_

#include <cstdint>
#include <optional>
#include <span>

#include "checkpoint/safetensors/dtype.h"

namespace lanewise::tools {

// What a tensor's elements are, as far as it matters to a preparation.
struct ElementCounts {
  // Of floating-point elements.
  std::int64_t nans = 0;
  std::int64_t infs = 0;
  std::int64_t negative_zeros = 0;
  // Of E8M0 codes: the least and the greatest, 255 (NaN) aside; none if all are 255.
  std::optional<int> least_code, greatest_code;
  std::int64_t nan_codes = 0;
};

// Whether elements of this type are floating-point or codes, so that there is something to count.
bool IsCounted(DType dtype);

// Counts the elements of `bytes`, which hold whole elements of `dtype`; of other types nothing.
// Types below a byte are packed without gaps, the first element in the lowest bits.
ElementCounts CountElements(DType dtype, std::span<const std::uint8_t> bytes);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_INSPECT_ELEMENT_COUNTS_H_
