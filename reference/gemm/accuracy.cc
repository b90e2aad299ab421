#include "reference/gemm/accuracy.h"

#include <algorithm>
#include <cmath>

#include "formats/formats.h"
#include "reference/gemm/output.h"

namespace lanewise::reference {
namespace {

// The distance between neighbours around `value` in a format with float32's exponents.
double LastPlace(double value, int fraction_bits) {
  const int exponent = std::max(std::ilogb(value), -126);
  return std::ldexp(1.0, exponent - fraction_bits);
}

}  // namespace

int RoundingDepth(const Reduction& reduction) {
  int depth = static_cast<int>(reduction.blocks.size());
  const int parts = static_cast<int>(reduction.parts.size());
  for (int i = 0; i < parts; ++i) {
    const int additions = parts - std::max(i, 1);
    depth =
        std::max(depth, RoundingDepth(reduction.parts[static_cast<std::size_t>(i)]) + additions);
  }
  return depth;
}

Accuracy MeasureAccuracy(const Tensor<float, 2>& planned, const Tensor<double, 2>& exact,
                         const Tensor<double, 2>& magnitude, double bound) {
  Accuracy accuracy;
  accuracy.elements = planned.size();
  accuracy.bound = bound;
  double squares = 0;
  std::int64_t not_zero = 0;
  for (std::int64_t m = 0; m < planned.dimension(0); ++m) {
    for (std::int64_t n = 0; n < planned.dimension(1); ++n) {
      const double truth = exact(m, n);
      const double error = std::fabs(planned(m, n) - truth);
      if (truth != 0) {
        const double ulps = error / LastPlace(truth, 23);
        accuracy.max_ulps = std::max(accuracy.max_ulps, ulps);
        squares += ulps * ulps;
        ++not_zero;
        const double bf16_error = std::fabs(RoundToBf16(planned(m, n)).ToFloat() - truth);
        accuracy.max_bf16_ulps = std::max(accuracy.max_bf16_ulps, bf16_error / LastPlace(truth, 7));
      }

      const double unit = 0x1p-24 * magnitude(m, n) * (1 + bound * 0x1p-24);
      const double beyond_underflow = std::max(0.0, error - 0x1p-149 * bound);
      const double units = beyond_underflow == 0 ? 0 : beyond_underflow / unit;
      if (units > accuracy.worst) {
        accuracy.worst = units;
        accuracy.worst_m = m;
        accuracy.worst_n = n;
      }
    }
  }
  if (not_zero > 0) accuracy.rms_ulps = std::sqrt(squares / static_cast<double>(not_zero));
  return accuracy;
}

}  // namespace lanewise::reference
