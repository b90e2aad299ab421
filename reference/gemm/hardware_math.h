#ifndef LANEWISE_REFERENCE_GEMM_HARDWARE_MATH_H_
#define LANEWISE_REFERENCE_GEMM_HARDWARE_MATH_H_

// The functions of float32 that GPUs approximate: 2^x, log2(x), 1/x, 1/sqrt(x), and e^x of their
// libraries.
//
// Here each is the float32 nearest to the true value, ties to even, subnormals kept. The
// instructions (v_exp_f32, v_log_f32, v_rcp_f32, v_rsq_f32) are documented to be within
// kApproximationUlps of that, and may flush subnormal results to zero. A `Planned` semantics computes
// with the functions below; a kernel is compared with it bit for bit everywhere but behind one of
// them, and there within the range that the bound allows (activation.h).
//
// Computed in integers, so that every machine agrees: the error before the one rounding is below
// 2^-56 of the value. (Log2 and Exp: the same.)

namespace lanewise::reference {

// Units in the last place between an instruction's result and the nearest float32.
inline constexpr int kApproximationUlps = 1;

// 2^x: 0 below -150, infinity from 128 on. NaN gives NaN.
float Exp2(float x);

// e^x.
float Exp(float x);

// log2(x): -infinity at zero of either sign, NaN below.
float Log2(float x);

// 1 / x.
float Reciprocal(float x);

// 1 / sqrt(x): infinity of x's sign at zero, NaN below.
float ReciprocalSquareRoot(float x);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_HARDWARE_MATH_H_
