#ifndef LANEWISE_REFERENCE_QUANTIZE_ELEMENT_FORMAT_H_
#define LANEWISE_REFERENCE_QUANTIZE_ELEMENT_FORMAT_H_

// Encoding and decoding in a format that is known at run time, over the types of formats/formats.h.

#include <cstdint>

#include "semantics/element_format.h"

namespace lanewise::reference {

// The bits (low ElementBits of the byte) of the nearest value to `x`, ties to even, magnitudes
// above the largest finite value (infinities too) clamped to it. NaN gives NanBits(format).
std::uint8_t EncodeElement(ElementFormat format, float x);

// The exact value of an element's bits; NaN and infinities as the format has them.
float DecodeElement(ElementFormat format, std::uint8_t bits);

// The quiet NaN that this code writes: 0x7F (e4m3fn), 0x80 (the fnuz formats), 0x7F (e5m2); e2m1
// has none and gives 0.
std::uint8_t NanBits(ElementFormat format);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_QUANTIZE_ELEMENT_FORMAT_H_
