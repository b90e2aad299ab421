#ifndef LANEWISE_WEIGHTS_GFX942_DENSE_H_
#define LANEWISE_WEIGHTS_GFX942_DENSE_H_

#include "absl/status/statusor.h"
#include "weights/linear_source.h"

namespace lanewise::gfx942 {

struct DenseOptions {
  bool chunk_q = false;      // even K before odd K in each 8-byte chunk
  bool refuse_nans = false;  // OCP NaN bytes, which would read as +-240
};

// The copy that the gfx942 GEMV reads: FNUZ bytes in gfx942/dense order [rows, Kp], Kp = columns
// rounded up to 128, padded with zero bytes; block codes [rows / 32, Kp / 32], each raised by one,
// 128 under the padding. Codes of 250 and more are refused when the plan runs. Source: seed 000,
// dense_copy and linear_copy; reference/gfx942/dense.h says it element by element.
//
// InvalidArgument where N, K or the part are not multiples of 32.
absl::StatusOr<WeightPlans> PlanDense(const LinearSource& source, const DenseOptions& options);

}  // namespace lanewise::gfx942

#endif  // LANEWISE_WEIGHTS_GFX942_DENSE_H_
