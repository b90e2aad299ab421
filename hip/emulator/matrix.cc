// Matrix instructions, v_mfma_* and v_smfmac_*.
//
// What they add up and how it is rounded is reference/matrix_core/'s (cdna3.h, cdna4.h), where that
// has the instruction. The rest is, on both chips:
//   i8: exact, cut to 32 bits.
//   f64: one fused multiply-add for each k, ascending. blgp's bits negate A, B and C.
//   f16 and bf16 shapes of 4 k (gfx942): the reference's step, with 4 products instead of 8;
//   gfx950:
//     as its other f16 and bf16 instructions.
//   xf32: operands rounded to 11 significant bits (nearest-even), then one fused multiply-add for
//     each k, ascending. NOT KNOWN of the hardware: a contract of this emulator.
//   sparse: A expanded with zeros, then as the dense instructions of that type, over all its k. How
//     the hardware groups the products is not known.
// gfx950's sparse shapes with eight registers of B are left out: their layout is not known here.
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

#include "formats/formats.h"
#include "hip/emulator/dispatch.h"
#include "hip/emulator/families.h"
#include "hip/emulator/matrix_operands.h"
#include "hip/emulator/wave.h"
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

template <Arch kArch, size_t... kIndex>
void RegisterReference(HandlerTable& table, std::index_sequence<kIndex...>) {
  (table.Add(kReference<kArch>[kIndex].name, RunReference<kArch, kIndex>), ...);
}

// ---- i8, f64, xf32 ----

template <int kM, int kK, int kBlocks>
void Integer8(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, kBlocks};
  const auto a =
      GatherA(wave, inst.src[0], kShape, 1, BroadcastA(kShape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], kShape, 1, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], kShape);
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < kM; ++i) {
      for (int k = 0; k < kK; ++k) {
        const int32_t left = static_cast<int8_t>(a[(block * kM + i) * kK + k]);
        for (int j = 0; j < kM; ++j) {
          const int32_t right = static_cast<int8_t>(b[(block * kK + k) * kM + j]);
          c[(block * kM + i) * kM + j] += static_cast<uint32_t>(left * right);
        }
      }
    }
  }
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

// ---- products of rows and columns with the reference's step: the shapes of 4 k, and sparse ----

float NumberAt(OperandFormat format, const uint8_t* elements, int index) {
  const uint8_t* at = elements + static_cast<ptrdiff_t>(index) * ElementBytes(format);
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return E4m3Fn::FromBits(*at).ToFloat();
    case OperandFormat::kE5m2:
      return E5m2::FromBits(*at).ToFloat();
    case OperandFormat::kF16:
      return F16::FromBits(static_cast<uint16_t>(at[0] | at[1] << 8)).ToFloat();
    default:
      return Bf16::FromBits(static_cast<uint16_t>(at[0] | at[1] << 8)).ToFloat();
  }
}

template <Arch kArch>
uint32_t Dot(OperandFormat a_format, OperandFormat b_format, const uint8_t* a, const uint8_t* b,
             int k, uint32_t c) {
  if constexpr (kArch == Arch::kGfx942) {
    return cdna3::DotAccumulate(a_format, b_format, a, b, k, c);
  } else {
    float left[128], right[128];
    for (int i = 0; i < k; ++i) {
      left[i] = NumberAt(a_format, a, i);
      right[i] = NumberAt(b_format, b, i);
    }
    const float sum = cdna4::AddDot(a_format, b_format, left, right, k, 0, std::bit_cast<float>(c));
    return sum != sum ? kCanonicalNan : std::bit_cast<uint32_t>(sum);
  }
}

// c [blocks][m][n] += a [blocks][m][k] b [blocks][k][n].
template <Arch kArch>
void AddProducts(const MatrixShape& shape, OperandFormat a_format, OperandFormat b_format,
                 const std::vector<uint8_t>& a, const std::vector<uint8_t>& b,
                 std::vector<uint32_t>& c) {
  const int bytes = ElementBytes(a_format);
  std::vector<uint8_t> column(static_cast<size_t>(shape.k) * bytes);
  for (int block = 0; block < shape.blocks; ++block) {
    for (int j = 0; j < shape.n; ++j) {
      for (int k = 0; k < shape.k; ++k) {
        std::memcpy(&column[static_cast<size_t>(k) * bytes],
                    &b[static_cast<size_t>((block * shape.k + k) * shape.n + j) * bytes], bytes);
      }
      for (int i = 0; i < shape.m; ++i) {
        uint32_t& element = c[(block * shape.m + i) * shape.n + j];
        const uint8_t* row = &a[static_cast<size_t>(block * shape.m + i) * shape.k * bytes];
        element = Dot<kArch>(a_format, b_format, row, column.data(), shape.k, element);
      }
    }
  }
}

template <Arch kArch, int kM, int kBlocks, OperandFormat kFormat>
void FourK(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, 4, kBlocks};
  const auto a =
      GatherA(wave, inst.src[0], kShape, 2, BroadcastA(kShape, inst.mod.cbsz, inst.mod.abid));
  const auto b = GatherB(wave, inst.src[1], kShape, 2, BroadcastB(inst.mod.blgp));
  auto c = GatherC32(wave, inst.src[2], kShape);
  AddProducts<kArch>(kShape, kFormat, kFormat, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

// The first bit of the index word: abid chooses an 8-bit (16-bit elements) or 16-bit part, cbsz
// other than 0 means the first.
int FirstIndexBit(const Instruction& inst, int bytes) {
  if (inst.mod.cbsz != 0) return 0;
  return bytes == 2 ? 8 * (inst.mod.abid & 3) : 16 * (inst.mod.abid & 1);
}

template <Arch kArch, int kM, int kK, OperandFormat kA, OperandFormat kB>
void Sparse(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, 1};
  constexpr int kBytes = ElementBytes(kA);
  const auto a =
      GatherSparseA(wave, inst.src[0], kShape, kBytes, inst.src[2], FirstIndexBit(inst, kBytes));
  const auto b = GatherB(wave, inst.src[1], kShape, kBytes, BroadcastB(0));
  auto c = GatherC32(wave, inst.dst[0], kShape);
  AddProducts<kArch>(kShape, kA, kB, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <int kM, int kK>
void SparseInteger8(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, 1};
  const auto a = GatherSparseA(wave, inst.src[0], kShape, 1, inst.src[2], FirstIndexBit(inst, 1));
  const auto b = GatherB(wave, inst.src[1], kShape, 1, BroadcastB(0));
  auto c = GatherC32(wave, inst.dst[0], kShape);
  for (int i = 0; i < kM; ++i) {
    for (int k = 0; k < kK; ++k) {
      const int32_t left = static_cast<int8_t>(a[i * kK + k]);
      for (int j = 0; j < kM; ++j) {
        c[i * kM + j] += static_cast<uint32_t>(left * static_cast<int8_t>(b[k * kM + j]));
      }
    }
  }
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <Arch kArch, OperandFormat kFormat>
void RegisterHalves(const std::string& type, HandlerTable& table) {
  table.Add("v_mfma_f32_32x32x4_2b_" + type, FourK<kArch, 32, 2, kFormat>);
  table.Add("v_mfma_f32_16x16x4_4b_" + type, FourK<kArch, 16, 4, kFormat>);
  table.Add("v_mfma_f32_4x4x4_16b_" + type, FourK<kArch, 4, 16, kFormat>);
  table.Add("v_smfmac_f32_16x16x32_" + type, Sparse<kArch, 16, 32, kFormat, kFormat>);
  table.Add("v_smfmac_f32_32x32x16_" + type, Sparse<kArch, 32, 16, kFormat, kFormat>);
}

template <Arch kArch, OperandFormat kA, OperandFormat kB>
void RegisterSparseBytes(const std::string& types, HandlerTable& table) {
  table.Add("v_smfmac_f32_16x16x64_" + types, Sparse<kArch, 16, 64, kA, kB>);
  table.Add("v_smfmac_f32_32x32x32_" + types, Sparse<kArch, 32, 32, kA, kB>);
}

template <Arch kArch>
void RegisterOthers(HandlerTable& table) {
  constexpr bool kFnuz = kArch == Arch::kGfx942;
  constexpr OperandFormat kFp8 = kFnuz ? OperandFormat::kE4m3Fnuz : OperandFormat::kE4m3Fn;
  constexpr OperandFormat kBf8 = kFnuz ? OperandFormat::kE5m2Fnuz : OperandFormat::kE5m2;
  RegisterReference<kArch>(table, std::make_index_sequence<std::size(kReference<kArch>)>());
  RegisterHalves<kArch, OperandFormat::kF16>("f16", table);
  RegisterHalves<kArch, OperandFormat::kBf16>("bf16", table);
  RegisterSparseBytes<kArch, kFp8, kFp8>("fp8_fp8", table);
  RegisterSparseBytes<kArch, kFp8, kBf8>("fp8_bf8", table);
  RegisterSparseBytes<kArch, kBf8, kFp8>("bf8_fp8", table);
  RegisterSparseBytes<kArch, kBf8, kBf8>("bf8_bf8", table);
}

}  // namespace

void RegisterMatrix(Arch arch, HandlerTable& table) {
  table.Add("v_mfma_i32_32x32x4_2b_i8", Integer8<32, 4, 2>);
  table.Add("v_mfma_i32_16x16x4_4b_i8", Integer8<16, 4, 4>);
  table.Add("v_mfma_i32_4x4x4_16b_i8", Integer8<4, 4, 16>);
  table.Add("v_mfma_i32_32x32x16_i8", Integer8<32, 16, 1>);
  table.Add("v_mfma_i32_16x16x32_i8", Integer8<16, 32, 1>);
  table.Add("v_smfmac_i32_16x16x64_i8", SparseInteger8<16, 64>);
  table.Add("v_smfmac_i32_32x32x32_i8", SparseInteger8<32, 32>);
  table.Add("v_mfma_f64_16x16x4_f64", Double<16, 1>);
  table.Add("v_mfma_f64_4x4x4_4b_f64", Double<4, 4>);
  if (arch == Arch::kGfx942) {
    RegisterOthers<Arch::kGfx942>(table);
    table.Add("v_mfma_f32_16x16x8_xf32", Xf32<16, 8>);
    table.Add("v_mfma_f32_32x32x4_xf32", Xf32<32, 4>);
  } else {
    RegisterOthers<Arch::kGfx950>(table);
    table.Add("v_mfma_i32_16x16x64_i8", Integer8<16, 64, 1>);
    table.Add("v_mfma_i32_32x32x32_i8", Integer8<32, 32, 1>);
  }
}

}  // namespace lanewise::emulator
