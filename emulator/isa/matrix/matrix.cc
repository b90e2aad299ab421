// Dense matrix instructions, v_mfma_*.
//
// What they add up and how it is rounded is reference/matrix_core/'s (cdna3.h, cdna4.h), where that
// has the instruction. The rest is, on both chips:
//   i8: exact, cut to 32 bits.
//   f64: one fused multiply-add for each k, ascending. blgp's bits negate A, B and C.
//   f16 and bf16 shapes of 4 k: on gfx942 the reference's step, with 4 products instead of 8; on
//     gfx950 as its other f16 and bf16 instructions.
//   xf32: operands rounded to 11 significant bits (nearest-even), then one fused multiply-add for
//     each k, ascending. NOT KNOWN of the hardware: a contract of this emulator.
// MODE and EXEC have no effect; NaN has the reference's canonical payload.

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/matrix/matrix_operands.h"
#include "emulator/isa/matrix/matrix_products.h"
#include "emulator/machine/wave.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::emulator {
namespace {

MatrixShape ShapeOf(const MatrixInstruction& instruction) {
  return {instruction.m, instruction.n, instruction.k, instruction.blocks};
}

const uint8_t* Bytes(const std::vector<uint8_t>& array) { return array.data(); }

// ---- what the reference has ----

template <Arch kArch>
void ExecuteReference(const MatrixInstruction& instruction, const void* a, const void* b,
                      uint32_t* c) {
  if constexpr (kArch == Arch::kGfx942) {
    cdna3::Execute(instruction, a, b, c, c);
  } else {
    cdna4::Execute(instruction, a, b, c, c);
  }
}

template <Arch kArch>
void Dense(const MatrixInstruction& instruction, Wave& wave, const Instruction& inst) {
  const MatrixShape shape = ShapeOf(instruction);
  const int bytes = ElementBytes(instruction.a);
  const auto a =
      GatherA(wave, inst.src[0], shape, bytes, BroadcastA(shape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], shape, bytes, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], shape);
  ExecuteReference<kArch>(instruction, Bytes(a), Bytes(b), c.data());
  ScatterD32(wave, inst.dst[0], shape, c.data());
}

int NarrowBits(OperandFormat format) {
  switch (format) {
    case OperandFormat::kE2m1:
      return 4;
    case OperandFormat::kE2m3:
    case OperandFormat::kE3m2:
      return 6;
    default:
      return 8;
  }
}

// cbsz and blgp are the formats. A scaled instruction has two more sources, and op_sel and
// op_sel_hi name their bytes.
void F8f6f4(const MatrixInstruction& instruction, Wave& wave, const Instruction& inst) {
  const MatrixShape shape = ShapeOf(instruction);
  const auto a_format = cdna4::F8f6f4Format(inst.mod.cbsz);
  const auto b_format = cdna4::F8f6f4Format(inst.mod.blgp);
  if (!a_format || !b_format) {
    wave.Fail("cbsz and blgp of an f8f6f4 instruction name formats 0 to 4, found " +
              std::to_string(inst.mod.cbsz) + " and " + std::to_string(inst.mod.blgp));
    return;
  }
  const auto a = GatherNarrowA(wave, inst.src[0], shape, NarrowBits(*a_format));
  const auto b = GatherNarrowB(wave, inst.src[1], shape, NarrowBits(*b_format));
  auto c = GatherC32(wave, inst.src[2], shape);
  std::vector<uint8_t> a_scales, b_scales;
  cdna4::BlockScales scales;
  if (inst.src_count >= 5) {
    const auto byte = [&inst](int i) {
      return ((inst.mod.op_sel >> i) & 1) + 2 * ((inst.mod.op_sel_hi >> i) & 1);
    };
    a_scales = GatherScalesA(wave, inst.src[3], shape, byte(0));
    b_scales = GatherScalesB(wave, inst.src[4], shape, byte(1));
    scales = {a_scales.data(), b_scales.data()};
  }
  cdna4::ExecuteF8f6f4(instruction, *a_format, *b_format, Bytes(a), Bytes(b), scales, c.data(),
                       c.data());
  ScatterD32(wave, inst.dst[0], shape, c.data());
}

template <Arch kArch>
constexpr auto& kReference = cdna3::kInstructions;
template <>
constexpr auto& kReference<Arch::kGfx950> = cdna4::kInstructions;

template <Arch kArch, size_t kIndex>
void RunReference(Wave& wave, const Instruction& inst) {
  constexpr const MatrixInstruction& kInstruction = kReference<kArch>[kIndex];
  if constexpr (kInstruction.a == OperandFormat::kF8f6f4) {
    F8f6f4(kInstruction, wave, inst);
  } else {
    Dense<kArch>(kInstruction, wave, inst);
  }
}

// LLVM's table knows no passes of the instructions whose formats are operands.
template <Arch kArch>
Traits TraitsOfReference(const MatrixInstruction& instruction) {
  Traits traits = kMatrix;
  if (instruction.a == OperandFormat::kF8f6f4) {
    const int passes = TraitsOf(kArch).mixed_matrix_passes;
    traits.matrix_passes = static_cast<uint8_t>(instruction.m == 16 ? passes : 2 * passes);
  }
  return traits;
}

template <Arch kArch, size_t... kIndex>
void RegisterReference(HandlerTable& table, std::index_sequence<kIndex...>) {
  (table.Add(kReference<kArch>[kIndex].name, RunReference<kArch, kIndex>,
             TraitsOfReference<kArch>(kReference<kArch>[kIndex])),
   ...);
}

// ---- i8, f64, xf32 ----

template <int kM, int kK, int kBlocks>
void Integer8(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, kBlocks};
  const auto a =
      GatherA(wave, inst.src[0], kShape, 1, BroadcastA(kShape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], kShape, 1, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], kShape);
  AddIntegerProducts(kShape, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <typename Element>
Element At(const std::vector<uint8_t>& array, int index) {
  Element element;
  std::memcpy(&element, &array[static_cast<size_t>(index) * sizeof(Element)], sizeof(Element));
  return element;
}

template <int kM, int kBlocks>
void Double(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, 4, kBlocks};
  const auto a =
      GatherA(wave, inst.src[0], kShape, 8, BroadcastA(kShape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], kShape, 8, BroadcastB(0));
  auto c = GatherC64(wave, inst.src[2], kShape);
  const double product_sign = ((inst.mod.blgp ^ (inst.mod.blgp >> 1)) & 1) != 0 ? -1.0 : 1.0;
  const bool negative_c = (inst.mod.blgp & 4) != 0;
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < kM; ++i) {
      for (int j = 0; j < kM; ++j) {
        uint64_t& element = c[(block * kM + i) * kM + j];
        double sum = std::bit_cast<double>(element);
        if (negative_c) sum = -sum;
        for (int k = 0; k < 4; ++k) {
          const auto left = At<double>(a, (block * kM + i) * 4 + k);
          const auto right = At<double>(b, (block * 4 + k) * kM + j);
          sum = std::fma(product_sign * left, right, sum);
        }
        element = std::bit_cast<uint64_t>(sum);
      }
    }
  }
  ScatterD64(wave, inst.dst[0], kShape, c.data());
}

// To 11 significant bits, nearest-even; a carry into the exponent is right, NaN stays NaN.
float ToXf32(float a) {
  const auto bits = std::bit_cast<uint32_t>(a);
  const uint32_t rounded = (bits + 0xfff + ((bits >> 13) & 1)) & ~0x1fffu;
  return a != a ? a : std::bit_cast<float>(rounded);
}

template <int kM, int kK>
void Xf32(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, 1};
  const auto a = GatherA(wave, inst.src[0], kShape, 4, BroadcastA(kShape, 0, 0));
  const auto b = GatherB(wave, inst.src[1], kShape, 4, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], kShape);
  for (int i = 0; i < kM; ++i) {
    for (int j = 0; j < kM; ++j) {
      float sum = std::bit_cast<float>(c[i * kM + j]);
      for (int k = 0; k < kK; ++k) {
        sum = std::fma(ToXf32(At<float>(a, i * kK + k)), ToXf32(At<float>(b, k * kM + j)), sum);
      }
      c[i * kM + j] = sum != sum ? kCanonicalNan : std::bit_cast<uint32_t>(sum);
    }
  }
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

// ---- halves, shapes of 4 k ----

template <Arch kArch, int kM, int kBlocks, OperandFormat kFormat>
void FourK(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, 4, kBlocks};
  const auto a =
      GatherA(wave, inst.src[0], kShape, 2, BroadcastA(kShape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], kShape, 2, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], kShape);
  AddProducts(kArch, kShape, kFormat, kFormat, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <Arch kArch, OperandFormat kFormat>
void RegisterHalves(const std::string& type, HandlerTable& table) {
  table.Add("v_mfma_f32_32x32x4_2b_" + type, FourK<kArch, 32, 2, kFormat>, kMatrix);
  table.Add("v_mfma_f32_16x16x4_4b_" + type, FourK<kArch, 16, 4, kFormat>, kMatrix);
  table.Add("v_mfma_f32_4x4x4_16b_" + type, FourK<kArch, 4, 16, kFormat>, kMatrix);
}

template <Arch kArch>
void RegisterFloats(HandlerTable& table) {
  RegisterReference<kArch>(table, std::make_index_sequence<std::size(kReference<kArch>)>());
  RegisterHalves<kArch, OperandFormat::kF16>("f16", table);
  RegisterHalves<kArch, OperandFormat::kBf16>("bf16", table);
}

}  // namespace

void RegisterMatrix(Arch arch, HandlerTable& table) {
  table.Add("v_mfma_i32_32x32x4_2b_i8", Integer8<32, 4, 2>, kMatrix);
  table.Add("v_mfma_i32_16x16x4_4b_i8", Integer8<16, 4, 4>, kMatrix);
  table.Add("v_mfma_i32_4x4x4_16b_i8", Integer8<4, 4, 16>, kMatrix);
  table.Add("v_mfma_i32_32x32x16_i8", Integer8<32, 16, 1>, kMatrix);
  table.Add("v_mfma_i32_16x16x32_i8", Integer8<16, 32, 1>, kMatrix);
  table.Add("v_mfma_f64_16x16x4_f64", Double<16, 1>, kMatrix);
  table.Add("v_mfma_f64_4x4x4_4b_f64", Double<4, 4>, kMatrix);
  if (arch == Arch::kGfx942) {
    RegisterFloats<Arch::kGfx942>(table);
    table.Add("v_mfma_f32_16x16x8_xf32", Xf32<16, 8>, kMatrix);
    table.Add("v_mfma_f32_32x32x4_xf32", Xf32<32, 4>, kMatrix);
  } else {
    RegisterFloats<Arch::kGfx950>(table);
    table.Add("v_mfma_i32_16x16x64_i8", Integer8<16, 64, 1>, kMatrix);
    table.Add("v_mfma_i32_32x32x32_i8", Integer8<32, 32, 1>, kMatrix);
  }
}

}  // namespace lanewise::emulator
