// Conversions of the graphics side: floats to normalized integers and to bytes of a word.

#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/float_parts.h"
#include "emulator/isa/arithmetic/half.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"
#include "emulator/machine/wave.h"

namespace lanewise::emulator {
namespace {

// [-1, 1] to [-32767, 32767] and [0, 1] to [0, 65535], nearest-even; NaN 0.
uint16_t Signed(float a) {
  const float sane = a != a ? 0.0f : (a < -1.0f ? -1.0f : (a > 1.0f ? 1.0f : a));
  return static_cast<uint16_t>(static_cast<int32_t>(NearestEven(double{sane} * 32767.0)));
}
uint16_t Unsigned(float a) {
  const float sane = a > 0 ? (a > 1.0f ? 1.0f : a) : 0.0f;
  return static_cast<uint16_t>(static_cast<int32_t>(NearestEven(double{sane} * 65535.0)));
}

template <uint16_t (*kConvert)(float)>
uint32_t PackOfFloats(float a, float b) {
  return kConvert(a) | uint32_t{kConvert(b)} << 16;
}
template <uint16_t (*kConvert)(float)>
uint32_t PackOfHalves(Half a, Half b) {
  return kConvert(ToFloat(a)) | uint32_t{kConvert(ToFloat(b))} << 16;
}
template <uint16_t (*kConvert)(float)>
uint16_t OfHalf(Half a) {
  return kConvert(ToFloat(a));
}

// Byte b & 3 of c becomes a as an integer, nearest-even, 0 to 255; NaN 0.
uint32_t ByteOfFloat(float a, uint32_t b, uint32_t c) {
  const float sane = a > 0 ? (a > 255.0f ? 255.0f : a) : 0.0f;
  const auto byte = static_cast<uint32_t>(static_cast<int32_t>(NearestEven(sane)));
  const uint32_t shift = 8 * (b & 3);
  return (c & ~(0xffu << shift)) | byte << shift;
}

// LLVM does not list the destination, whose other bytes stay, among the sources.
void AccumulateByte(Wave& wave, const Instruction& inst) {
  Instruction full = inst;
  full.src[2] = inst.dst[0];
  full.src_count = 3;
  VectorOp<ByteOfFloat>(wave, full);
}

}  // namespace

void RegisterNormalized(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_cvt_pknorm_i16_f32", VectorOp<PackOfFloats<Signed>>);
  table.Add("v_cvt_pknorm_u16_f32", VectorOp<PackOfFloats<Unsigned>>);
  table.Add("v_cvt_pknorm_i16_f16", VectorOp<PackOfHalves<Signed>>);
  table.Add("v_cvt_pknorm_u16_f16", VectorOp<PackOfHalves<Unsigned>>);
  table.Add("v_cvt_norm_i16_f16", VectorOp<OfHalf<Signed>>);
  table.Add("v_cvt_norm_u16_f16", VectorOp<OfHalf<Unsigned>>);
  table.Add("v_cvt_pk_u8_f32", VectorOp<ByteOfFloat>);
  table.Add("v_cvt_pkaccum_u8_f32", AccumulateByte);
}

}  // namespace lanewise::emulator
