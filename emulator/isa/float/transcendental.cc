// The approximate instructions, and what each computes here.
//
//   v_rcp_f32, v_rcp_iflag_f32, v_rsq_f32, v_sqrt_f32, v_exp_f32 (2^x), v_log_f32 (log2 x):
//       computed in double with a relative error below 2^-46, rounded once to float. The hardware
//       promises 1 ulp. Denormal inputs and results are zeros of their sign, whatever MODE says.
//   v_sin_f32, v_cos_f32: of x turns (2 pi x), computed and rounded likewise. For |x| > 256 and Inf
//       0 and 1.
//   The f16 instructions: as f32's, rounded once to half; denormals as MODE says. (Hardware: 0.51
//       ulp.)
//   v_rcp_f64, v_rsq_f64, v_sqrt_f64: the exact result rounded to 24 significant bits, which is the
//       accuracy that the hardware promises (2^29 ulp): code that forgets to refine it shows.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "emulator/isa/arithmetic/elementary.h"
#include "emulator/isa/dispatch.h"
#include "emulator/isa/families.h"
#include "emulator/isa/vector/vector_op.h"

namespace lanewise::emulator {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ---- the functions in double, with their special cases ----

double Reciprocal(double a) { return 1.0 / a; }
double SquareRoot(double a) { return std::sqrt(a); }
double ReciprocalRoot(double a) { return 1.0 / std::sqrt(a); }
double PowerOfTwo(double a) {
  const double sane = a < -200.0 ? -200.0 : (a > 200.0 ? 200.0 : a);
  return a != a ? a : Exp2(sane);
}
double Logarithm(double a) {
  const bool usual = a > 0 && a < kInf;
  const double special = a == 0 ? -kInf : (a == kInf ? a : kNan);
  return usual ? Log2(a) : special;
}
double Sine(double a) {
  const double sane = std::fabs(a) <= 256.0 ? a : 0.0;
  return a != a ? a : (a == 0 ? a : SinOfTurns(sane));
}
double Cosine(double a) {
  const double sane = std::fabs(a) <= 256.0 ? a : 0.0;
  return a != a ? a : SinOfTurns(sane + 0.25);
}

// ---- to the instructions' types ----

float FlushDenormal(float a) {
  const auto bits = std::bit_cast<uint32_t>(a);
  return std::bit_cast<float>((bits & 0x7f800000u) == 0 ? bits & 0x80000000u : bits);
}

template <double (*kFunction)(double)>
float Single(float a) {
  return FlushDenormal(static_cast<float>(kFunction(double{FlushDenormal(a)})));
}
template <double (*kFunction)(double)>
float SingleWithDenormals(float a) {
  return static_cast<float>(kFunction(double{a}));
}
template <double (*kFunction)(double)>
Half AsHalf(Half a) {
  return RoundToHalf(kFunction(double{ToFloat(a)}));
}
template <double (*kFunction)(double)>
double Coarse(double a) {
  const double exact = kFunction(a);
  const auto bits = std::bit_cast<uint64_t>(exact);
  constexpr uint64_t kDropped = (uint64_t{1} << 29) - 1;
  const double rounded = std::bit_cast<double>((bits + (uint64_t{1} << 28)) & ~kDropped);
  return exact - exact == 0 ? rounded : exact;
}

}  // namespace

void RegisterTranscendental(Arch /*arch*/, HandlerTable& table) {
  constexpr Traits kTranscendental{.klass = InstructionClass::kVectorTranscendental};
  table.Add("v_rcp_f32", VectorOp<Single<Reciprocal>>, kTranscendental);
  table.Add("v_rcp_iflag_f32", VectorOp<Single<Reciprocal>>, kTranscendental);
  table.Add("v_rsq_f32", VectorOp<Single<ReciprocalRoot>>, kTranscendental);
  table.Add("v_sqrt_f32", VectorOp<Single<SquareRoot>>, kTranscendental);
  table.Add("v_exp_f32", VectorOp<Single<PowerOfTwo>>, kTranscendental);
  table.Add("v_log_f32", VectorOp<Single<Logarithm>>, kTranscendental);
  table.Add("v_exp_legacy_f32", VectorOp<Single<PowerOfTwo>>, kTranscendental);
  table.Add("v_log_legacy_f32", VectorOp<Single<Logarithm>>, kTranscendental);
  table.Add("v_sin_f32", VectorOp<SingleWithDenormals<Sine>>, kTranscendental);
  table.Add("v_cos_f32", VectorOp<SingleWithDenormals<Cosine>>, kTranscendental);
  table.Add("v_rcp_f16", VectorOp<AsHalf<Reciprocal>>, kTranscendental);
  table.Add("v_rsq_f16", VectorOp<AsHalf<ReciprocalRoot>>, kTranscendental);
  table.Add("v_sqrt_f16", VectorOp<AsHalf<SquareRoot>>, kTranscendental);
  table.Add("v_exp_f16", VectorOp<AsHalf<PowerOfTwo>>, kTranscendental);
  table.Add("v_log_f16", VectorOp<AsHalf<Logarithm>>, kTranscendental);
  table.Add("v_sin_f16", VectorOp<AsHalf<Sine>>, kTranscendental);
  table.Add("v_cos_f16", VectorOp<AsHalf<Cosine>>, kTranscendental);
  table.Add("v_rcp_f64", VectorOp<Coarse<Reciprocal>>, kTranscendental);
  table.Add("v_rsq_f64", VectorOp<Coarse<ReciprocalRoot>>, kTranscendental);
  table.Add("v_sqrt_f64", VectorOp<Coarse<SquareRoot>>, kTranscendental);
}

}  // namespace lanewise::emulator
