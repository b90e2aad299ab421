#ifndef LANEWISE_REFERENCE_QUANTIZE_ELEMENT_FORMAT_H_
#define LANEWISE_REFERENCE_QUANTIZE_ELEMENT_FORMAT_H_

// The element formats of a quantized tensor as a run-time value, over the types of
// formats/formats.h.

#include <cstdint>
#include <string_view>

namespace lanewise::reference {

enum class ElementFormat { kE4m3Fn, kE4m3Fnuz, kE5m2, kE5m2Fnuz, kE2m1 };

// "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e2m1".
std::string_view ElementFormatName(ElementFormat format);

// Storage of one element: 8, or 4 for e2m1 (two a byte, the even element in the low nibble).
int ElementBits(ElementFormat format);

// The largest finite value: 448, 240, 57344, 57344, 6.
float LargestFinite(ElementFormat format);

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
