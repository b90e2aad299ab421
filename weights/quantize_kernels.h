#ifndef LANEWISE_WEIGHTS_QUANTIZE_KERNELS_H_
#define LANEWISE_WEIGHTS_QUANTIZE_KERNELS_H_

// What quantization does to the elements of a row, by the widest registers that there are.

#include <cstdint>

#include "weights/quantize.h"

namespace lanewise {

// Raises largest[b] to the bits of the largest magnitude of block b, for `blocks` blocks of 32
// elements. As integers, the bits of magnitudes ascend with the numbers, infinity and NaN above
// all.
void LargestMagnitudes(const std::uint8_t* source, FloatType type, std::int64_t blocks,
                       std::uint32_t* largest);

// Quantizes blocks whose codes are known, 255 included, and adds to the account.
void QuantizeElements(const std::uint8_t* source, FloatType type, ElementFormat format,
                      float maximum, std::int64_t blocks, const std::uint8_t* codes,
                      std::uint8_t* elements, MxError* error);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_QUANTIZE_KERNELS_H_
