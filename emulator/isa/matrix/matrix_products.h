#ifndef LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_PRODUCTS_H_
#define LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_PRODUCTS_H_

// Matrix products of shapes that reference/matrix_core/ does not list as instructions.

#include <cstdint>
#include <vector>

#include "emulator/arch.h"
#include "emulator/isa/matrix/matrix_operands.h"
#include "reference/matrix_core/instruction.h"

namespace lanewise::emulator {

// c [blocks][m][n] += a [blocks][m][k] b [blocks][k][n], c in float32 bits, by the chip's reference
// step over all k: gfx942 8 (fp8: 16) products at a time, the last step filled up with zeros;
// gfx950 all products exactly, rounded once. Formats: halves, bf16, and the chip's own fp8 and bf8.
void AddProducts(Arch arch, const MatrixShape& shape, OperandFormat a_format,
                 OperandFormat b_format, const std::vector<uint8_t>& a,
                 const std::vector<uint8_t>& b, std::vector<uint32_t>& c);

// The same for signed bytes and 32-bit integers, exact but for the cut to 32 bits.
void AddIntegerProducts(const MatrixShape& shape, const std::vector<uint8_t>& a,
                        const std::vector<uint8_t>& b, std::vector<uint32_t>& c);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_ISA_MATRIX_MATRIX_PRODUCTS_H_
