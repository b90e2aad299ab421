// Half-precision arithmetic, one value a lane (packed.cc has two).

#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/float_parts.h"
#include "emulator/isa/arithmetic/half_math.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

HalfValue SubRev(HalfValue a, HalfValue b) { return SubHalf(b, a); }

HalfValue Floor(HalfValue a) { return {std::floor(a.value)}; }
HalfValue Ceil(HalfValue a) { return {std::ceil(a.value)}; }
HalfValue Trunc(HalfValue a) { return {std::trunc(a.value)}; }
HalfValue RoundEven(HalfValue a) { return {NearestEven(a.value)}; }
Half Fract(Half a) {
  const float value = ToFloat(a);
  const Half fraction = RoundToHalf(value - std::floor(value));
  return fraction.bits == 0x3c00 ? Half{0x3bff} : fraction;
}
Half Mantissa(Half a) { return RoundToHalf(MantissaOf(ToFloat(a))); }
int16_t Exponent(Half a) { return static_cast<int16_t>(ExponentOf(ToFloat(a))); }
Half ScaleByPowerOf2(Half a, int16_t exponent) {
  return RoundToHalf(double{ToFloat(a)} * PowerOf2(std::clamp<int32_t>(exponent, -100, 100)));
}

}  // namespace

void RegisterFloat16(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_add_f16", VectorOp<AddHalf>);
  table.Add("v_sub_f16", VectorOp<SubHalf>);
  table.Add("v_subrev_f16", VectorOp<SubRev>);
  table.Add("v_mul_f16", VectorOp<MulHalf>);
  table.Add("v_fma_f16", VectorOp<FmaHalf, kKeepHigh>);
  table.Add("v_fma_legacy_f16", VectorOp<FmaHalf>);
  // Two roundings, unlike v_fma_f16.
  table.Add("v_mad_f16", VectorOp<MadHalf, kKeepHigh>);
  table.Add("v_mad_legacy_f16", VectorOp<MadHalf>);
  table.Add("v_mac_f16", VectorOp<MadHalf, kKeepHigh>);
  table.Add("v_madmk_f16", VectorOp<MadHalf, kKeepHigh>);
  table.Add("v_madak_f16", VectorOp<MadHalf, kKeepHigh>);
  table.Add("v_floor_f16", VectorOp<Floor>);
  table.Add("v_ceil_f16", VectorOp<Ceil>);
  table.Add("v_trunc_f16", VectorOp<Trunc>);
  table.Add("v_rndne_f16", VectorOp<RoundEven>);
  table.Add("v_fract_f16", VectorOp<Fract>);
  table.Add("v_frexp_mant_f16", VectorOp<Mantissa>);
  table.Add("v_frexp_exp_i16_f16", VectorOp<Exponent>);
  table.Add("v_ldexp_f16", VectorOp<ScaleByPowerOf2>);
  table.Add("v_min_f16", IeeeOp<MinHalf<true>, MinHalf<false>>);
  table.Add("v_max_f16", IeeeOp<MaxHalf<true>, MaxHalf<false>>);
  table.Add("v_min3_f16", IeeeOp<Min3Half<true>, Min3Half<false>, kKeepHigh>);
  table.Add("v_max3_f16", IeeeOp<Max3Half<true>, Max3Half<false>, kKeepHigh>);
  table.Add("v_med3_f16", IeeeOp<Med3Half<true>, Med3Half<false>, kKeepHigh>);
}

}  // namespace lanewise::emulator
