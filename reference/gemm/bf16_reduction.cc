#include "reference/gemm/bf16_reduction.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/gemm/parallel.h"
#include "reference/matrix_core/cdna4.h"
#include "reference/quantize/options.h"

namespace lanewise::reference {
namespace {

Tensor<float, 2> ToFloats(const Tensor<Bf16, 2>& values) {
  Tensor<float, 2> floats(values.dimension(0), values.dimension(1));
  for (std::int64_t i = 0; i < values.size(); ++i) floats.data()[i] = values.data()[i].ToFloat();
  return floats;
}

// One output: rows of K floats.
float Value(const Reduction& reduction, const float* x, const float* w, std::int64_t k) {
  float value = 0.0f;
  for (const std::int64_t block : reduction.blocks) {
    const std::int64_t first = block * kBlockSize;
    const int width = static_cast<int>(std::min(kBlockSize, k - first));
    value = cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, w + first, x + first, width,
                          /*exponent=*/0, value);
  }
  for (std::size_t i = 0; i < reduction.parts.size(); ++i) {
    const float part = Value(reduction.parts[i], x, w, k);
    value = i == 0 ? part : value + part;
  }
  return value;
}

}  // namespace

Tensor<float, 2> EvaluateBf16Reduction(const Reduction& reduction, const Tensor<Bf16, 2>& x,
                                       const Tensor<Bf16, 2>& w) {
  const std::int64_t k = x.dimension(1);
  const Tensor<float, 2> x_floats = ToFloats(x);
  const Tensor<float, 2> w_floats = ToFloats(w);
  Tensor<float, 2> out(x.dimension(0), w.dimension(0));
  ParallelFor(w.dimension(0), [&](std::int64_t n) {
    for (std::int64_t m = 0; m < x.dimension(0); ++m) {
      const float value = Value(reduction, x_floats.data() + m * k, w_floats.data() + n * k, k);
      out(m, n) = std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : value;
    }
  });
  return out;
}

}  // namespace lanewise::reference
