#ifndef LANEWISE_REFERENCE_MATRIX_CORE_RATIONAL_TWIN_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_RATIONAL_TWIN_H_

// The matrix instructions once more, for tests: one output element at a time, in exact numbers, the
// formulas of cdna3.h and cdna4.h in the order they stand there. It shares nothing with what it
// checks but the element formats.

#include <cstdint>
#include <vector>

#include "reference/matrix_core/instruction.h"

namespace lanewise {

// An element of A or B: its value, and its format's smallest normal exponent.
struct TwinElement {
  double value;
  int smallest_exponent;
};

// The element of these bits. Not of kF32.
TwinElement TwinDecode(OperandFormat format, std::uint32_t bits);

// One output element of a CDNA3 instruction, or of a chain of them: c + sum of a[k] b[k]. Float32
// bits.
std::uint32_t Cdna3Twin(OperandFormat format, const std::vector<TwinElement>& a,
                        const std::vector<TwinElement>& b, std::uint32_t c);

// The same of float32 operands, one fused multiply-add for each k. Both generations.
std::uint32_t FloatTwin(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t c);

// One rounding of the CDNA4 contract: RNE32(c + exact sum of a[k] b[k] * 2^exponent).
std::uint32_t Cdna4Twin(const std::vector<TwinElement>& a, const std::vector<TwinElement>& b,
                        int exponent, std::uint32_t c);

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_RATIONAL_TWIN_H_
