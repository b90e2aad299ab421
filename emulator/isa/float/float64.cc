// Double-precision arithmetic.

#include <cmath>
#include <cstdint>

#include "emulator/isa/arithmetic/float_parts.h"
#include "emulator/isa/arithmetic/minmax.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

double Add(double a, double b) { return a + b; }
double Mul(double a, double b) { return a * b; }
double Fma(double a, double b, double c) { return std::fma(a, b, c); }

double Floor(double a) { return std::floor(a); }
double Ceil(double a) { return std::ceil(a); }
double Trunc(double a) { return std::trunc(a); }
double RoundEven(double a) { return NearestEven(a); }
double Fract(double a) {
  const double fraction = a - std::floor(a);
  return fraction >= 1.0 ? 0x1.fffffffffffffp-1 : fraction;
}

double Mantissa(double a) { return MantissaOf(a); }
int32_t Exponent(double a) { return ExponentOf(a); }
double ScaleByPowerOf2(double a, int32_t exponent) { return TimesPowerOf2(a, exponent); }

using M = MinMax<double>;

}  // namespace

void RegisterFloat64(Arch /*arch*/, HandlerTable& table) {
  table.Add("v_add_f64", VectorOp<Add>);
  table.Add("v_mul_f64", VectorOp<Mul>);
  table.Add("v_fma_f64", VectorOp<Fma>);
  table.Add("v_fmac_f64", VectorOp<Fma>);
  table.Add("v_floor_f64", VectorOp<Floor>);
  table.Add("v_ceil_f64", VectorOp<Ceil>);
  table.Add("v_trunc_f64", VectorOp<Trunc>);
  table.Add("v_rndne_f64", VectorOp<RoundEven>);
  table.Add("v_fract_f64", VectorOp<Fract>);
  table.Add("v_frexp_mant_f64", VectorOp<Mantissa>);
  table.Add("v_frexp_exp_i32_f64", VectorOp<Exponent>);
  table.Add("v_ldexp_f64", VectorOp<ScaleByPowerOf2>);
  table.Add("v_min_f64", IeeeOp<M::Min<true>, M::Min<false>>);
  table.Add("v_max_f64", IeeeOp<M::Max<true>, M::Max<false>>);
}

}  // namespace lanewise::emulator
