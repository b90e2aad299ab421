#include "reference/gfx950/a16w4_moe_semantics.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/bf16_reduction.h"
#include "reference/gemm/output.h"
#include "reference/gemm/reduction.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {
namespace {

constexpr std::int64_t kStep = 128;
constexpr std::int64_t kInstructionsPerPair = 8;
constexpr std::int64_t kUpGateWaves = 8;

absl::Status CheckPairs(std::string_view name, std::int64_t k) {
  if (k % kA16w4KMultiple == 0) return absl::OkStatus();
  return InvalidArgument(name, " = ", k, " is not a multiple of ", kA16w4KMultiple,
                         ", two steps of A16W4");
}

// [rows, K] with the K sets of the instructions one after the other: instruction 4 st + d has the
// 32 columns from there.
Tensor<Bf16, 2> InInstructionOrder(const Tensor<Bf16, 2>& x) {
  Tensor<Bf16, 2> ordered(x.dimension(0), x.dimension(1));
  for (std::int64_t row = 0; row < x.dimension(0); ++row) {
    for (std::int64_t k = 0; k < x.dimension(1); ++k) {
      const std::int64_t step = k / kStep;
      const std::int64_t j = k % kStep / 32;
      const std::int64_t d = k % 32 / 8;
      ordered(row, kStep * step + 32 * d + 8 * j + k % 8) = x(row, k);
    }
  }
  return ordered;
}

// Pairs of steps [first, last), one chain.
Reduction Chain(std::int64_t first, std::int64_t last) {
  return Ascending(kInstructionsPerPair * first, kInstructionsPerPair * last);
}

// reduction(pairs of steps) of x and w.
template <class MakeReduction>
absl::StatusOr<Tensor<float, 2>> Multiply(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                          MakeReduction reduction) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", w));
  if (w.format != ElementFormat::kE2m1) {
    return InvalidArgument("w is of ", ElementFormatName(w.format), ", expected e2m1");
  }
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.dimension(1), "w", w.k()));
  LANEWISE_RETURN_IF_ERROR(CheckPairs("K", w.k()));
  LANEWISE_ASSIGN_OR_RETURN(const auto weight,
                            DequantizeToBf16({w.elements, w.codes}, ElementFormat::kE2m1));
  return EvaluateBf16Reduction(reduction(w.k() / kA16w4KMultiple), InInstructionOrder(x),
                               InInstructionOrder(weight));
}

}  // namespace

absl::StatusOr<Tensor<float, 2>> A16w4UpGate(const Tensor<Bf16, 2>& x, const MxMatrix& w) {
  return Multiply(x, w, [](std::int64_t pairs) {
    const std::int64_t run = (pairs + kUpGateWaves - 1) / kUpGateWaves;
    Reduction waves;
    waves.parts.emplace_back();  // The sum over waves starts from +0.
    for (std::int64_t wave = 0; wave < kUpGateWaves; ++wave) {
      const std::int64_t first = std::min(pairs, wave * run);
      waves.parts.push_back(Chain(first, std::min(pairs, first + run)));
    }
    return waves;
  });
}

absl::StatusOr<Tensor<float, 2>> A16w4Down(const Tensor<Bf16, 2>& x, const MxMatrix& w) {
  return Multiply(x, w, [](std::int64_t pairs) { return Chain(0, pairs); });
}

absl::StatusOr<MoeOutput> A16w4Moe(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                   const Routing& routing,
                                   std::optional<std::int64_t> shared_expert) {
  LANEWISE_RETURN_IF_ERROR(CheckExpertTensors(experts));
  const std::int64_t k = experts.w13.dimension(2) * 2;
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.dimension(1), "w13", k));
  LANEWISE_RETURN_IF_ERROR(CheckPairs("K", k));
  LANEWISE_RETURN_IF_ERROR(CheckPairs("inter", experts.w13.dimension(1) / 2));
  const MoeStages stages = {A16w4UpGate, kGptOssSwiglu, A16w4Down, /*shared_first=*/true};
  if (!shared_expert) return RoutedMoe(x, experts, routing, nullptr, stages);

  const std::int64_t place = *shared_expert - routing.first_expert;
  if (place < 0 || place >= experts.w13.dimension(0)) {
    return InvalidArgument("the shared expert is ", *shared_expert, ", expected one of the ",
                           experts.w13.dimension(0), " from ", routing.first_expert, " on");
  }
  LANEWISE_ASSIGN_OR_RETURN(const auto rows, ExpertRows(x, experts, place, stages));
  const Tensor<Bf16, 2> shared = RoundToBf16(rows);
  return RoutedMoe(x, experts, routing, &shared, stages);
}

}  // namespace lanewise::reference::gfx950
