// The `Exact` semantics of the linears: reference/'s integers in slices against the sum of the
// products, each added to a number that holds them all.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "reference/exact/accumulator.h"
#include "reference/flashmla/fused_gemm.h"
#include "reference/flashmla/fused_layout.h"
#include "reference/gemm/exact_linear.h"
#include "tests/differential/matrices.h"

namespace lanewise::differential {
namespace {

// An operand as numbers: bf16, or microscaled.
struct Factor {
  bool is_bf16 = false;
  Tensor<Bf16, 2> values;
  Mx mx;

  std::int64_t k() const { return is_bf16 ? values.dimension(1) : mx.view().k(); }
  double Value(std::int64_t row, std::int64_t k) const {
    return is_bf16 ? static_cast<double>(values(row, k).ToFloat()) : mx.Element(row, k);
  }
  // Of a value's scale; 255 is no number.
  int Code(std::int64_t row, std::int64_t k) const {
    return is_bf16 ? 127 : mx.view().code(row, k / 32);
  }
};

Factor FactorOf(const Call& call, const std::string& name) {
  Factor factor;
  factor.is_bf16 = call.At(name).argument->format == "bf16";
  if (factor.is_bf16) {
    factor.values = TensorOf<Bf16, 2>(call, name);
  } else {
    factor.mx = MxOf(call, name, name + "_codes");
  }
  return factor;
}

ExactAccumulator SumOf(const Factor& x, std::int64_t m, const Factor& w, std::int64_t n) {
  ExactAccumulator sum;
  for (std::int64_t k = 0; k < x.k(); ++k) {
    const int x_code = x.Code(m, k), w_code = w.Code(n, k);
    if (x_code == 255 || w_code == 255) sum.AddNan();
    sum.AddDouble(x.Value(m, k) * w.Value(n, k), x_code + w_code - 254);
  }
  return sum;
}

absl::Status Check(const Factor& factor, const char* name) {
  return factor.is_bf16 ? absl::OkStatus() : reference::CheckMxMatrix(name, factor.mx.view());
}

absl::Status Sums(const Call& call) {
  const Factor x = FactorOf(call, "x"), w = FactorOf(call, "w");
  for (const absl::Status& status : {Check(x, "x"), Check(w, "w")}) {
    if (!status.ok()) return status;
  }
  for (std::int64_t m = 0; m < call["M"]; ++m) {
    for (std::int64_t n = 0; n < call["N"]; ++n) {
      const ExactAccumulator sum = SumOf(x, m, w, n);
      call.Data<float>("out")[m * call["N"] + n] = sum.ToFloat();
      call.Data<Bf16>("bf16")[m * call["N"] + n] = Bf16::FromBits(sum.ToBf16Bits());
    }
  }
  return absl::OkStatus();
}

template <class Out>
absl::StatusOr<Tensor<Out, 2>> ExactLinear(const Factor& x, const Factor& w) {
  if (x.is_bf16 && w.is_bf16) return reference::ExactLinear<Out>(x.values, w.values);
  if (x.is_bf16) return reference::ExactLinear<Out>(x.values, w.mx.view());
  return reference::ExactLinear<Out>(x.mx.view(), w.mx.view());
}

absl::Status Linear(const Call& call) {
  const Factor x = FactorOf(call, "x"), w = FactorOf(call, "w");
  LANEWISE_ASSIGN_OR_RETURN(const auto out, ExactLinear<float>(x, w));
  LANEWISE_ASSIGN_OR_RETURN(const auto bf16, ExactLinear<Bf16>(x, w));
  Store(call, "out", out);
  Store(call, "bf16", bf16);
  return absl::OkStatus();
}

// x and its codes, unless it is bf16.
void AddFactor(Operation& operation, const std::string& name, const std::string& format,
               std::vector<std::string> extents, const std::string& code_rows, bool negate) {
  operation.arguments.push_back(
      {.name = name, .format = format, .extents = extents, .negate_second_half = negate});
  if (format == "bf16") return;
  operation.arguments.push_back({.name = name + "_codes",
                                 .format = "e8m0",
                                 .extents = {code_rows, absl::StrCat(extents[1], " / 32")}});
}

void AddOutput(Operation& operation, const std::string& name, const std::string& format,
               std::vector<std::string> extents) {
  operation.arguments.push_back({.name = name,
                                 .format = format,
                                 .role = Role::kOutput,
                                 .extents = std::move(extents),
                                 .contract = Contract::kNumbers});
}

const std::vector<Data> kData = {Data::kRandomBits,    Data::kNormal,      Data::kSubnormals,
                                 Data::kNegativeZeros, Data::kNan,         Data::kExtremeScales,
                                 Data::kOneHot,        Data::kCancellation};

Operation LinearOf(const std::string& x, const std::string& w) {
  Operation operation;
  operation.name = absl::StrCat("exact/linear/", x, "_by_", w);
  operation.dimensions = {{"M"}, {"N"}, {"K"}, {"codes", {"rows", "blocks"}}};
  const bool bf16 = x == "bf16" && w == "bf16";
  operation.shapes = bf16 ? "M=1,5 N=1,17 K=1,31,64,500 codes=rows\n"
                            "random 3: M=1..8 N=1..40 K=1..600 codes=rows\n"
                          : "M=1,5 N=32 K=32,576 codes=*\n"
                            "random 3: M=1..8 N=1..40 K=32*{1..20} codes=rows\n"
                            "M=2 N=32 K=48 codes=rows  # refused";
  AddFactor(operation, "x", x, {"M", "K"}, "M", false);
  // One code for 32 rows, or one a row.
  AddFactor(operation, "w", w, {"N", "K"}, "N - codes * (N - N / 32)", true);
  AddOutput(operation, "out", "f32", {"M", "N"});
  AddOutput(operation, "bf16", "bf16", {"M", "N"});
  operation.data = kData;
  operation.reference = Sums;
  operation.host = Linear;
  return operation;
}

const std::vector<Registration> kLinears = [] {
  std::vector<Registration> registrations;
  for (const auto& [x, w] :
       std::vector<std::pair<const char*, const char*>>{{"e4m3fn", "e4m3fn"},
                                                        {"e4m3fn", "e2m1"},
                                                        {"e4m3fnuz", "e4m3fnuz"},
                                                        {"e4m3fnuz", "e2m1"},
                                                        {"e5m2", "e5m2"},
                                                        {"e5m2fnuz", "e4m3fnuz"},
                                                        {"e2m1", "e2m1"},
                                                        {"bf16", "e4m3fn"},
                                                        {"bf16", "e2m1"},
                                                        {"bf16", "bf16"}}) {
    registrations.emplace_back(LinearOf(x, w));
  }
  return registrations;
}();

// ---- FlashMLA: the fused layouts' meaning ----

// q by the plain weight, each token's heads x dim values then put where the fused order has them:
// chunks of 16, the heads of a chunk side by side.
absl::Status FusedQ(const Call& call) {
  const Factor x = FactorOf(call, "x"), w = FactorOf(call, "w");
  for (const absl::Status& status : {Check(x, "x"), Check(w, "w")}) {
    if (!status.ok()) return status;
  }
  const std::int64_t heads = call["heads"], dim = call["dim"];
  if (dim % 16 != 0) return InvalidArgument("dim is a multiple of 16");
  for (std::int64_t t = 0; t < call["T"]; ++t) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t d = 0; d < dim; ++d) {
        const std::int64_t at = d / 16 * 16 * heads + 16 * h + d % 16;
        call.Data<float>("out")[t * heads * dim + at] = SumOf(x, t, w, h * dim + d).ToFloat();
      }
    }
  }
  return absl::OkStatus();
}

absl::Status QByFusedWeight(const Call& call) {
  namespace flashmla = reference::flashmla;
  const Mx x = MxOf(call, "x", "x_codes"), w = MxOf(call, "w", "w_codes");
  LANEWISE_ASSIGN_OR_RETURN(const auto fused,
                            flashmla::PermuteWqB(w.elements, w.codes, call["heads"]));
  const auto out = flashmla::ExactQProjection<float>(
      x.view(), reference::MxMatrix{w.format, fused.weight, fused.codes});
  if (out.ok()) Store(call, "out", *out);
  return out.status();
}

const Registration kQ([] {
  Operation operation;
  operation.name = "exact/flashmla/q_projection";
  operation.dimensions = {{"T"}, {"heads"}, {"dim"}, {"K"}};
  operation.shapes =
      "T=1,3 heads=1,3 dim=16,48 K=64\n"
      "random 4: T=1..3 heads=1..5 dim=16*{1..4} K=32*{1..6}\n"
      "T=1 heads=2 dim=24 K=32; T=1 heads=2 dim=16 K=40  # refused";
  AddFactor(operation, "x", "e4m3fn", {"T", "K"}, "T", false);
  AddFactor(operation, "w", "e4m3fn", {"heads * dim", "K"}, "heads * dim", true);
  AddOutput(operation, "out", "f32", {"T", "heads * dim"});
  operation.data = kData;
  operation.reference = FusedQ;
  operation.host = QByFusedWeight;
  return operation;
}());

// z of the plain o by the plain weight; the implementation is given both in the fused order.
absl::Status PlainO(const Call& call) {
  const Factor o = FactorOf(call, "o"), w = FactorOf(call, "w");
  for (const absl::Status& status : {Check(o, "o"), Check(w, "w")}) {
    if (!status.ok()) return status;
  }
  const std::int64_t groups = call["groups"], rows = call["R"],
                     columns = call["heads"] * call["dim"];
  if (call["dim"] % 32 != 0) return InvalidArgument("dim is a multiple of 32");
  for (std::int64_t t = 0; t < call["T"]; ++t) {
    for (std::int64_t n = 0; n < groups * rows; ++n) {
      ExactAccumulator sum;
      for (std::int64_t k = 0; k < columns; ++k) {
        const std::int64_t at = n / rows * columns + k;
        const int o_code = o.Code(t, at), w_code = w.Code(n, k);
        if (o_code == 255 || w_code == 255) sum.AddNan();
        sum.AddDouble(o.Value(t, at) * w.Value(n, k), o_code + w_code - 254);
      }
      call.Data<float>("out")[t * groups * rows + n] = sum.ToFloat();
    }
  }
  return absl::OkStatus();
}

absl::Status OByFusedWeight(const Call& call) {
  namespace flashmla = reference::flashmla;
  const std::int64_t groups = call["groups"], heads = call["heads"];
  const Mx w = MxOf(call, "w", "w_codes");
  Mx o = MxOf(call, "o", "o_codes");
  const auto fused = flashmla::PermuteWoA(w.elements, w.codes, heads);
  const auto order = flashmla::OFusedPermutation(heads, call["dim"]);
  const auto chunks = flashmla::OFusedChunkPermutation(heads, call["dim"]);
  for (const absl::Status& status : {fused.status(), order.status(), chunks.status()}) {
    if (!status.ok()) return status;
  }
  // As the attention kernel leaves it: each group's elements and codes in the fused order.
  const Mx plain = o;
  for (std::int64_t t = 0; t < call["T"]; ++t) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t size = order->size(), codes = chunks->size();
      for (std::int64_t i = 0; i < size; ++i) {
        o.elements(t, g * size + i) = plain.elements(t, g * size + (*order)(i));
      }
      for (std::int64_t i = 0; i < codes; ++i) {
        o.codes(t, g * codes + i) = plain.codes(t, g * codes + (*chunks)(i));
      }
    }
  }
  const auto out = flashmla::ExactOProjection<float>(
      o.view(), reference::MxMatrix{w.format, fused->weight, fused->codes}, groups);
  if (out.ok()) Store(call, "out", *out);
  return out.status();
}

const Registration kO([] {
  Operation operation;
  operation.name = "exact/flashmla/o_projection";
  operation.dimensions = {{"T"},     {"groups"}, {"R"},
                          {"heads"}, {"dim"},    {"codes", {"rows", "blocks"}}};
  operation.shapes =
      "T=1,3 groups=1,2 R=32 heads=1,3 dim=32,64 codes=*\n"
      "random 4: T=1..3 groups=1..3 R=1..20 heads=1..5 dim=32*{1..3} codes=rows\n"
      "T=1 groups=2 R=32 heads=2 dim=48 codes=rows  # refused";
  AddFactor(operation, "o", "e4m3fn", {"T", "groups * heads * dim"}, "T", false);
  AddFactor(operation, "w", "e4m3fn", {"groups * R", "heads * dim"},
            "groups * R - codes * (groups * R - groups * R / 32)", true);
  AddOutput(operation, "out", "f32", {"T", "groups * R"});
  operation.data = kData;
  operation.reference = PlainO;
  operation.host = OByFusedWeight;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
