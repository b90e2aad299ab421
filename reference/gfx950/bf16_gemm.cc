#include "reference/gfx950/bf16_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/parallel.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference::gfx950 {
namespace {

// K of one instruction.
constexpr std::int64_t kStep = 32;

Tensor<float, 2> ToFloats(const Tensor<Bf16, 2>& values) {
  Tensor<float, 2> floats(values.dimension(0), values.dimension(1));
  for (std::int64_t i = 0; i < values.size(); ++i) floats.data()[i] = values.data()[i].ToFloat();
  return floats;
}

}  // namespace

absl::StatusOr<Tensor<float, 2>> Bf16Gemm(const Tensor<Bf16, 2>& x, const Tensor<Bf16, 2>& w) {
  const std::int64_t k = x.dimension(1);
  if (absl::Status status = CheckSameK("x", k, "w", w.dimension(1)); !status.ok()) return status;
  const Tensor<float, 2> x_floats = ToFloats(x);
  const Tensor<float, 2> w_floats = ToFloats(w);
  Tensor<float, 2> out(x.dimension(0), w.dimension(0));
  ParallelFor(w.dimension(0), [&](std::int64_t n) {
    for (std::int64_t m = 0; m < x.dimension(0); ++m) {
      float acc = 0.0f;
      for (std::int64_t first = 0; first < k; first += kStep) {
        const int width = static_cast<int>(std::min(kStep, k - first));
        acc = cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16,
                            w_floats.data() + n * k + first, x_floats.data() + m * k + first, width,
                            0, acc);
      }
      out(m, n) = std::isnan(acc) ? std::numeric_limits<float>::quiet_NaN() : acc;
    }
  });
  return out;
}

}  // namespace lanewise::reference::gfx950
