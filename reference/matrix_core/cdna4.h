#ifndef LANEWISE_REFERENCE_MATRIX_CORE_CDNA4_H_
#define LANEWISE_REFERENCE_MATRIX_CORE_CDNA4_H_

// The arithmetic of gfx950's matrix instructions: A CONTRACT, NOT MEASURED SILICON. No bit-accurate
// model of CDNA4 is public. What is known of it: scale blocks are 32 wide and applied to each
// block's dot product before accumulation, a scale of 0xFF gives NaN, rounding is nearest-even,
// MODE is ignored. Whatever rests on this file rests on the following, which was chosen to be
// simple:
//
//   f8f6f4, scaled: for each block of 32 k, ascending:
//     acc = RNE32(acc + (exact dot product of the block) * 2^(a_scale + b_scale - 254))
//   f8f6f4 without scales: the same with both scale codes 127, which is a factor of 1.
//   bf16, f16, fp8 and bf8 (OCP): d = RNE32(c + exact sum of the instruction's products), so that
//   the
//     instruction's k shows in the result.
//   f32: one fused multiply-add for each k, ascending, nearest-even.
//
// RNE32 is one rounding to float32, nearest-even, with subnormals; overflow is Inf, and only of a
// rounded sum: products and block sums never overflow. A sum of exactly zero is +0. A scale code of
// 255, a NaN, Inf * 0 and Inf - Inf give NaN, always 0x7FC00000 (the hardware's payloads are not
// known).
//
// Left out: xf32, the f16 and bf16 shapes of 4 k, sparse (smfmac), and everything that is not
// float32 in C and D (i8, f64).

#include <cstdint>
#include <optional>
#include <string_view>

#include "reference/matrix_core/instruction.h"

namespace lanewise::cdna4 {

// k of one block scale.
inline constexpr int kScaleBlock = 32;

inline constexpr MatrixInstruction kInstructions[] = {
    {"v_mfma_scale_f32_16x16x128_f8f6f4", 16, 16, 128, OperandFormat::kF8f6f4,
     OperandFormat::kF8f6f4},
    {"v_mfma_scale_f32_32x32x64_f8f6f4", 32, 32, 64, OperandFormat::kF8f6f4,
     OperandFormat::kF8f6f4},
    {"v_mfma_f32_16x16x128_f8f6f4", 16, 16, 128, OperandFormat::kF8f6f4, OperandFormat::kF8f6f4},
    {"v_mfma_f32_32x32x64_f8f6f4", 32, 32, 64, OperandFormat::kF8f6f4, OperandFormat::kF8f6f4},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, OperandFormat::kE4m3Fn, OperandFormat::kE4m3Fn},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, OperandFormat::kE4m3Fn, OperandFormat::kE5m2},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, OperandFormat::kE5m2, OperandFormat::kE4m3Fn},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, OperandFormat::kE5m2, OperandFormat::kE5m2},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, OperandFormat::kE4m3Fn, OperandFormat::kE4m3Fn},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, OperandFormat::kE4m3Fn, OperandFormat::kE5m2},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, OperandFormat::kE5m2, OperandFormat::kE4m3Fn},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, OperandFormat::kE5m2, OperandFormat::kE5m2},
    {"v_mfma_f32_16x16x32_bf16", 16, 16, 32, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_32x32x16_bf16", 32, 32, 16, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_32x32x8_bf16", 32, 32, 8, OperandFormat::kBf16, OperandFormat::kBf16},
    {"v_mfma_f32_16x16x32_f16", 16, 16, 32, OperandFormat::kF16, OperandFormat::kF16},
    {"v_mfma_f32_32x32x16_f16", 32, 32, 16, OperandFormat::kF16, OperandFormat::kF16},
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

// The format that a cbsz (of A) or blgp (of B) modifier of the f8f6f4 instructions names: 0 to 4.
constexpr std::optional<OperandFormat> F8f6f4Format(int modifier) {
  if (modifier < 0 || modifier > 4) return std::nullopt;
  return static_cast<OperandFormat>(modifier);
}

// One of kInstructions but the f8f6f4 ones, on row-major arrays of raw bits: a [blocks][m][k], b
// [blocks][k][n], in elements of ElementBytes(); c and d [blocks][m][n], float32. d may be c.
void Execute(const MatrixInstruction& instruction, const void* a, const void* b,
             const std::uint32_t* c, std::uint32_t* d);

// The scale codes (e8m0) of one f8f6f4 instruction: a [m][k/32], b [k/32][n]. Null is 127
// throughout.
struct BlockScales {
  const std::uint8_t* a = nullptr;
  const std::uint8_t* b = nullptr;
};

// An f8f6f4 instruction of kInstructions: a [m][k], b [k][n], one element to a byte in its low
// bits, whatever the format; c and d [m][n], float32. d may be c.
void ExecuteF8f6f4(const MatrixInstruction& instruction, OperandFormat a_format,
                   OperandFormat b_format, const std::uint8_t* a, const std::uint8_t* b,
                   const BlockScales& scales, const std::uint32_t* c, std::uint32_t* d);

// RNE32(c + exact sum of a[i] b[i] * 2^exponent) over i < k <= 128: one element of one instruction
// without scales, or of one block of one with them (exponent = the two scale codes' sum - 254). a
// and b are elements of a_format and b_format, as numbers; neither is kF32. |exponent| <= 254.
float AddDot(OperandFormat a_format, OperandFormat b_format, const float* a, const float* b, int k,
             int exponent, float c);

}  // namespace lanewise::cdna4

#endif  // LANEWISE_REFERENCE_MATRIX_CORE_CDNA4_H_
