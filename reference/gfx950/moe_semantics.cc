#include "reference/gfx950/moe_semantics.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {
namespace {

constexpr std::int64_t kBlocksPerStep = 4;
constexpr std::int64_t kStepsPerGroup = 8;

// Deals the steps of K to two accumulators: step s goes to which(s, steps).
template <class Which>
absl::StatusOr<Reduction> TwoAccumulators(std::int64_t k, Which which) {
  if (k % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("K = ", k, " is not a multiple of the block size ", kBlockSize));
  }
  const std::int64_t blocks = k / kBlockSize;
  const std::int64_t steps = (blocks + kBlocksPerStep - 1) / kBlocksPerStep;
  Reduction sum;
  sum.parts.resize(2);
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t accumulator = which(block / kBlocksPerStep, steps);
    sum.parts[static_cast<std::size_t>(accumulator)].blocks.push_back(block);
  }
  return sum;
}

absl::StatusOr<Tensor<float, 2>> Gemv(const MxMatrix& x, const MxMatrix& w,
                                      const absl::StatusOr<Reduction>& reduction) {
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  if (!reduction.ok()) return reduction.status();
  if (w.format != ElementFormat::kE2m1) {
    return absl::InvalidArgumentError(
        absl::StrCat("w is of ", AbslView(ElementFormatName(w.format)), ", expected e2m1"));
  }
  absl::StatusOr<std::unique_ptr<BlockProducts>> products = ExactBlockProducts(x, w);
  if (!products.ok()) return products.status();
  return EvaluateReduction(*reduction, **products, x, w);
}

// Quantizes the activations of a stage and multiplies.
template <class Multiply>
ExpertGemm QuantizedStage(Multiply multiply) {
  return
      [multiply](const Tensor<Bf16, 2>& x, const MxMatrix& w) -> absl::StatusOr<Tensor<float, 2>> {
        const absl::StatusOr<Quantized> q = Quantize(x, RoutedActivationOptions());
        if (!q.ok()) return q.status();
        return multiply(MxMatrix{ElementFormat::kE4m3Fn, q->elements, q->codes}, w);
      };
}

}  // namespace

QuantizeOptions RoutedActivationOptions() {
  QuantizeOptions options;
  options.rule = BlockRule::kRoundUp;
  options.amax_floor = 1e-10f;
  options.smallest_code = 1;
  return options;
}

absl::StatusOr<Reduction> UpGateReduction(std::int64_t k) {
  return TwoAccumulators(k, [](std::int64_t step, std::int64_t steps) -> std::int64_t {
    const std::int64_t groups = (steps + kStepsPerGroup - 1) / kStepsPerGroup;
    const std::int64_t group = step / kStepsPerGroup;
    if (groups % 2 == 0 || group != groups - 1) return group % 2;
    return step % kStepsPerGroup < kStepsPerGroup / 2 ? 0 : 1;
  });
}

absl::StatusOr<Reduction> DownReduction(std::int64_t k) {
  return TwoAccumulators(k, [](std::int64_t step, std::int64_t) { return step % 2; });
}

absl::StatusOr<Tensor<float, 2>> UpGateGemv(const MxMatrix& x, const MxMatrix& w) {
  return Gemv(x, w, UpGateReduction(x.k()));
}

absl::StatusOr<Tensor<float, 2>> DownGemv(const MxMatrix& x, const MxMatrix& w) {
  return Gemv(x, w, DownReduction(x.k()));
}

absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared) {
  return RoutedMoe(x, experts, routing, shared,
                   {QuantizedStage(UpGateGemv), kDeepSeekSwiglu, QuantizedStage(DownGemv)});
}

}  // namespace lanewise::reference::gfx950
