// gfx950's conversions with a scale, v_cvt_scalef32_*, of one or two elements a lane: between
// float, half or bf16 and fp8, bf8 or fp4. Both elements of an instruction use the same seed.

#include <cstdint>
#include <string>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/narrow/insert_byte.h"
#include "emulator/isa/narrow/scaled_elements.h"
#include "emulator/isa/vector/vector_op.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

constexpr Traits kKeepsRest{.keeps_rest = true};

// The byte or word of a source that op_sel's low bits name.
uint32_t SelectedByte(uint32_t word, const Instruction& inst) {
  return (word >> (8 * (inst.mod.op_sel & 3))) & 0xff;
}
uint32_t SelectedWord(uint32_t word, const Instruction& inst) {
  return (inst.mod.op_sel & 1) != 0 ? word >> 16 : word & 0xffff;
}

// ---- up: one byte, or a pair of bytes or nibbles ----

template <class Narrow>
float ByteToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  return std::bit_cast<float>(Up<Narrow, WideF32>(SelectedByte(a, inst), scale));
}
template <class Narrow>
uint16_t ByteToF16(uint32_t a, uint32_t scale, const Instruction& inst) {
  return static_cast<uint16_t>(Up<Narrow, WideF16>(SelectedByte(a, inst), scale));
}

template <class Narrow, class Wide>
uint64_t PairOfCodes(uint32_t low, uint32_t high, uint32_t scale) {
  return static_cast<uint64_t>(Up<Narrow, Wide>(high, scale)) << Wide::kBits |
         Up<Narrow, Wide>(low, scale);
}
template <class Narrow>
uint64_t BytesToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t word = SelectedWord(a, inst);
  return PairOfCodes<Narrow, WideF32>(word & 0xff, word >> 8, scale);
}
template <class Narrow, class Wide>
uint32_t BytesToHalves(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t word = SelectedWord(a, inst);
  return static_cast<uint32_t>(PairOfCodes<Narrow, Wide>(word & 0xff, word >> 8, scale));
}
uint64_t NibblesToF32(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t byte = SelectedByte(a, inst);
  return PairOfCodes<E2m1, WideF32>(byte & 0xf, byte >> 4, scale);
}
template <class Wide>
uint32_t NibblesToHalves(uint32_t a, uint32_t scale, const Instruction& inst) {
  const uint32_t byte = SelectedByte(a, inst);
  return static_cast<uint32_t>(PairOfCodes<E2m1, Wide>(byte & 0xf, byte >> 4, scale));
}

// ---- down: a pair to two bytes (a half of the destination) or to two nibbles (a byte) ----

template <class Narrow>
uint16_t PairToBytes(FloatBits a, FloatBits b, uint32_t scale, Mode mode) {
  return static_cast<uint16_t>(Down<WideF32, Narrow>(a.bits, scale, mode) |
                               Down<WideF32, Narrow>(b.bits, scale, mode) << 8);
}
template <class Wide, class Narrow>
uint16_t HalvesToBytes(uint32_t a, uint32_t scale, Mode mode) {
  return static_cast<uint16_t>(Down<Wide, Narrow>(a & 0xffff, scale, mode) |
                               Down<Wide, Narrow>(a >> 16, scale, mode) << 8);
}
uint32_t PairToNibbles(FloatBits a, FloatBits b, uint32_t scale, Mode mode) {
  return Down<WideF32, E2m1>(a.bits, scale, mode) | Down<WideF32, E2m1>(b.bits, scale, mode) << 4;
}
template <class Wide>
uint32_t HalvesToNibbles(uint32_t a, uint32_t scale, Mode mode) {
  return Down<Wide, E2m1>(a & 0xffff, scale, mode) | Down<Wide, E2m1>(a >> 16, scale, mode) << 4;
}

template <class Narrow>
uint32_t F32ToByteStochastic(FloatBits a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<WideF32, Narrow>(a.bits, seed, scale, mode);
}
template <class Wide, class Narrow>
uint32_t HalfToByteStochastic(HalfBits a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<Wide, Narrow>(a.bits, seed, scale, mode);
}
uint32_t PairToNibblesStochastic(uint64_t a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<WideF32, E2m1>(static_cast<uint32_t>(a), seed, scale, mode) |
         DownStochastic<WideF32, E2m1>(static_cast<uint32_t>(a >> 32), seed, scale, mode) << 4;
}
template <class Wide>
uint32_t HalvesToNibblesStochastic(uint32_t a, uint32_t seed, uint32_t scale, Mode mode) {
  return DownStochastic<Wide, E2m1>(a & 0xffff, seed, scale, mode) |
         DownStochastic<Wide, E2m1>(a >> 16, seed, scale, mode) << 4;
}

template <class Narrow>
void RegisterBytes(const std::string& name, HandlerTable& table) {
  table.Add("v_cvt_scalef32_f32_" + name, VectorOp<ByteToF32<Narrow>>);
  table.Add("v_cvt_scalef32_f16_" + name, VectorOp<ByteToF16<Narrow>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_scalef32_pk_f32_" + name, VectorOp<BytesToF32<Narrow>>);
  table.Add("v_cvt_scalef32_pk_f16_" + name, VectorOp<BytesToHalves<Narrow, WideF16>>);
  table.Add("v_cvt_scalef32_pk_bf16_" + name, VectorOp<BytesToHalves<Narrow, WideBf16>>);
  table.Add("v_cvt_scalef32_pk_" + name + "_f32", VectorOp<PairToBytes<Narrow>, kKeepHigh>,
            kKeepsRest);
  table.Add("v_cvt_scalef32_pk_" + name + "_f16",
            VectorOp<HalvesToBytes<WideF16, Narrow>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_scalef32_pk_" + name + "_bf16",
            VectorOp<HalvesToBytes<WideBf16, Narrow>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_scalef32_sr_" + name + "_f32", InsertByte<F32ToByteStochastic<Narrow>>,
            kKeepsRest);
  table.Add("v_cvt_scalef32_sr_" + name + "_f16", InsertByte<HalfToByteStochastic<WideF16, Narrow>>,
            kKeepsRest);
  table.Add("v_cvt_scalef32_sr_" + name + "_bf16",
            InsertByte<HalfToByteStochastic<WideBf16, Narrow>>, kKeepsRest);
}

void RegisterNibbles(HandlerTable& table) {
  table.Add("v_cvt_scalef32_pk_f32_fp4", VectorOp<NibblesToF32>);
  table.Add("v_cvt_scalef32_pk_f16_fp4", VectorOp<NibblesToHalves<WideF16>>);
  table.Add("v_cvt_scalef32_pk_bf16_fp4", VectorOp<NibblesToHalves<WideBf16>>);
  table.Add("v_cvt_scalef32_pk_fp4_f32", InsertByte<PairToNibbles>, kKeepsRest);
  table.Add("v_cvt_scalef32_pk_fp4_f16", InsertByte<HalvesToNibbles<WideF16>>, kKeepsRest);
  table.Add("v_cvt_scalef32_pk_fp4_bf16", InsertByte<HalvesToNibbles<WideBf16>>, kKeepsRest);
  table.Add("v_cvt_scalef32_sr_pk_fp4_f32", InsertByte<PairToNibblesStochastic>, kKeepsRest);
  table.Add("v_cvt_scalef32_sr_pk_fp4_f16", InsertByte<HalvesToNibblesStochastic<WideF16>>,
            kKeepsRest);
  table.Add("v_cvt_scalef32_sr_pk_fp4_bf16", InsertByte<HalvesToNibblesStochastic<WideBf16>>,
            kKeepsRest);
}

}  // namespace

void RegisterScaled(Arch arch, HandlerTable& table) {
  if (arch != Arch::kGfx950) return;
  RegisterBytes<E4m3Fn>("fp8", table);
  RegisterBytes<E5m2>("bf8", table);
  RegisterNibbles(table);
}

}  // namespace lanewise::emulator
