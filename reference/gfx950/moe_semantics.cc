#include "reference/gfx950/moe_semantics.h"

#include <utility>
#include <vector>

#include "base/status.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {
namespace {

constexpr std::int64_t kBlocksPerStep = 4;
constexpr std::int64_t kStepsPerGroup = 8;
constexpr std::int64_t kGroup = kStepsPerGroup * kBlocksPerStep * kBlockSize;

// Deals the steps of K to `count` accumulators: step s goes to which(s, steps).
template <class Which>
absl::StatusOr<std::vector<Reduction>> Accumulators(std::int64_t k, int count, Which which) {
  if (k % kBlockSize != 0) {
    return InvalidArgument("K = ", k, " is not a multiple of the block size ", kBlockSize);
  }
  const std::int64_t blocks = k / kBlockSize;
  const std::int64_t steps = (blocks + kBlocksPerStep - 1) / kBlocksPerStep;
  std::vector<Reduction> accumulators(static_cast<std::size_t>(count));
  for (std::int64_t block = 0; block < blocks; ++block) {
    const std::int64_t accumulator = which(block / kBlocksPerStep, steps);
    accumulators[static_cast<std::size_t>(accumulator)].blocks.push_back(block);
  }
  return accumulators;
}

Reduction Sum(Reduction a, Reduction b) {
  Reduction sum;
  sum.parts.push_back(std::move(a));
  sum.parts.push_back(std::move(b));
  return sum;
}

absl::StatusOr<Tensor<float, 2>> Gemv(const MxMatrix& x, const MxMatrix& w,
                                      const absl::StatusOr<Reduction>& reduction) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("x", x));
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", w));
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.k(), "w", w.k()));
  if (!reduction.ok()) return reduction.status();
  if (w.format != ElementFormat::kE2m1) {
    return InvalidArgument("w is of ", ElementFormatName(w.format), ", expected e2m1");
  }
  LANEWISE_ASSIGN_OR_RETURN(const auto products, ExactBlockProducts(x, w));
  return EvaluateReduction(*reduction, *products, x, w);
}

// Quantizes the activations of a stage and multiplies.
template <class Multiply>
ExpertGemm QuantizedStage(Multiply multiply) {
  return
      [multiply](const Tensor<Bf16, 2>& x, const MxMatrix& w) -> absl::StatusOr<Tensor<float, 2>> {
        LANEWISE_ASSIGN_OR_RETURN(const Quantized q, Quantize(x, RoutedActivationOptions()));
        return multiply(MxMatrix{ElementFormat::kE4m3Fn, q.elements, q.codes}, w);
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

absl::StatusOr<Reduction> UpGateReduction(std::int64_t k, int slices) {
  if (slices != 2 && slices != 4) {
    return InvalidArgument("up/gate has ", slices, " slices of K, expected 2 or 4");
  }
  if (slices == 4) {
    if (k % kGroup != 0) {
      return InvalidArgument("K = ", k, " is not a multiple of ", kGroup,
                             ", as four slices of up/gate need");
    }
    LANEWISE_ASSIGN_OR_RETURN(std::vector<Reduction> s,
                              Accumulators(k, 4, [](std::int64_t step, std::int64_t) {
                                return step % kStepsPerGroup / 2;
                              }));
    return Sum(Sum(std::move(s[0]), std::move(s[1])), Sum(std::move(s[2]), std::move(s[3])));
  }
  LANEWISE_ASSIGN_OR_RETURN(
      std::vector<Reduction> s,
      Accumulators(k, 2, [](std::int64_t step, std::int64_t steps) -> std::int64_t {
        const std::int64_t groups = (steps + kStepsPerGroup - 1) / kStepsPerGroup;
        const std::int64_t group = step / kStepsPerGroup;
        if (groups % 2 == 0 || group != groups - 1) return group % 2;
        return step % kStepsPerGroup < kStepsPerGroup / 2 ? 0 : 1;
      }));
  return Sum(std::move(s[0]), std::move(s[1]));
}

absl::StatusOr<Reduction> DownReduction(std::int64_t k) {
  LANEWISE_ASSIGN_OR_RETURN(
      std::vector<Reduction> a,
      Accumulators(k, 2, [](std::int64_t step, std::int64_t) { return step % 2; }));
  return Sum(std::move(a[0]), std::move(a[1]));
}

absl::StatusOr<Tensor<float, 2>> UpGateGemv(const MxMatrix& x, const MxMatrix& w, int slices) {
  return Gemv(x, w, UpGateReduction(x.k(), slices));
}

absl::StatusOr<Tensor<float, 2>> DownGemv(const MxMatrix& x, const MxMatrix& w) {
  return Gemv(x, w, DownReduction(x.k()));
}

absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared) {
  return RoutedMoe(
      x, experts, routing, shared,
      {QuantizedStage([](const MxMatrix& q, const MxMatrix& w13) { return UpGateGemv(q, w13); }),
       kDeepSeekSwiglu, QuantizedStage(DownGemv)});
}

}  // namespace lanewise::reference::gfx950
