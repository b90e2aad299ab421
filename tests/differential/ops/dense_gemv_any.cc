// gfx942's dense FP8 GEMV over prepared weights. `against=planned` holds a kernel to the reduction
// that hip/gfx942/dense_gemv.h states, every bit; `against=exact` holds any kernel to the true sum
// within the bound of reference/gemm/accuracy.h for the plan's reduction.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/status.h"
#include "hip/gfx942/dense_gemv.h"
#include "reference/gemm/accuracy.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gfx942/dense.h"
#include "reference/gfx942/dense_gemv.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using Bytes = Tensor<std::uint8_t, 2>;
using reference::MxMatrix;

Bytes BytesOf(const Call& call, std::string_view name) {
  const Operand& operand = call.At(name);
  Bytes bytes(operand.extents[0], operand.extents[1]);
  std::memcpy(bytes.data(), operand.data, static_cast<std::size_t>(operand.bytes));
  return bytes;
}

judge::DenseGemvPlan PlanOf(const Call& call) {
  if (call["plan"] == 1) return judge::kGroupedPlan;
  return call["plan"] == 2 ? judge::kSplitPlan : judge::kDensePlan;
}

// w and w_codes: the copy of the logical weight, which stands before them.
void Prepare(const char* name, const Call& call) {
  const absl::StatusOr<judge::DenseCopied> copied =
      judge::DenseCopy(BytesOf(call, "w8"), BytesOf(call, "scale"), judge::ChunkOrder::kNatural);
  const std::span<std::uint8_t> to = call.Bytes(name);
  std::fill(to.begin(), to.end(), std::uint8_t{0});
  if (!copied.ok()) return;  // the reference refuses such a case
  const Bytes& from = name == std::string("w") ? copied->bytes : copied->codes;
  std::copy_n(from.data(), std::min<std::size_t>(to.size(), from.size()), to.data());
}

Bytes Magnitudes(Bytes bytes) {
  for (std::int64_t i = 0; i < bytes.size(); ++i) bytes.data()[i] &= 0x7F;
  return bytes;
}

absl::Status Reference(const Call& call) {
  const Bytes w8 = BytesOf(call, "w8"), scale = BytesOf(call, "scale");
  LANEWISE_ASSIGN_OR_RETURN(const reference::Quantized w,
                            judge::FnuzWeight(MxMatrix{ElementFormat::kE4m3Fn, w8, scale}));
  Tensor<Bf16, 2> values(call["M"], call["K"]);
  std::memcpy(values.data(), call.Data("x"), call.Bytes("x").size());
  LANEWISE_ASSIGN_OR_RETURN(const reference::Quantized x,
                            reference::Quantize(values, judge::DenseActivationOptions()));
  const MxMatrix x_matrix{ElementFormat::kE4m3Fnuz, x.elements, x.codes};
  const MxMatrix w_matrix{ElementFormat::kE4m3Fnuz, w.elements, w.codes};
  auto* const out = call.Data<float>("out");
  double* const tolerance = call.At("out").tolerance;
  const std::int64_t n = call["N"];
  if (call["against"] == 0) {
    LANEWISE_ASSIGN_OR_RETURN(const auto planned,
                              judge::DenseGemv(x_matrix, w_matrix, PlanOf(call)));
    for (std::int64_t i = 0; i < call["M"] * n; ++i) {
      out[i] = (planned)(i / n, i % n);
      tolerance[i] = -1;  // every bit
    }
    return absl::OkStatus();
  }
  // NaN bytes have no magnitude: 0x80 would become zero, and the expected value is NaN anyway.
  const Bytes x_size = Magnitudes(x.elements), w_size = Magnitudes(w.elements);
  const auto exact = reference::ExactLinear<double>(x_matrix, w_matrix);
  const auto size =
      reference::ExactLinear<double>(MxMatrix{ElementFormat::kE4m3Fnuz, x_size, x.codes},
                                     MxMatrix{ElementFormat::kE4m3Fnuz, w_size, w.codes});
  const auto reduction = judge::DenseGemvReduction(call["K"], PlanOf(call));
  if (!exact.ok()) return exact.status();
  if (!size.ok()) return size.status();
  if (!reduction.ok()) return reduction.status();
  const double bound = RoundingDepth(*reduction) + reference::kCdna3BlockError;
  for (std::int64_t i = 0; i < call["M"] * n; ++i) {
    const double truth = (*exact)(i / n, i % n);
    out[i] = static_cast<float>(truth);
    // Partial sums may overflow where magnitudes do.
    if (!((*size)(i / n, i % n) < 0x1p127)) {
      tolerance[i] = std::isnan(truth) ? 0 : std::numeric_limits<double>::infinity();
      continue;
    }
    tolerance[i] = bound * 0x1p-24 * (*size)(i / n, i % n) * (1 + bound * 0x1p-24) +
                   0x1p-149 * (bound + 1) + 0x1p-24 * std::fabs(truth);
  }
  return absl::OkStatus();
}

absl::Status Launch(const Call& call) {
  using hip::gfx942::DenseGemv;
  LANEWISE_ASSIGN_OR_RETURN(const DenseGemv* const gemv, Loaded<DenseGemv>(*call.device));
  constexpr DenseGemv::Plan kPlans[] = {DenseGemv::Plan::kDense, DenseGemv::Plan::kGrouped,
                                        DenseGemv::Plan::kSplit};
  const DenseGemv::Problem problem = {.m = call["M"],
                                      .n = call["N"],
                                      .k = call["K"],
                                      .plan = kPlans[call["plan"]],
                                      .out = FloatType::kF32};
  LANEWISE_ASSIGN_OR_RETURN(const std::int64_t bytes, DenseGemv::WorkspaceBytes(problem));
  if (bytes > call.At("workspace").bytes) {
    return Internal("the workspace is ", call.At("workspace").bytes, " bytes, the launcher wants ",
                    bytes);
  }
  return gemv->Launch(problem,
                      {.x = call.Data("x"),
                       .w = call.Data("w"),
                       .w_codes = call.Data("w_codes"),
                       .out = call.Data("out"),
                       .workspace = call.Data("workspace")},
                      *call.stream);
}

Operation DenseGemvOperation() {
  Operation operation;
  operation.name = "gfx942/dense_gemv";
  operation.dimensions = {{"M"},
                          {"N"},
                          {"K"},
                          {"plan", {"dense", "grouped", "split"}},
                          {"against", {"planned", "exact"}}};
  operation.shapes =
      "M=5 N=32 K=32,96,1664,1824 plan=dense,split against=planned,exact\n"
      "random 3: M=1..20 N=16*{1..6} K=32*{1..40} plan=* against=planned,exact\n"
      "M=2 N=32 K=80 plan=dense against=planned\n";
  operation.arguments = {
      {.name = "x", .format = "bf16", .role = Role::kInput, .extents = {"M", "K"}},
      {.name = "w8",
       .format = "e4m3fn",
       .role = Role::kInput,
       .extents = {"roundup(N, 32)", "K"},
       .allow_nan = false,
       .negate_second_half = true},
      {.name = "scale",
       .format = "e8m0",
       .role = Role::kInput,
       .extents = {"ceil(N, 32)", "K / 32"},
       .code_limit = 250},
      {.name = "w",
       .format = "e4m3fnuz",
       .role = Role::kInput,
       .extents = {"N", "roundup(K, 128)"},
       .generate = [](Data, const Call& call, std::mt19937_64&) { Prepare("w", call); }},
      {.name = "w_codes",
       .format = "e8m0",
       .role = Role::kInput,
       .extents = {"ceil(N, 32)", "roundup(K, 128) / 32"},
       .generate = [](Data, const Call& call, std::mt19937_64&) { Prepare("w_codes", call); }},
      {.name = "out",
       .format = "f32",
       .role = Role::kOutput,
       .extents = {"M", "N"},
       .contract = Contract::kWithin},
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"4096 + roundup(M, 16) * roundup(K, 128) * 2 + 8 * roundup(M, 16) * N"}},
  };
  operation.data = {Data::kNormal,        Data::kRandomBits, Data::kNan,         Data::kSubnormals,
                    Data::kExtremeScales, Data::kOneHot,     Data::kCancellation};
  operation.reference = Reference;
  operation.device = Launch;
  operation.chips = {"gfx942"};
  return operation;
}

const Registration kDenseGemv(DenseGemvOperation());

}  // namespace
}  // namespace lanewise::differential
