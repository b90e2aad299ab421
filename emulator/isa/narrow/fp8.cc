// Conversions of fp8 and bf8 (FNUZ on gfx942, OCP on gfx950) and of bf16, without scales.
//
// Down: nearest-even, subnormals made; narrow_formats.h says what overflows and how the stochastic
// ("sr") instructions use their seed. Denormal floats count as MODE's float input bit says.

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/narrow/insert_byte.h"
#include "emulator/isa/narrow/narrow_formats.h"
#include "emulator/isa/vector/vector_op.h"
#include "formats/formats.h"

namespace lanewise::emulator {
namespace {

constexpr Traits kKeepsRest{.keeps_rest = true};

template <class Format>
float FromLowByte(uint32_t a) {
  return Decoded<Format>()[a & 0xff];
}
template <class Format>
uint64_t PairFromLowBytes(uint32_t a) {
  const auto& values = Decoded<Format>();
  const uint64_t low = std::bit_cast<uint32_t>(values[a & 0xff]);
  const uint64_t high = std::bit_cast<uint32_t>(values[(a >> 8) & 0xff]);
  return high << 32 | low;
}
template <class Format>
uint16_t ToBytes(float a, float b, Mode mode) {
  return static_cast<uint16_t>(EncodeNearest<Format>(double{a}, mode) |
                               EncodeNearest<Format>(double{b}, mode) << 8);
}
template <class Format>
uint32_t ToByteStochastic(float a, uint32_t seed, Mode mode) {
  return EncodeStochastic<Format, 23>(double{a}, seed, mode);
}

template <class Fp8, class Bf8>
void RegisterFormats(HandlerTable& table) {
  table.Add("v_cvt_f32_fp8", VectorOp<FromLowByte<Fp8>>);
  table.Add("v_cvt_f32_bf8", VectorOp<FromLowByte<Bf8>>);
  table.Add("v_cvt_pk_f32_fp8", VectorOp<PairFromLowBytes<Fp8>>);
  table.Add("v_cvt_pk_f32_bf8", VectorOp<PairFromLowBytes<Bf8>>);
  table.Add("v_cvt_pk_fp8_f32", VectorOp<ToBytes<Fp8>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_pk_bf8_f32", VectorOp<ToBytes<Bf8>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_sr_fp8_f32", InsertByte<ToByteStochastic<Fp8>>, kKeepsRest);
  table.Add("v_cvt_sr_bf8_f32", InsertByte<ToByteStochastic<Bf8>>, kKeepsRest);
}

// ---- gfx950: bf16, and stochastic rounding to halves ----

float FromBf16(uint16_t a) { return std::bit_cast<float>(uint32_t{a} << 16); }

// Nearest-even on the bits; NaN becomes quiet.
uint32_t ToBf16(float a) {
  const auto bits = std::bit_cast<uint32_t>(a);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return a != a ? bits >> 16 | 0x40 : rounded;
}
uint32_t PackBf16(float a, float b) { return ToBf16(a) | ToBf16(b) << 16; }

template <class Format>
uint16_t ToHalfStochastic(float a, uint32_t seed) {
  return static_cast<uint16_t>(EncodeStochastic<Format, 23>(double{a}, seed, Mode{}));
}

}  // namespace

void RegisterFp8(Arch arch, HandlerTable& table) {
  if (arch == Arch::kGfx942) {
    RegisterFormats<E4m3Fnuz, E5m2Fnuz>(table);
    return;
  }
  RegisterFormats<E4m3Fn, E5m2>(table);
  table.Add("v_cvt_f32_bf16", VectorOp<FromBf16>);
  table.Add("v_cvt_pk_bf16_f32", VectorOp<PackBf16>);
  table.Add("v_cvt_sr_f16_f32", VectorOp<ToHalfStochastic<F16>, kKeepHigh>, kKeepsRest);
  table.Add("v_cvt_sr_bf16_f32", VectorOp<ToHalfStochastic<Bf16>, kKeepHigh>, kKeepsRest);
}

}  // namespace lanewise::emulator
