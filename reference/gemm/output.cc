#include "reference/gemm/output.h"

#include <cmath>

#include "base/status.h"

namespace lanewise::reference {

Bf16 RoundToBf16(float value) { return std::isnan(value) ? Bf16::Nan() : Bf16::FromFloat(value); }

Tensor<Bf16, 2> RoundToBf16(const Tensor<float, 2>& values) {
  Tensor<Bf16, 2> rounded(values.dimension(0), values.dimension(1));
  for (std::int64_t i = 0; i < values.size(); ++i) {
    rounded.data()[i] = RoundToBf16(values.data()[i]);
  }
  return rounded;
}

absl::StatusOr<Tensor<Bf16, 2>> AddBias(const Tensor<Bf16, 2>& out, const Tensor<Bf16, 1>& bias) {
  if (bias.dimension(0) != out.dimension(1)) {
    return InvalidArgument("bias is ", ShapeText(bias), ", expected [", out.dimension(1),
                           "] for out ", ShapeText(out));
  }
  Tensor<Bf16, 2> sum(out.dimension(0), out.dimension(1));
  for (std::int64_t m = 0; m < out.dimension(0); ++m) {
    for (std::int64_t n = 0; n < out.dimension(1); ++n) {
      sum(m, n) = RoundToBf16(out(m, n).ToFloat() + bias(n).ToFloat());
    }
  }
  return sum;
}

absl::StatusOr<Tensor<Bf16, 2>> SumRanks(std::span<const Tensor<Bf16, 2>> partials) {
  if (partials.empty()) return InvalidArgument("no partial outputs to sum");
  Tensor<float, 2> sum(partials[0].dimension(0), partials[0].dimension(1));
  for (std::size_t rank = 0; rank < partials.size(); ++rank) {
    if (partials[rank].dimensions() != partials[0].dimensions()) {
      return InvalidArgument("the partial output of rank ", rank, " is ", ShapeText(partials[rank]),
                             ", expected ", ShapeText(partials[0]), " as of rank 0");
    }
    for (std::int64_t i = 0; i < sum.size(); ++i) {
      const float part = partials[rank].data()[i].ToFloat();
      sum.data()[i] = rank == 0 ? part : sum.data()[i] + part;
    }
  }
  return RoundToBf16(sum);
}

}  // namespace lanewise::reference
