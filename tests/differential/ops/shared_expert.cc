// gfx942's shared expert over prepared weights, and the GEMV with a gated activation in front that
// it is made of: every bit of the reference.

#include "hip/gfx942/shared_expert.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/formats.h"
#include "reference/gemm/activation.h"
#include "reference/gfx942/moe_semantics.h"
#include "tests/differential/loaded.h"
#include "tests/differential/model_shapes.h"
#include "tests/differential/operation.h"
#include "tests/differential/ops/dense_operands.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using hip::gfx942::SharedExpert;

absl::Status Reference(const Call& call) {
  const std::int64_t tokens = call["T"], hidden = call["hidden"], inter = call["inter"];
  if (hidden % 32 != 0 || inter % 32 != 0) {
    return InvalidArgument("hidden and inter are multiples of 32");
  }
  if (tokens == 0) return absl::OkStatus();
  Tensor<Bf16, 2> x(tokens, hidden);
  std::memcpy(x.data(), call.Data("x"), call.Bytes("x").size());
  const DenseRows gate_up = RowsOfCopy(call, "gate_up", "gate_up_codes", 0, 2 * inter, hidden);
  const DenseRows down = RowsOfCopy(call, "down", "down_codes", 0, hidden, inter);
  constexpr auto kFnuz = ElementFormat::kE4m3Fnuz;
  LANEWISE_ASSIGN_OR_RETURN(
      const auto out,
      judge::SharedExpert(
          x, {kFnuz, gate_up.elements, gate_up.codes}, {kFnuz, down.elements, down.codes},
          call["swiglu"] == 1 ? kGptOssSwiglu : kDeepSeekSwiglu));
  std::copy_n(out.data(), out.size(), call.Data<Bf16>("out"));
  return absl::OkStatus();
}

absl::Status Launch(const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const SharedExpert* const expert, Loaded<SharedExpert>(*call.device));
  SharedExpert::Problem problem;
  problem.tokens = call["T"];
  problem.hidden = call["hidden"];
  problem.inter = call["inter"];
  if (call["swiglu"] == 1) problem.swiglu = kGptOssSwiglu;
  LANEWISE_ASSIGN_OR_RETURN(const hip::LaunchCost cost, SharedExpert::Cost(problem));
  if (cost.workspace_bytes != call.At("workspace").bytes) {
    return Internal("the workspace is ", call.At("workspace").bytes, " bytes, the launcher wants ",
                    cost.workspace_bytes);
  }
  return expert->Launch(problem,
                        {call.Data("gate_up"), call.Data("gate_up_codes"), call.Data("down"),
                         call.Data("down_codes")},
                        {call.Data("x"), call.Data("out"), call.Data("workspace")}, *call.stream);
}

// All of the intermediate columns, few hidden ones. (All of those are among the shapes of the dense
// GEMV.) In a nightly run with any number of tokens, and a rank's whole layer.
std::string OfModel(std::int64_t hidden, std::int64_t inter, std::string_view swiglu) {
  if (inter == 0) return "";
  const auto shape = [&](const std::string& t, std::int64_t h, std::int64_t i) {
    return absl::StrCat("T=", t, " hidden=", h, " inter=", i, " swiglu=", AbslView(swiglu), "\n");
  };
  if (IsNightly()) {
    return shape("1..17", hidden, 32) + shape("1..17", 32, inter) + shape("2", hidden, inter);
  }
  return shape(absl::StrCat(1 + inter / 32 % 16), 32, inter);
}

const Registration kSharedExpert([] {
  Operation operation;
  operation.name = "gfx942/shared_expert";
  operation.dimensions = {{"T"}, {"hidden"}, {"inter"}, {"swiglu", {"deepseek", "gpt_oss"}}};
  operation.shapes = absl::StrCat(
      "T=3 hidden=96,288 inter=32,160 swiglu=*\n"
      "T=1..17,40 hidden=64 inter=32 swiglu=deepseek\n"
      "T=1 hidden=5120 inter=32 swiglu=deepseek\n",
      OfModels([](const RankShapes& rank) {
        return OfModel(rank.hidden, rank.shared_inter, rank.swiglu) +
               OfModel(rank.hidden, rank.layer_inter, rank.swiglu);
      }),
      "random 4: T=1..20 hidden=32*{1..20} inter=32*{1..20} swiglu=*\n"
      "T=0 hidden=64 inter=32 swiglu=deepseek\n"
      "T=1 hidden=48 inter=32 swiglu=deepseek  # refused, as the next\n"
      "T=1 hidden=64 inter=40 swiglu=deepseek");
  const auto padded = [](const std::string& k) { return absl::StrCat("roundup(", k, ", 128)"); };
  const auto quantized = [&](const std::string& k) {
    return absl::StrCat("roundup(T * ", padded(k), ", 128) + roundup(T * ", padded(k),
                        " / 32, 128)");
  };
  operation.arguments = {
      {.name = "x", .format = "bf16", .extents = {"T", "hidden"}},
      DenseCopyBytes("gate_up", "2 * inter", "hidden"),
      DenseCopyCodes("gate_up_codes", "2 * inter", "hidden", 5),
      DenseCopyBytes("down", "hidden", "inter"),
      DenseCopyCodes("down_codes", "hidden", "inter", 0),
      {.name = "out",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"T", "hidden"},
       .contract = Contract::kNumbers},
      // What Cost says: gate and up, and the larger of the two GEMVs' own.
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {absl::StrCat("roundup(4 * T * inter, 128) + ",
                                quantized("max(hidden, inter)"))}},
  };
  operation.data = {Data::kRandomBits,    Data::kNormal,      Data::kSubnormals,
                    Data::kNegativeZeros, Data::kNan,         Data::kExtremeScales,
                    Data::kOneHot,        Data::kCancellation};
  operation.chips = {"gfx942"};
  operation.reference = Reference;
  operation.device = Launch;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
