// gfx950's linear, which is composed of the GEMMs that the other planned operations hold to their
// plans: which one serves which weight and activation, then bias and rounding.

#include <cstdint>
#include <utility>

#include "base/status.h"
#include "reference/gfx950/bf16_gemm.h"
#include "reference/gfx950/block32_gemm.h"
#include "reference/gfx950/block32_selection.h"
#include "reference/gfx950/mxfp8_linear.h"
#include "reference/gfx950/row_scale_gemm.h"
#include "reference/quantize/mx.h"
#include "tests/differential/data.h"
#include "tests/differential/matrices.h"

namespace lanewise::differential {
namespace {

using reference::MxMatrix;
using Sums = absl::StatusOr<Tensor<float, 2>>;

absl::Status LinearByHand(const Call& call) {
  namespace gfx950 = reference::gfx950;
  const std::int64_t m = call["M"], n = call["N"], k = call["K"];
  const auto x = TensorOf<Bf16, 2>(call, "x");
  const Mx w = MxOf(call, "w", "w_codes");
  LANEWISE_ASSIGN_OR_RETURN(const auto q, reference::Quantize(x, gfx950::ActivationOptions()));
  const MxMatrix bytes = {ElementFormat::kE4m3Fn, q.elements, q.codes};
  const bool quantized = call["x"] == 1;
  Sums sums;
  if (call["weight"] == 0) {
    auto config = gfx950::SelectBlock32Quantizing(m, n, k);
    if (quantized || !config) config = gfx950::SelectBlock32(m, n, k);
    sums = gfx950::Block32Gemm(bytes, w.view(), *config);
  } else if (call["weight"] == 1 && k % 128 == 0) {
    sums = gfx950::RowScaleGemm(bytes, w.view());
  } else {
    LANEWISE_ASSIGN_OR_RETURN(const auto weight,
                              reference::DequantizeToBf16({w.elements, w.codes}, w.format));
    LANEWISE_ASSIGN_OR_RETURN(const auto back,
                              reference::DequantizeToBf16(q, ElementFormat::kE4m3Fn));
    sums = gfx950::Bf16Gemm(quantized ? back : x, weight);
  }
  if (!sums.ok()) return sums.status();
  for (std::int64_t i = 0; i < m * n; ++i) {
    Bf16 value = Bf16::FromFloat(sums->data()[i]);
    if (call["bias"] == 1) {
      value = Bf16::FromFloat(value.ToFloat() + call.Data<Bf16>("bias")[i % n].ToFloat());
    }
    call.Data<Bf16>("out")[i] = value;
  }
  return absl::OkStatus();
}

absl::Status Linear(const Call& call) {
  namespace gfx950 = reference::gfx950;
  const auto x = TensorOf<Bf16, 2>(call, "x");
  const Mx w = MxOf(call, "w", "w_codes");
  gfx950::LinearWeight weight = {static_cast<gfx950::LinearKind>(call["weight"]), w.elements,
                                 w.codes};
  if (weight.kind == gfx950::LinearKind::kBf16) {
    LANEWISE_ASSIGN_OR_RETURN(auto values, gfx950::Dequantize(w.elements, w.codes));
    weight.weight = std::move(values);
  }
  const auto bias = TensorOf<Bf16, 1>(call, "bias");
  const gfx950::Mxfp8LinearOptions options = {.bias = call["bias"] == 1 ? &bias : nullptr};
  absl::StatusOr<Tensor<Bf16, 2>> out;
  if (call["x"] == 1) {
    LANEWISE_ASSIGN_OR_RETURN(const auto q, reference::Quantize(x, gfx950::ActivationOptions()));
    out = gfx950::Mxfp8Linear(q, weight, options);
  } else {
    out = gfx950::Mxfp8Linear(x, weight, options);
  }
  if (out.ok()) Store(call, "out", *out);
  return out.status();
}

const Registration kLinear([] {
  Operation operation;
  operation.name = "planned/gfx950/mxfp8_linear";
  operation.dimensions = {{"M"},
                          {"N"},
                          {"K"},
                          {"weight", {"block_codes", "row_codes", "bf16"}},
                          {"x", {"bf16", "quantized"}},
                          {"bias", {"without", "with"}}};
  operation.shapes =
      "M=1,4,9 N=64 K=384 weight=* x=* bias=*\n"
      "M=1 N=5120 K=576 weight=block_codes x=bf16 bias=without\n"  // of the tuned table
      "random 4: M=1..40 N=32*{1..3} K=128*{1..6} weight=* x=* bias=*\n"
      "M=2 N=32 K=160 weight=* x=* bias=with\n"
      "M=2 N=32 K=48 weight=row_codes x=bf16 bias=without  # refused";
  operation.arguments = {
      {.name = "x", .format = "bf16", .extents = {"M", "K"}},
      {.name = "w", .format = "e4m3fn", .extents = {"N", "K"}, .negate_second_half = true},
      {.name = "w_codes",
       .format = "e8m0",
       .extents = {"N / 32 + min(weight, 1) * (N - N / 32)", "K / 32"}},
      {.name = "bias", .format = "bf16", .extents = {"bias * N"}},
      {.name = "out",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"M", "N"},
       .contract = Contract::kNumbers}};
  operation.data = {Data::kNormal, Data::kRandomBits, Data::kNan, Data::kCancellation};
  operation.reference = LinearByHand;
  operation.host = Linear;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
