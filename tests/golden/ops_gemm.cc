// GEMM semantics in reference/.

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/operand.h"
#include "reference/gemm/output.h"
#include "reference/gfx942/dense_gemv.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"
#include "tests/golden/ops.h"
#include "tests/golden/tensors.h"

namespace lanewise::golden {
namespace {

using Bytes2 = Tensor<std::uint8_t, 2>;
using reference::ExactLinear;
using reference::MxMatrix;

// An MX input: role, and its codes as role_scale.
struct MxInput {
  Bytes2 elements;
  Bytes2 codes;
};

absl::StatusOr<MxInput> GetMx(const Case& golden_case, const std::string& role) {
  absl::StatusOr<Bytes2> elements = InputTensor<std::uint8_t, 2>(golden_case, role);
  absl::StatusOr<Bytes2> codes = InputTensor<std::uint8_t, 2>(golden_case, role + "_scale");
  if (!elements.ok()) return elements.status();
  if (!codes.ok()) return codes.status();
  return MxInput{*std::move(elements), *std::move(codes)};
}

// The exact product as both outputs.
template <class X>
absl::StatusOr<Results> ExactResults(const X& x, const MxMatrix& w) {
  absl::StatusOr<Tensor<float, 2>> f32 = ExactLinear<float>(x, w);
  absl::StatusOr<Tensor<Bf16, 2>> bf16 = ExactLinear<Bf16>(x, w);
  if (!f32.ok()) return f32.status();
  if (!bf16.ok()) return bf16.status();
  Results results;
  results.tensors["f32"] = ToOutput(*f32);
  results.tensors["bf16"] = ToOutput(*bf16);
  return results;
}

// Row or block scales: the shape of w_scale says which.
absl::StatusOr<Results> Mxfp8Linear(const Case& golden_case) {
  absl::StatusOr<MxInput> x = GetMx(golden_case, "x");
  absl::StatusOr<MxInput> w = GetMx(golden_case, "w");
  if (!x.ok()) return x.status();
  if (!w.ok()) return w.status();
  return ExactResults(MxMatrix{ElementFormat::kE4m3Fn, x->elements, x->codes},
                      MxMatrix{ElementFormat::kE4m3Fn, w->elements, w->codes});
}

absl::StatusOr<Results> A16w4Linear(const Case& golden_case) {
  absl::StatusOr<Tensor<Bf16, 2>> x = InputTensor<Bf16, 2>(golden_case, "x");
  absl::StatusOr<MxInput> w = GetMx(golden_case, "w");
  if (!x.ok()) return x.status();
  if (!w.ok()) return w.status();
  return ExactResults(*x, MxMatrix{ElementFormat::kE2m1, w->elements, w->codes});
}

absl::StatusOr<Results> Gfx942DenseGemv(const Case& golden_case) {
  namespace gfx942 = reference::gfx942;
  absl::StatusOr<Tensor<Bf16, 2>> x = InputTensor<Bf16, 2>(golden_case, "x");
  absl::StatusOr<MxInput> ocp = GetMx(golden_case, "w");
  absl::StatusOr<std::int64_t> waves = golden_case.IntArg("waves");
  absl::StatusOr<std::int64_t> step = golden_case.IntArg("step");
  absl::StatusOr<std::int64_t> maximum = golden_case.IntArg("max");
  if (!x.ok()) return x.status();
  if (!ocp.ok()) return ocp.status();
  if (!waves.ok()) return waves.status();
  if (!step.ok()) return step.status();
  if (!maximum.ok()) return maximum.status();
  if (*step != gfx942::kBlocksPerStep * reference::kBlockSize) {
    return InvalidArgument("the kernel has steps of 128");
  }
  reference::QuantizeOptions options = gfx942::DenseActivationOptions();
  options.maximum = static_cast<float>(*maximum);
  // The case's own, which differ from the kernel's on blocks of zeros and of what is not finite.
  options.smallest_code = 0;
  options.non_finite = NonFinite::kNanBlock;
  LANEWISE_ASSIGN_OR_RETURN(reference::Quantized q, reference::Quantize(*x, options));
  LANEWISE_ASSIGN_OR_RETURN(
      reference::Quantized w,
      gfx942::FnuzWeight({ElementFormat::kE4m3Fn, ocp->elements, ocp->codes}));
  gfx942::DenseGemvPlan plan;
  plan.waves = static_cast<int>(*waves);
  LANEWISE_ASSIGN_OR_RETURN(
      auto sums, gfx942::DenseGemv(MxMatrix{ElementFormat::kE4m3Fnuz, q.elements, q.codes},
                                   MxMatrix{ElementFormat::kE4m3Fnuz, w.elements, w.codes}, plan));
  Results results;
  results.tensors["x_bytes"] = ToOutput(q.elements);
  results.tensors["x_codes"] = ToOutput(q.codes);
  results.tensors["f32"] = ToOutput(sums);
  results.tensors["bf16"] = ToOutput(reference::RoundToBf16(sums));
  return results;
}

}  // namespace

void AddGemm(OperationTable& table) {
  table.Add("mxfp8_linear.exact", kReference, Mxfp8Linear);
  table.Add("mxfp8_block32_linear.exact", kReference, Mxfp8Linear);
  table.Add("a16w4_linear.exact", kReference, A16w4Linear);
  table.Add("gfx942_dense_gemv.planned", kReference, Gfx942DenseGemv);
}

}  // namespace lanewise::golden
