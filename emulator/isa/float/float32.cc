// Single-precision arithmetic.

#include <bit>
#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/float_parts.h"
#include "emulator/isa/arithmetic/minmax.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

float Add(float a, float b) { return a + b; }
float Sub(float a, float b) { return a - b; }
float SubRev(float a, float b) { return b - a; }
float Mul(float a, float b) { return a * b; }
// Zero times anything is +0.
float MulLegacy(float a, float b) { return a == 0 || b == 0 ? 0.0f : a * b; }
float Fma(float a, float b, float c) { return std::fma(a, b, c); }

float Floor(float a) { return std::floor(a); }
float Ceil(float a) { return std::ceil(a); }
float Trunc(float a) { return std::trunc(a); }
float RoundEven(float a) { return NearestEven(a); }
float Fract(float a) {
  const float fraction = a - std::floor(a);
  return fraction >= 1.0f ? 0x1.fffffep-1f : fraction;
}

float Mantissa(float a) { return MantissaOf(a); }
int32_t Exponent(float a) { return ExponentOf(a); }
float ScaleByPowerOf2(float a, int32_t exponent) { return TimesPowerOf2(a, exponent); }

using M = MinMax<float>;

FloatBits ConditionalMove(FloatBits a, FloatBits b, bool condition) {
  return {condition ? b.bits : a.bits};
}

// ---- cube maps: the face of the largest coordinate, z before y before x ----

bool ZLeads(float x, float y, float z) {
  return std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y);
}
bool YLeads(float x, float y) { return std::fabs(y) >= std::fabs(x); }
float CubeFace(float x, float y, float z) {
  if (ZLeads(x, y, z)) return z < 0 ? 5.0f : 4.0f;
  if (YLeads(x, y)) return y < 0 ? 3.0f : 2.0f;
  return x < 0 ? 1.0f : 0.0f;
}
float CubeS(float x, float y, float z) {
  if (ZLeads(x, y, z)) return z < 0 ? -x : x;
  if (YLeads(x, y)) return x;
  return x < 0 ? z : -z;
}
float CubeT(float x, float y, float z) {
  if (ZLeads(x, y, z)) return -y;
  if (YLeads(x, y)) return y < 0 ? -z : z;
  return -y;
}
float CubeMajor(float x, float y, float z) {
  return 2.0f * (ZLeads(x, y, z) ? z : YLeads(x, y) ? y : x);
}

}  // namespace

void RegisterFloat32(Arch arch, HandlerTable& table) {
  table.Add("v_add_f32", VectorOp<Add>);
  table.Add("v_sub_f32", VectorOp<Sub>);
  table.Add("v_subrev_f32", VectorOp<SubRev>);
  table.Add("v_mul_f32", VectorOp<Mul>);
  table.Add("v_mul_legacy_f32", VectorOp<MulLegacy>);
  table.Add("v_fma_f32", VectorOp<Fma>);
  table.Add("v_fmac_f32", VectorOp<Fma>);
  table.Add("v_fmamk_f32", VectorOp<Fma>);
  table.Add("v_fmaak_f32", VectorOp<Fma>);

  table.Add("v_floor_f32", VectorOp<Floor>);
  table.Add("v_ceil_f32", VectorOp<Ceil>);
  table.Add("v_trunc_f32", VectorOp<Trunc>);
  table.Add("v_rndne_f32", VectorOp<RoundEven>);
  table.Add("v_fract_f32", VectorOp<Fract>);
  table.Add("v_frexp_mant_f32", VectorOp<Mantissa>);
  table.Add("v_frexp_exp_i32_f32", VectorOp<Exponent>);
  table.Add("v_ldexp_f32", VectorOp<ScaleByPowerOf2>);

  table.Add("v_min_f32", IeeeOp<M::Min<true>, M::Min<false>>);
  table.Add("v_max_f32", IeeeOp<M::Max<true>, M::Max<false>>);
  table.Add("v_min3_f32", IeeeOp<M::Min3<true>, M::Min3<false>>);
  table.Add("v_max3_f32", IeeeOp<M::Max3<true>, M::Max3<false>>);
  table.Add("v_med3_f32", IeeeOp<M::Med3<true>, M::Med3<false>>);
  if (arch == Arch::kGfx950) {
    table.Add("v_minimum3_f32", VectorOp<M::Minimum3>);
    table.Add("v_maximum3_f32", VectorOp<M::Maximum3>);
  }

  table.Add("v_cndmask_b32", VectorOp<ConditionalMove>,
            {.undefined = UndefinedRule::kSelect, .scalars = ScalarRule::kLastIsLaneMask});

  table.Add("v_cubeid_f32", VectorOp<CubeFace>);
  table.Add("v_cubesc_f32", VectorOp<CubeS>);
  table.Add("v_cubetc_f32", VectorOp<CubeT>);
  table.Add("v_cubema_f32", VectorOp<CubeMajor>);
}

}  // namespace lanewise::emulator
