// Sparse matrix instructions, v_smfmac_*: of each four k of A two are there, and an index says
// which two.
//
// A is expanded with zeros and then multiplied by the chip's reference step over all k. How the
// hardware groups the products is not known: a contract of this emulator. Bytes are exact. The
// accumulator is the destination. gfx950's shapes with eight registers of B are left out: their
// layout is not known here.

#include <cstdint>
#include <string>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/matrix/matrix_operands.h"
#include "emulator/isa/matrix/matrix_products.h"
#include "emulator/machine/wave.h"
#include "reference/matrix_core/instruction.h"

namespace lanewise::emulator {
namespace {

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
  AddProducts(kArch, kShape, kA, kB, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <int kM, int kK>
void SparseInteger8(Wave& wave, const Instruction& inst) {
  constexpr MatrixShape kShape = {kM, kM, kK, 1};
  const auto a = GatherSparseA(wave, inst.src[0], kShape, 1, inst.src[2], FirstIndexBit(inst, 1));
  const auto b = GatherB(wave, inst.src[1], kShape, 1, BroadcastB(0));
  auto c = GatherC32(wave, inst.dst[0], kShape);
  AddIntegerProducts(kShape, a, b, c);
  ScatterD32(wave, inst.dst[0], kShape, c.data());
}

template <Arch kArch, OperandFormat kFormat>
void RegisterHalves(const std::string& type, HandlerTable& table) {
  table.Add("v_smfmac_f32_16x16x32_" + type, Sparse<kArch, 16, 32, kFormat, kFormat>, kMatrix);
  table.Add("v_smfmac_f32_32x32x16_" + type, Sparse<kArch, 32, 16, kFormat, kFormat>, kMatrix);
}

template <Arch kArch, OperandFormat kA, OperandFormat kB>
void RegisterBytes(const std::string& types, HandlerTable& table) {
  table.Add("v_smfmac_f32_16x16x64_" + types, Sparse<kArch, 16, 64, kA, kB>, kMatrix);
  table.Add("v_smfmac_f32_32x32x32_" + types, Sparse<kArch, 32, 32, kA, kB>, kMatrix);
}

template <Arch kArch, OperandFormat kFp8, OperandFormat kBf8>
void RegisterFloats(HandlerTable& table) {
  RegisterHalves<kArch, OperandFormat::kF16>("f16", table);
  RegisterHalves<kArch, OperandFormat::kBf16>("bf16", table);
  RegisterBytes<kArch, kFp8, kFp8>("fp8_fp8", table);
  RegisterBytes<kArch, kFp8, kBf8>("fp8_bf8", table);
  RegisterBytes<kArch, kBf8, kFp8>("bf8_fp8", table);
  RegisterBytes<kArch, kBf8, kBf8>("bf8_bf8", table);
}

}  // namespace

void RegisterSparseMatrix(Arch arch, HandlerTable& table) {
  table.Add("v_smfmac_i32_16x16x64_i8", SparseInteger8<16, 64>, kMatrix);
  table.Add("v_smfmac_i32_32x32x32_i8", SparseInteger8<32, 32>, kMatrix);
  if (arch == Arch::kGfx942) {
    RegisterFloats<Arch::kGfx942, OperandFormat::kE4m3Fnuz, OperandFormat::kE5m2Fnuz>(table);
  } else {
    RegisterFloats<Arch::kGfx950, OperandFormat::kE4m3Fn, OperandFormat::kE5m2>(table);
  }
}

}  // namespace lanewise::emulator
