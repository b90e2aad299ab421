#include "reference/gfx942/moe_semantics.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/output.h"
#include "reference/gfx942/dense_gemv.h"

namespace lanewise::reference::gfx942 {
namespace {

absl::StatusOr<Tensor<float, 2>> Gemv(const MxMatrix& x, const MxMatrix& w,
                                      const absl::StatusOr<Reduction>& reduction) {
  if (absl::Status status = CheckMxMatrix("x", x); !status.ok()) return status;
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (absl::Status status = CheckSameK("x", x.k(), "w", w.k()); !status.ok()) return status;
  if (!reduction.ok()) return reduction.status();
  if (x.format != ElementFormat::kE4m3Fnuz) {
    return absl::InvalidArgumentError(
        absl::StrCat("x is of ", AbslView(ElementFormatName(x.format)), ", expected e4m3fnuz"));
  }
  const absl::StatusOr<Quantized> fnuz = FnuzFromFp4(w);
  if (!fnuz.ok()) return fnuz.status();
  const MxMatrix w_fnuz = {ElementFormat::kE4m3Fnuz, fnuz->elements, fnuz->codes};
  absl::StatusOr<std::unique_ptr<BlockProducts>> products = Cdna3BlockProducts(x, w_fnuz);
  if (!products.ok()) return products.status();
  return EvaluateReduction(*reduction, **products, x, w_fnuz, kFp4ExponentOffset);
}

// Two slices' sum, or a balanced tree of more.
Reduction Tree(std::int64_t first, std::int64_t last, int slices) {
  if (slices == 1) return Ascending(first, last);
  const std::int64_t middle = first + (last - first) / 2;
  Reduction sum;
  sum.parts.push_back(Tree(first, middle, slices / 2));
  sum.parts.push_back(Tree(middle, last, slices / 2));
  return sum;
}

// Quantizes the activations of a stage and multiplies.
template <class Multiply>
absl::StatusOr<Tensor<float, 2>> QuantizedStage(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                                Multiply multiply) {
  const absl::StatusOr<Quantized> q = Quantize(x, RoutedActivationOptions());
  if (!q.ok()) return q.status();
  return multiply(MxMatrix{ElementFormat::kE4m3Fnuz, q->elements, q->codes}, w);
}

}  // namespace

QuantizeOptions RoutedActivationOptions() {
  QuantizeOptions options;
  options.rule = BlockRule::kRoundUp;
  options.format = ElementFormat::kE4m3Fnuz;
  options.maximum = 224.0f;
  options.amax_floor = 1e-10f;
  options.smallest_code = 1;
  return options;
}

absl::StatusOr<Quantized> FnuzFromFp4(const MxMatrix& w) {
  if (absl::Status status = CheckMxMatrix("w", w); !status.ok()) return status;
  if (w.format != ElementFormat::kE2m1) {
    return absl::InvalidArgumentError(
        absl::StrCat("w is of ", AbslView(ElementFormatName(w.format)), ", expected e2m1"));
  }
  Quantized fnuz;
  fnuz.codes = w.codes;
  fnuz.elements.resize(w.rows(), w.k());
  for (std::int64_t row = 0; row < w.rows(); ++row) {
    for (std::int64_t k = 0; k < w.k(); ++k) {
      const float value = DecodeElement(ElementFormat::kE2m1, w.element(row, k));
      fnuz.elements(row, k) = E4m3Fnuz::FromFloat(value * 0x1p-7f).bits();
    }
  }
  return fnuz;
}

absl::StatusOr<Reduction> UpGateReduction(std::int64_t k, int slices) {
  if (slices != 1 && slices != 2 && slices != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("up/gate has ", slices, " slices of K, expected 1, 2 or 4"));
  }
  if (k % (kBlockSize * slices) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("K = ", k, " is not a multiple of ",
                                                   kBlockSize * slices, ", ", slices,
                                                   " slices of whole blocks"));
  }
  return Tree(0, k / kBlockSize, slices);
}

absl::StatusOr<Reduction> DownReduction(std::int64_t k) {
  if (k % kBlockSize != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("K = ", k, " is not a multiple of the block size ", kBlockSize));
  }
  return Ascending(0, k / kBlockSize);
}

absl::StatusOr<Tensor<float, 2>> UpGateGemv(const MxMatrix& x, const MxMatrix& w, int slices) {
  return Gemv(x, w, UpGateReduction(x.k(), slices));
}

absl::StatusOr<Tensor<float, 2>> DownGemv(const MxMatrix& x, const MxMatrix& w) {
  return Gemv(x, w, DownReduction(x.k()));
}

absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared,
                                        const Swiglu& swiglu) {
  const MoeStages stages = {
      [](const Tensor<Bf16, 2>& rows, const MxMatrix& w13) {
        return QuantizedStage(
            rows, w13, [](const MxMatrix& q, const MxMatrix& w) { return UpGateGemv(q, w); });
      },
      swiglu,
      [](const Tensor<Bf16, 2>& rows, const MxMatrix& w2) {
        return QuantizedStage(rows, w2, DownGemv);
      }};
  return RoutedMoe(x, experts, routing, shared, stages);
}

absl::StatusOr<MoeOutput> RoutedExperts(const Tensor<Bf16, 2>& x, const ExpertTensors& experts,
                                        const Routing& routing, const Tensor<Bf16, 2>* shared) {
  return RoutedExperts(x, experts, routing, shared, kDeepSeekSwiglu);
}

absl::StatusOr<Tensor<Bf16, 2>> ActivateSharedRows(const Tensor<Bf16, 2>& gate_up,
                                                   const Swiglu& swiglu) {
  if (gate_up.dimension(1) % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("gate_up is ", ShapeText(gate_up), ", expected as many gates as ups"));
  }
  const std::int64_t inter = gate_up.dimension(1) / 2;
  Tensor<Bf16, 2> y(gate_up.dimension(0), inter);
  for (std::int64_t token = 0; token < y.dimension(0); ++token) {
    for (std::int64_t i = 0; i < inter; ++i) {
      y(token, i) = ActivateSharedExpert(swiglu, gate_up(token, i), gate_up(token, inter + i));
    }
  }
  return y;
}

absl::StatusOr<Tensor<Bf16, 2>> SharedExpert(const Tensor<Bf16, 2>& x, const MxMatrix& gate_up,
                                             const MxMatrix& down, const Swiglu& swiglu) {
  const absl::StatusOr<Tensor<float, 2>> sums = DenseGemv(x, gate_up, kDensePlan);
  if (!sums.ok()) return sums.status();
  const absl::StatusOr<Tensor<Bf16, 2>> y = ActivateSharedRows(RoundToBf16(*sums), swiglu);
  if (!y.ok()) return y.status();
  const absl::StatusOr<Tensor<float, 2>> out = DenseGemv(*y, down, kDensePlan);
  if (!out.ok()) return out.status();
  return RoundToBf16(*out);
}

}  // namespace lanewise::reference::gfx942
