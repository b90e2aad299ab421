#include "reference/gfx950/bf16_gemm.h"

#include "absl/status/status.h"
#include "reference/gemm/bf16_reduction.h"
#include "reference/gemm/operand.h"
#include "reference/quantize/options.h"

namespace lanewise::reference::gfx950 {

absl::StatusOr<Tensor<float, 2>> Bf16Gemm(const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w) {
  const std::int64_t k = x.dimension(1);
  if (absl::Status status = CheckSameK("x", k, "w", w.dimension(1)); !status.ok()) return status;
  return EvaluateBf16Reduction(Ascending(0, (k + kBlockSize - 1) / kBlockSize), x, w);
}

}  // namespace lanewise::reference::gfx950
