#include "reference/gfx950/mxfp8_linear.h"

#include <variant>

#include "base/status.h"
#include "reference/gemm/output.h"
#include "reference/gfx950/bf16_gemm.h"
#include "reference/gfx950/block32_gemm.h"
#include "reference/gfx950/block32_selection.h"
#include "reference/gfx950/row_scale_gemm.h"

namespace lanewise::reference::gfx950 {
namespace {

absl::StatusOr<Tensor<Bf16, 2>> Finish(const absl::StatusOr<Tensor<float, 2>>& sums,
                                       const Mxfp8LinearOptions& options) {
  if (!sums.ok()) return sums.status();
  const Tensor<Bf16, 2> out = RoundToBf16(*sums);
  if (options.bias == nullptr) return out;
  return AddBias(out, *options.bias);
}

// A weight that is bf16, or would be if it had been processed when it was loaded.
bool IsServedAsBf16(const LinearWeight& weight) {
  if (weight.kind == LinearKind::kBf16) return true;
  const auto& bytes = std::get<Tensor<std::uint8_t, 2>>(weight.weight);
  return weight.kind == LinearKind::kRowCodes && bytes.dimension(1) % kRowScaleKMultiple != 0;
}

absl::StatusOr<Tensor<Bf16, 2>> Bf16Weight(const LinearWeight& weight) {
  if (weight.kind == LinearKind::kBf16) return std::get<Tensor<Bf16, 2>>(weight.weight);
  return Dequantize(std::get<Tensor<std::uint8_t, 2>>(weight.weight), weight.codes);
}

MxMatrix Bytes(const Quantized& x) { return {ElementFormat::kE4m3Fn, x.elements, x.codes}; }

// A weight that stayed e4m3.
absl::StatusOr<Tensor<float, 2>> QuantizedGemm(const Quantized& x, const LinearWeight& weight,
                                               const std::optional<Block32Config>& config) {
  const MxMatrix w = {ElementFormat::kE4m3Fn, std::get<Tensor<std::uint8_t, 2>>(weight.weight),
                      weight.codes};
  if (weight.kind == LinearKind::kRowCodes) return RowScaleGemm(Bytes(x), w);
  return Block32Gemm(Bytes(x), w,
                     config ? *config : SelectBlock32(Bytes(x).rows(), w.rows(), w.k()));
}

}  // namespace

QuantizeOptions ActivationOptions(BlockRule rule) {
  QuantizeOptions options;
  options.rule = rule;
  options.non_finite = NonFinite::kNanElements;
  return options;
}

absl::StatusOr<Tensor<Bf16, 2>> Mxfp8Linear(const Tensor<Bf16, 2>& x, const LinearWeight& weight,
                                            const Mxfp8LinearOptions& options) {
  if (IsServedAsBf16(weight)) {
    LANEWISE_ASSIGN_OR_RETURN(const auto w, Bf16Weight(weight));
    return Finish(Bf16Gemm(x, w), options);
  }
  LANEWISE_ASSIGN_OR_RETURN(const Quantized quantized,
                            Quantize(x, ActivationOptions(options.rule)));
  const auto& bytes = std::get<Tensor<std::uint8_t, 2>>(weight.weight);
  const std::optional<Block32Config> config =
      SelectBlock32Quantizing(x.dimension(0), bytes.dimension(0), bytes.dimension(1));
  return Finish(QuantizedGemm(quantized, weight, config), options);
}

absl::StatusOr<Tensor<Bf16, 2>> Mxfp8Linear(const Quantized& x, const LinearWeight& weight,
                                            const Mxfp8LinearOptions& options) {
  if (IsServedAsBf16(weight)) {
    LANEWISE_ASSIGN_OR_RETURN(const auto back, DequantizeToBf16(x, ElementFormat::kE4m3Fn));
    LANEWISE_ASSIGN_OR_RETURN(const auto w, Bf16Weight(weight));
    return Finish(Bf16Gemm(back, w), options);
  }
  return Finish(QuantizedGemm(x, weight, std::nullopt), options);
}

}  // namespace lanewise::reference::gfx950
