#ifndef LANEWISE_REFERENCE_GEMM_OUTPUT_H_
#define LANEWISE_REFERENCE_GEMM_OUTPUT_H_

// What happens to a GEMM's float32 sums: rounding to bf16, bias, the sum over ranks.

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "formats/formats.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// Nearest-even; NaN is 0x7FC0.
Bf16 RoundToBf16(float value);
Tensor<Bf16, 2> RoundToBf16(const Tensor<float, 2>& values);

// out[m][n] + bias[n], rounded to bf16 once more: libraries add the bias to the rounded output.
// `out` is [M, N], `bias` [N]. InvalidArgument if the sizes differ.
absl::StatusOr<Tensor<Bf16, 2>> AddBias(const Tensor<Bf16, 2>& out, const Tensor<Bf16, 1>& bias);

// The sum of tensor-parallel ranks' partial outputs: (p0 + p1) + p2 .. in float32 in rank order, each
// sum rounded, the last one to bf16. Where every partial is -0 the sum is -0. All of one shape
// [M, N]; InvalidArgument otherwise, or if there is none.
absl::StatusOr<Tensor<Bf16, 2>> SumRanks(std::span<const Tensor<Bf16, 2>> partials);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_OUTPUT_H_
