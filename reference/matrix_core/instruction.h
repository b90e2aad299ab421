#ifndef LANEWISE_REFERENCE_MATRIX_CORE_INSTRUCTION_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_INSTRUCTION_H_

// What a matrix instruction multiplies: D[m][n] = C[m][n] + sum over k of A[m][k] B[k][n], with
// float32 C and D. How it rounds is cdna3.h's and cdna4.h's; which lane holds which element is
// layouts/'s.

#include <cstdint>
#include <span>
#include <string_view>

namespace lanewise {

// The element formats of A and B. The first five are in the order of the cbsz and blgp modifiers of
// the f8f6f4 instructions (0 to 4).
enum class OperandFormat : std::uint8_t {
  kE4m3Fn = 0,
  kE5m2 = 1,
  kE2m3 = 2,
  kE3m2 = 3,
  kE2m1 = 4,
  kE4m3Fnuz,
  kE5m2Fnuz,
  kBf16,
  kF16,
  kF32,
  // Not a format: one of the first five, chosen by each use of the instruction.
  kF8f6f4,
};

// One matrix instruction. Blocks are independent products with operands of their own.
struct MatrixInstruction {
  std::string_view name;  // the assembler's mnemonic
  int m;
  int n;
  int k;
  OperandFormat a;
  OperandFormat b;
  int blocks = 1;
};

// Bytes of one element in the arrays that Execute() takes: formats below 8 bits stand one to a
// byte, in its low bits.
constexpr int ElementBytes(OperandFormat format) {
  switch (format) {
    case OperandFormat::kF32:
      return 4;
    case OperandFormat::kBf16:
    case OperandFormat::kF16:
      return 2;
    default:
      return 1;
  }
}

// The instruction of that mnemonic, or null.
constexpr const MatrixInstruction* FindInstruction(std::span<const MatrixInstruction> instructions,
                                                   std::string_view name) {
  for (const MatrixInstruction& instruction : instructions) {
    if (instruction.name == name) return &instruction;
  }
  return nullptr;
}

// What every instruction here gives for a NaN. The hardware's payload is not known.
inline constexpr std::uint32_t kCanonicalNan = 0x7FC00000;

}  // namespace lanewise

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_INSTRUCTION_H_
