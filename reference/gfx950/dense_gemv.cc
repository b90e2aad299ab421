#include "reference/gfx950/dense_gemv.h"

#include "base/status.h"
#include "reference/gemm/reduction.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {

QuantizeOptions DenseActivationOptions() {
  QuantizeOptions options;
  options.smallest_code = 1;
  options.non_finite = NonFinite::kNanTopCode;
  return options;
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const MxMatrix& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("x", x));
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", w));
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.k(), "w", w.k()));
  if (x.format != ElementFormat::kE4m3Fn || w.format != ElementFormat::kE4m3Fn) {
    return InvalidArgument("x is of ", ElementFormatName(x.format), " and w of ",
                           ElementFormatName(w.format), ", expected e4m3fn both");
  }
  LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, DenseGemvReduction(x.k(), plan));
  LANEWISE_ASSIGN_OR_RETURN(const auto products, ExactBlockProducts(x, w));
  return EvaluateReduction(reduction, *products, x, w);
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  LANEWISE_ASSIGN_OR_RETURN(const Quantized q, Quantize(x, DenseActivationOptions()));
  return DenseGemv(MxMatrix{ElementFormat::kE4m3Fn, q.elements, q.codes}, w, plan);
}

}  // namespace lanewise::reference::gfx950
