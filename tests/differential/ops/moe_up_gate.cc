// The first half of gfx942's routed MXFP4 experts over prepared weights: up/gate with its
// activation, quantized for the second half.

#include "hip/gfx942/moe_up_gate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "formats/formats.h"
#include "reference/gemm/activation.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/quantize/mx.h"
#include "tests/differential/loaded.h"
#include "tests/differential/model_shapes.h"
#include "tests/differential/operation.h"
#include "tests/differential/ops/moe_operands.h"
#include "tests/differential/ops/weight_arguments.h"
#include "third_party/hip_api.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using hip::gfx942::MoeProblem;
using hip::gfx942::MoeUpGate;
using Bytes2 = Tensor<std::uint8_t, 2>;

// Up/gate leaves some of its outputs as they are: the rows of picks of no expert, blocks past Ip,
// groups that there are not. Before it runs, every output byte is this.
constexpr std::uint8_t kLeft = 0x11;

// An activated row: its nearest values, and as tolerances what it may be where exp2 and rcp are
// the chip's: any value of ActivationRange, with any code that one of the ends or the nearest has.
// Nearly always they are all the same, and the tolerance is 0.
struct ActivatedRow {
  reference::Quantized nearest;  // rows: the nearest, the lowest, the highest
  Tensor<Bf16, 2> y;

  double Element(std::int64_t end, std::int64_t column, int code) const {
    const float scaled = std::ldexp(y(end, column).ToFloat(), 127 - code);
    return E4m3Fnuz::FromFloat(std::clamp(scaled, -224.0f, 224.0f)).ToFloat();
  }
  double CodeTolerance(std::int64_t block) const {
    const int code = nearest.codes(0, block);
    double tolerance = 0;
    for (const std::int64_t end : {1, 2}) {
      const int other = nearest.codes(end, block);
      if (other == code) continue;
      if (other == 255 || code == 255) return std::numeric_limits<double>::infinity();
      tolerance = std::max(tolerance,
                           std::fabs(std::ldexp(1.0, other - 127) - std::ldexp(1.0, code - 127)));
    }
    return tolerance;
  }
  double ElementTolerance(std::int64_t column) const {
    const std::int64_t block = column / 32;
    if (std::isinf(CodeTolerance(block))) return CodeTolerance(block);
    if (nearest.codes(0, block) == 255) return 0;
    const double is = E4m3Fnuz::FromBits(nearest.elements(0, column)).ToFloat();
    double tolerance = 0;
    for (const std::int64_t of : {0, 1, 2}) {
      for (const std::int64_t end : {1, 2}) {
        tolerance =
            std::max(tolerance, std::fabs(Element(end, column, nearest.codes(of, block)) - is));
      }
    }
    return tolerance;
  }
};

// `sums` are gate's, then up's.
absl::StatusOr<ActivatedRow> Activated(const Swiglu& swiglu, const Tensor<float, 2>& sums,
                                       std::int64_t row) {
  const std::int64_t inter = sums.dimension(1) / 2;
  ActivatedRow activated;
  activated.y.resize(3, inter);
  for (std::int64_t i = 0; i < inter; ++i) {
    const float gate = sums(row, i), up = sums(row, inter + i);
    const reference::Bf16Range range = reference::ActivationRange(swiglu, gate, up);
    activated.y(0, i) = reference::Activate(swiglu, gate, up);
    activated.y(1, i) = range.low;
    activated.y(2, i) = range.high;
  }
  LANEWISE_ASSIGN_OR_RETURN(reference::Quantized quantized,
                            reference::Quantize(activated.y, judge::RoutedActivationOptions()));
  activated.nearest = std::move(quantized);
  return activated;
}

// The copy's order is that of gate and up in turns; `sums` are gate's, then up's, each padded.
void AddBias(const Call& call, std::int64_t expert, Tensor<float, 2>* sums) {
  const auto* const bias = call.Data<Bf16>("w13_bias") + expert * call.At("w13_bias").extents[1];
  for (std::int64_t row = 0; row < sums->dimension(0); ++row) {
    for (std::int64_t i = 0; i < call["inter"]; ++i) {
      (*sums)(row, i) += bias[2 * i].ToFloat();
      (*sums)(row, sums->dimension(1) / 2 + i) += bias[2 * i + 1].ToFloat();
    }
  }
}

// On the whole padded K, where x is zero.
absl::Status UpGateReference(const Call& call) {
  const MoeProblem p = MoeProblemOf(call);
  LANEWISE_RETURN_IF_ERROR(CheckMoeShape(p));
  const std::array<std::string_view, 4> outputs = {"grouping", "mid", "mid_codes", "status"};
  for (const std::string_view name : outputs) {
    const std::span<std::uint8_t> bytes = call.Bytes(name);
    std::fill(bytes.begin(), bytes.end(), kLeft);
  }
  if (p.tokens == 0) return absl::OkStatus();
  Group(call);
  for (std::int64_t pick = 0; pick < p.picks(); ++pick) {
    if (!Exists(call, pick)) ++*call.Data<std::uint32_t>("status");
  }

  const std::int64_t k = p.padded_hidden(), inter = p.padded_inter();
  Tensor<Bf16, 2> x(p.tokens, k);
  x.setConstant(Bf16::FromFloat(0.0f));
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    for (std::int64_t i = 0; i < p.hidden; ++i) {
      x(token, i) = call.Data<Bf16>("x")[token * p.hidden + i];
    }
  }
  LANEWISE_ASSIGN_OR_RETURN(const auto q, reference::Quantize(x, judge::RoutedActivationOptions()));
  LANEWISE_ASSIGN_OR_RETURN(
      const auto plain,
      judge::UndoMoeCopies({BytesOf(call, "w13", 2), BytesOf(call, "w13_codes", 1),
                            Zeros(p.experts, 16, inter / 2), Zeros(p.experts, 16, inter / 32)},
                           inter));

  const Swiglu swiglu = call["swiglu"] == 1 ? kGptOssSwiglu : kDeepSeekSwiglu;
  const Operand& mid = call.At("mid");
  const Operand& codes = call.At("mid_codes");
  for (std::int64_t expert = 0; expert < p.experts; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::int64_t>(picks.size());
    OwnedMatrix rows = {ElementFormat::kE4m3Fnuz, Bytes2(count, k), Bytes2(count, k / 32)};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t token = picks[static_cast<std::size_t>(i)] / p.top_k;
      rows.elements.chip(i, 0) = q.elements.chip(token, 0);
      rows.codes.chip(i, 0) = q.codes.chip(token, 0);
    }
    const OwnedMatrix w13 = ExpertMatrix(plain.w13, plain.w13_codes, expert);
    LANEWISE_ASSIGN_OR_RETURN(auto sums, judge::UpGateGemv(rows.view(), w13.view()));
    if (call["bias"] == 1) AddBias(call, expert, &sums);
    for (std::int64_t i = 0; i < count; ++i) {
      LANEWISE_ASSIGN_OR_RETURN(const auto row, Activated(swiglu, sums, i));
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t column = 0; column < inter; ++column) {
        const std::int64_t at = pick * mid.extents[1] + RowOffset(column);
        call.Data<std::uint8_t>("mid")[at] = row.nearest.elements(0, column);
        mid.tolerance[at] = row.ElementTolerance(column);
      }
      for (std::int64_t block = 0; block < inter / 32; ++block) {
        const std::int64_t at = pick * codes.extents[1] + block;
        call.Data<std::uint8_t>("mid_codes")[at] = row.nearest.codes(0, block);
        codes.tolerance[at] = row.CodeTolerance(block);
      }
    }
  }
  return absl::OkStatus();
}

absl::Status UpGateLaunch(const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const MoeUpGate* const up_gate, Loaded<MoeUpGate>(*call.device));
  for (const Operand& operand : call.operands) {
    if (operand.argument->role != Role::kOutput || operand.bytes == 0) continue;
    const hipError_t error = hipMemsetAsync(
        operand.data, kLeft, static_cast<std::size_t>(operand.bytes), call.stream->handle());
    if (error != hipSuccess) {
      return Internal("filling ", operand.argument->name, ": ", hipGetErrorString(error));
    }
  }
  return up_gate->Launch(
      MoeProblemOf(call),
      {call.Data("x"), call.Data("experts"), call.Data("w13"), call.Data("w13_codes"),
       call.Data("grouping"), call.Data("mid"), call.Data("mid_codes"), call.Data("status"),
       call.Data("workspace"), call["bias"] == 1 ? call.Data("w13_bias") : nullptr},
      *call.stream);
}

// All of the hidden size, few columns. In a nightly run with any number of tokens, and a rank's
// whole expert.
std::string OfRank(const RankShapes& rank) {
  const auto shape = [&](const std::string& t, std::int64_t inter) {
    return absl::StrCat("T=", t, " top=", rank.top_k, " E=1 hidden=", rank.hidden, " inter=", inter,
                        " swiglu=", AbslView(rank.swiglu),
                        " held=all bias=", rank.biases ? "with" : "without", "\n");
  };
  if (IsNightly()) return shape("1..17", 32) + shape("2", rank.inter);
  return shape("1", 32);
}

const Registration kUpGate([] {
  Operation operation;
  operation.name = "gfx942/moe_up_gate";
  operation.dimensions = WithHeldAndBias(
      {{"T"}, {"top"}, {"E"}, {"hidden"}, {"inter"}, {"swiglu", {"deepseek", "gpt_oss"}}});
  operation.shapes = absl::StrCat(
      "T=3 top=2 E=4 hidden=256 inter=64 swiglu=* held=* bias=*\n"
      "T=3 top=2 E=4 hidden=544 inter=32,160 swiglu=gpt_oss held=all bias=*\n"
      "T=1..17 top=1 E=2 hidden=32 inter=32 swiglu=deepseek held=all bias=without\n"
      // More picks than a workgroup has work-items. (As many experts are moe_test's: 5 MiB of
      // weights for each kind of data.)
      "T=30 top=10 E=3 hidden=32 inter=32 swiglu=deepseek held=some bias=without\n",
      OfModels(OfRank),
      "random 4: T=1..6 top=1..16 E=1..6 hidden=32*{1..16} inter=32*{1..5} "
      "swiglu=* held=* bias=*\n"
      "T=0 top=2 E=3 hidden=64 inter=32 swiglu=deepseek held=all bias=without\n"
      // Refused, all three.
      "T=1 top=17 E=3 hidden=64 inter=32 swiglu=deepseek held=all bias=without\n"
      "T=1 top=2 E=3 hidden=48 inter=32 swiglu=deepseek held=all bias=without\n"
      "T=1 top=2 E=3 hidden=64 inter=40 swiglu=deepseek held=all bias=without");
  const std::string k = "roundup(hidden, 256)", rows = "2 * roundup(inter, 64)";
  operation.arguments = {
      {.name = "x", .format = "bf16", .extents = {"T", "hidden"}},
      ExpertIndices(),
      PreparedFp4("w13", {"E", rows, k}),
      WeightCodes("w13_codes", {"E", rows, k + " / 32"}, 7),
      ExpertBias("w13_bias", "2 * inter", kW13BiasGap),
      {.name = "grouping", .format = "u32", .role = Role::kOutput, .extents = GroupingWords()},
      {.name = "mid",
       .format = "e4m3fnuz",
       .role = Role::kOutput,
       .extents = MidExtents(),
       .contract = Contract::kWithin},
      {.name = "mid_codes",
       .format = "e8m0",
       .role = Role::kOutput,
       .extents = MidCodesExtents(),
       .contract = Contract::kWithin},
      {.name = "status", .format = "u32", .role = Role::kOutput, .extents = {"1"}},
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"T * (" + k + " + " + k + " / 32)"}},
  };
  operation.data = MoeData();
  operation.chips = {"gfx942"};
  operation.reference = UpGateReference;
  operation.device = UpGateLaunch;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
