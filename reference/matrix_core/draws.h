#ifndef LANEWISE_REFERENCE_MATRIX_CORE_DRAWS_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_DRAWS_H_

// Operands for tests of matrix instructions: random ones, and those made to hurt.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/matrix_core/instruction.h"
#include "reference/matrix_core/rational_twin.h"

namespace lanewise {

using Random = std::mt19937_64;

// What an instruction takes. Elements are codes in the low bits.
struct MatrixOperands {
  std::vector<std::uint32_t> a;  // [blocks][m][k]
  std::vector<std::uint32_t> b;  // [blocks][k][n]
  std::vector<std::uint32_t> c;  // [blocks][m][n]
  std::string what;              // how A and B were drawn
};

// Draws A and B in one of several ways (any bits; finite; near 1; subnormal; with products that
// underflow; sparse; pairs of products that cancel but for a few; one large among small; near
// overflow), and each element of C in another: zero, any bits, subnormal, an exponent up to 40 away
// from the largest product's, and, given what the instruction makes of these A and B with C = 0,
// its negative and an odd or even number of half last places. `scale_exponent` is what the products
// are multiplied by, for C's sake.
class OperandDraws {
 public:
  OperandDraws(const MatrixInstruction& instruction, OperandFormat a_format, OperandFormat b_format,
               std::uint64_t seed)
      : instruction_(instruction), a_format_(a_format), b_format_(b_format), random_(seed) {}

  // A and B, with C all +0.
  MatrixOperands DrawAAndB();

  // C, by the products of `operands` and by `d_of_zero_c` [blocks][m][n].
  void DrawC(MatrixOperands& operands, const std::vector<std::uint32_t>& d_of_zero_c,
             int scale_exponent = 0);

  // Below n.
  int Below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }

 private:
  std::uint32_t Code(OperandFormat format, int way);
  void Cancel(MatrixOperands& operands);
  std::uint32_t CElement(int top, std::uint32_t d_of_zero_c);

  MatrixInstruction instruction_;
  OperandFormat a_format_;
  OperandFormat b_format_;
  Random random_;
};

// The codes as the array that the instruction takes: elements of ElementBytes(format).
std::vector<std::uint8_t> Pack(OperandFormat format, const std::vector<std::uint32_t>& codes);

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_DRAWS_H_
