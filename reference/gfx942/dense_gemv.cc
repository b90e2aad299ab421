#include "reference/gfx942/dense_gemv.h"

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace lanewise::reference::gfx942 {
namespace {

constexpr std::uint8_t kFirstRefusedCode = 250;

}  // namespace

QuantizeOptions DenseActivationOptions() {
  QuantizeOptions options;
  options.format = ElementFormat::kE4m3Fnuz;
  options.maximum = 224.0f;
  options.smallest_code = 1;
  options.non_finite = NonFinite::kNanTopCode;
  return options;
}

absl::StatusOr<Quantized> FnuzWeight(const MxMatrix& ocp) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", ocp));
  if (ocp.format != ElementFormat::kE4m3Fn) {
    return InvalidArgument("w is of ", ElementFormatName(ocp.format),
                           ", expected e4m3fn to convert");
  }
  Quantized fnuz = {ocp.elements, ocp.codes};
  for (std::int64_t n = 0; n < fnuz.elements.dimension(0); ++n) {
    for (std::int64_t k = 0; k < fnuz.elements.dimension(1); ++k) {
      std::uint8_t& byte = fnuz.elements(n, k);
      if ((byte & 0x7F) == 0x7F) {
        return InvalidArgument("w[", n, ", ", k, "] is the e4m3fn NaN 0x",
                               absl::Hex(byte, absl::kZeroPad2),
                               ", which e4m3fnuz reads as a number");
      }
      if (byte == 0x80) byte = 0x00;
    }
  }
  for (std::int64_t row = 0; row < fnuz.codes.dimension(0); ++row) {
    for (std::int64_t block = 0; block < fnuz.codes.dimension(1); ++block) {
      std::uint8_t& code = fnuz.codes(row, block);
      if (code >= kFirstRefusedCode) {
        return InvalidArgument("w's code [", row, ", ", block, "] is ", static_cast<int>(code),
                               ", expected below ", static_cast<int>(kFirstRefusedCode));
      }
      ++code;
    }
  }
  return fnuz;
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const MxMatrix& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("x", x));
  LANEWISE_RETURN_IF_ERROR(CheckMxMatrix("w", w));
  LANEWISE_RETURN_IF_ERROR(CheckSameK("x", x.k(), "w", w.k()));
  LANEWISE_ASSIGN_OR_RETURN(const Reduction reduction, DenseGemvReduction(x.k(), plan));
  LANEWISE_ASSIGN_OR_RETURN(const auto products, Cdna3BlockProducts(x, w));
  return EvaluateReduction(reduction, *products, x, w);
}

absl::StatusOr<Tensor<float, 2>> DenseGemv(const Tensor<Bf16, 2>& x, const MxMatrix& w,
                                           const DenseGemvPlan& plan) {
  LANEWISE_ASSIGN_OR_RETURN(const Quantized quantized, Quantize(x, DenseActivationOptions()));
  return DenseGemv(MxMatrix{ElementFormat::kE4m3Fnuz, quantized.elements, quantized.codes}, w,
                   plan);
}

}  // namespace lanewise::reference::gfx942
