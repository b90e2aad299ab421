#ifndef LANEWISE_WEIGHTS_GFX950_LINEAR_H_
#define LANEWISE_WEIGHTS_GFX950_LINEAR_H_

#include "absl/status/statusor.h"
#include "weights/linear_source.h"

namespace lanewise::gfx950 {

// Which GEMM serves a linear, and so what its weight becomes (seed 001,
// process_weights_after_loading).
enum class LinearKind {
  kBlockCodes,  // e4m3 bytes as they are, codes [N / 32, K / 32]; any K % 32 = 0
  kRowCodes,    // e4m3 bytes as they are, codes [N, K / 32]; K % 128 = 0
  kBf16,        // dequantized once to bf16; the row codes are kept beside it
};

// The kind of a linear with K columns whose codes are, or fold to, blocks (or not).
LinearKind ChooseKind(bool blocks, std::int64_t k, bool batch_invariant);

// Weight and codes of that kind, row-major. A bf16 weight that was dequantized from e4m3 becomes
// its e4m3 bytes again. InvalidArgument where sizes are not multiples of 32, for kBlockCodes those
// of rows too, and for a bf16 weight of another kind than kBlockCodes.
absl::StatusOr<WeightPlans> PlanLinear(const LinearSource& source, LinearKind kind);

}  // namespace lanewise::gfx950

#endif  // LANEWISE_WEIGHTS_GFX950_LINEAR_H_
