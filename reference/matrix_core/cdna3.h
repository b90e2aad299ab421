#ifndef LANEWISE_REFERENCE_MATRIX_CORE_CDNA3_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_CDNA3_H_

// The arithmetic of gfx942's matrix instructions, bit for bit.
//
// Source: the model of arXiv 2511.10909, as its reference code states it. Notation: ex(x) is
// max(floor(log2|x|), smallest normal exponent of x's format), so subnormals count at that exponent
// and none is flushed; a zero c has ex = -126. TZ(x, n) and FL(x, n) take x to a multiple of 2^n,
// toward zero and toward minus infinity. A product is exact, its exponent is ex(a) + ex(b), and
// zero products have no exponent.
//
//   bf16 and f16, 8 products a step:
//     a product of magnitude 2^128 or more is Inf
//     ed = max exponent, t = sum of TZ(p, ed - 24), E = max(ed, ex(c))
//     s = FL(t, E - 32) + FL(c, E - 24)
//     s = FL(s, max(floor(log2|s|), -126) - 31)
//     d = s rounded to float32, nearest-even
//   fp8 and bf8 (FNUZ), 16 products a step, those of even k and of odd k apart:
//     e_g = max exponent of group g, t_g = sum of TZ(p, e_g - 24), ed = max(e_0, e_1)
//     t = FL(t_0, ed - 24) + FL(t_1, ed - 24), E = max(ed, ex(c))
//     s = FL(t, E - 32) + (ex(c) < E - 25 ? 0 : FL(c, E - 24)), then as above
//   f32: one fused multiply-add a step, nearest-even (here too, -0 plus -0 is +0).
//
// Steps go in ascending k, each one's d the next one's c. So a chain of instructions over ascending
// k is one chain of steps, and the shape (16x16x32 or 32x32x16) does not show in the result.
//
// Any NaN, Inf * 0 and Inf - Inf give NaN: here always 0x7FC00000, the hardware's payloads being
// unknown. A sum of exactly zero is +0. Overflow is Inf. MODE's rounding and denormal bits have no
// effect below 32-bit operands; for f32 the default mode is modelled (nearest-even, denormals
// kept).
//
// Left out, because no model of them is known here: xf32, the f16 and bf16 shapes of 4 k (their
// steps have 4 products), sparse (smfmac), and everything that is not float32 in C and D (i8, f64).

#include <cstdint>
#include <string_view>

#include "reference/matrix_core/decoded.h"
#include "reference/matrix_core/instruction.h"

namespace lanewise::cdna3 {

inline constexpr MatrixInstruction kInstructions[] = {
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, OperandFormat::kE4m3Fnuz, OperandFormat::kE5m2Fnuz},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, OperandFormat::kE5m2Fnuz, OperandFormat::kE4m3Fnuz},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, OperandFormat::kE5m2Fnuz, OperandFormat::kE5m2Fnuz},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, OperandFormat::kE4m3Fnuz, OperandFormat::kE5m2Fnuz},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, OperandFormat::kE5m2Fnuz, OperandFormat::kE4m3Fnuz},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, OperandFormat::kE5m2Fnuz, OperandFormat::kE5m2Fnuz},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_32x32x8_bf16", 32, 32, 8, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 16, OperandFormat::kF16, OperandFormat::kF16},
    {"v_mfma_f32_32x32x8_f16", 32, 32, 8, OperandFormat::kF16, OperandFormat::kF16},
    {"v_mfma_f32_16x16x4_f32", 16, 16, 4, OperandFormat::kF32, OperandFormat::kF32},
    {"v_mfma_f32_32x32x2_f32", 32, 32, 2, OperandFormat::kF32, OperandFormat::kF32},
    {"v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, OperandFormat::kF32, OperandFormat::kF32, 2},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, OperandFormat::kF32, OperandFormat::kF32, 4},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, OperandFormat::kF32, OperandFormat::kF32, 16},
};

// The instruction of that mnemonic, or null.
constexpr const MatrixInstruction* FindInstruction(std::string_view name) {
  return lanewise::FindInstruction(kInstructions, name);
}

// One of kInstructions on row-major arrays of raw bits: a [blocks][m][k], b [blocks][k][n], in
// elements of ElementBytes(); c and d [blocks][m][n], float32. d may be c.
void Execute(const MatrixInstruction& instruction, const void* a, const void* b,
             const std::uint32_t* c, std::uint32_t* d);

// The chain of instructions over k_begin <= k < k_end that accumulates into row `row` of A times
// the 16 columns of one panel of B: for all j, accumulators[j] (float32 bits) goes in as c and
// comes out as d. The formats of a and b are those of an instruction. Ranges that are no multiple
// of the instruction's k behave as if filled up with zeros.
void Accumulate(const DecodedRows& a, std::int64_t row, const DecodedColumns& b, std::int64_t panel,
                std::int64_t k_begin, std::int64_t k_end,
                std::uint32_t accumulators[DecodedColumns::kPanelWidth]);

// The same for one output element: a[k] and b[k] contiguous, in elements of ElementBytes().
std::uint32_t DotAccumulate(OperandFormat a_format, OperandFormat b_format, const void* a,
                            const void* b, std::int64_t k, std::uint32_t c);

}  // namespace lanewise::cdna3

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_CDNA3_H_
