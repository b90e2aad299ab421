// The second half of gfx942's routed MXFP4 experts over prepared weights: down, and the sum over a
// token's picks.

#include "hip/gfx942/moe_down.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "formats/formats.h"
#include "reference/gemm/output.h"
#include "reference/gfx942/moe.h"
#include "reference/gfx942/moe_semantics.h"
#include "tests/differential/loaded.h"
#include "tests/differential/model_shapes.h"
#include "tests/differential/operation.h"
#include "tests/differential/ops/moe_operands.h"
#include "tests/differential/ops/weight_arguments.h"

namespace lanewise::differential {
namespace {

namespace judge = reference::gfx942;
using hip::gfx942::MoeDown;
using hip::gfx942::MoeProblem;
using Bytes2 = Tensor<std::uint8_t, 2>;

// Groups that there are not would put the last expert's contribution in the first's place.
void FillGrouping(Data, const Call& call, std::mt19937_64&) {
  const std::span<std::uint8_t> bytes = call.Bytes("grouping");
  std::fill(bytes.begin(), bytes.end(), std::uint8_t{0});
  auto* const words = call.Data<std::uint32_t>("grouping");
  for (std::int64_t i = 0; i < std::min(call["T"] * call["top"], call["E"]); ++i) {
    words[4 + 4 * i] = static_cast<std::uint32_t>(call["E"] - 1);
    words[4 + 4 * i + 2] = 1;
  }
  Group(call);
}

absl::Status DownReference(const Call& call) {
  const MoeProblem p = MoeProblemOf(call);
  LANEWISE_RETURN_IF_ERROR(CheckMoeShape(p));
  if (p.tokens == 0) return absl::OkStatus();
  const std::int64_t inter = p.padded_inter();
  LANEWISE_ASSIGN_OR_RETURN(
      const auto plain,
      judge::UndoMoeCopies({Zeros(p.experts, 2 * inter, 128), Zeros(p.experts, 2 * inter, 8),
                            BytesOf(call, "w2", 2), BytesOf(call, "w2_codes", 1)},
                           inter));

  const std::int64_t row_bytes = call.At("mid").extents[1];
  Tensor<float, 2> contributions(p.picks(), p.hidden);
  for (std::int64_t expert = 0; expert < p.experts; ++expert) {
    const std::vector<std::int64_t> picks = PicksOf(call, expert);
    if (picks.empty()) continue;
    const auto count = static_cast<std::int64_t>(picks.size());
    OwnedMatrix mid = {ElementFormat::kE4m3Fnuz, Bytes2(count, inter), Bytes2(count, inter / 32)};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t column = 0; column < inter; ++column) {
        mid.elements(i, column) =
            call.Data<std::uint8_t>("mid")[pick * row_bytes + RowOffset(column)];
      }
      for (std::int64_t block = 0; block < inter / 32; ++block) {
        mid.codes(i, block) = call.Data<std::uint8_t>("mid_codes")[pick * row_bytes / 32 + block];
      }
    }
    const OwnedMatrix w2 = ExpertMatrix(plain.w2, plain.w2_codes, expert);
    LANEWISE_ASSIGN_OR_RETURN(const auto sums, judge::DownGemv(mid.view(), w2.view()));
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t pick = picks[static_cast<std::size_t>(i)];
      for (std::int64_t h = 0; h < p.hidden; ++h) {
        float sum = (sums)(i, h);
        if (call["bias"] == 1) {
          const std::int64_t at = expert * call.At("w2_bias").extents[1] + h;
          sum += call.Data<Bf16>("w2_bias")[at].ToFloat();
        }
        contributions(pick, h) =
            reference::RoundToBf16(sum * call.Data<float>("weights")[pick]).ToFloat();
      }
    }
  }
  for (std::int64_t token = 0; token < p.tokens; ++token) {
    for (std::int64_t h = 0; h < p.hidden; ++h) {
      float sum = 0;
      for (std::int64_t pick = token * p.top_k; pick < (token + 1) * p.top_k; ++pick) {
        if (!IsHeld(call, pick)) continue;
        sum = reference::RoundToBf16(sum + contributions(pick, h)).ToFloat();
      }
      if (call["shared"] == 1) sum += call.Data<Bf16>("shared")[token * p.hidden + h].ToFloat();
      call.Data<Bf16>("out")[token * p.hidden + h] = reference::RoundToBf16(sum);
    }
  }
  return absl::OkStatus();
}

absl::Status DownLaunch(const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const MoeDown* const down, Loaded<MoeDown>(*call.device));
  return down->Launch(
      MoeProblemOf(call),
      {call.Data("grouping"), call.Data("mid"), call.Data("mid_codes"), call.Data("experts"),
       call.Data("weights"), call.Data("w2"), call.Data("w2_codes"),
       call["shared"] == 1 ? call.Data("shared") : nullptr, call.Data("out"),
       call.Data("workspace"), call["bias"] == 1 ? call.Data("w2_bias") : nullptr},
      *call.stream);
}

// All of a rank's intermediate columns, few hidden ones. In a nightly run with any number of
// tokens, and a rank's whole expert.
std::string OfRank(const RankShapes& rank) {
  const auto shape = [&](const std::string& t, std::int64_t hidden) {
    return absl::StrCat("T=", t, " top=", rank.top_k, " E=1 hidden=", hidden, " inter=", rank.inter,
                        " shared=", rank.shared_inter > 0 ? "with" : "without",
                        " held=all bias=", rank.biases ? "with" : "without", "\n");
  };
  if (IsNightly()) return shape("1..17", 64) + shape("2", rank.hidden);
  return shape("1", 64);
}

const Registration kDown([] {
  Operation operation;
  operation.name = "gfx942/moe_down";
  operation.dimensions = WithHeldAndBias(
      {{"T"}, {"top"}, {"E"}, {"hidden"}, {"inter"}, {"shared", {"without", "with"}}});
  operation.shapes = absl::StrCat(
      "T=3 top=4 E=4 hidden=96 inter=32 shared=* held=* bias=*\n"
      "T=3 top=4 E=4 hidden=288 inter=64,128,160 shared=* held=all bias=without\n"
      "T=1..17 top=1 E=2 hidden=32 inter=32 shared=with held=all bias=with\n"
      // More picks, and more experts, than a workgroup has work-items.
      "T=30 top=10 E=300 hidden=32 inter=32 shared=with held=some bias=without\n",
      OfModels(OfRank),
      "random 4: T=1..6 top=1..16 E=1..20 hidden=32*{1..10} inter=32*{1..8} "
      "shared=* held=* "
      "bias=*\n"
      "T=0 top=2 E=3 hidden=64 inter=32 shared=with held=all bias=without\n"
      // Refused, all three.
      "T=1 top=17 E=3 hidden=64 inter=32 shared=with held=all bias=without\n"
      "T=1 top=2 E=3 hidden=48 inter=32 shared=with held=all bias=without\n"
      "T=1 top=2 E=3 hidden=64 inter=40 shared=with held=all bias=without");
  const std::string k = "roundup(inter, 64)";
  operation.arguments = {
      ExpertIndices(),
      {.name = "grouping", .format = "u32", .extents = GroupingWords(), .generate = FillGrouping},
      {.name = "mid", .format = "e4m3fnuz", .extents = MidExtents()},
      {.name = "mid_codes", .format = "e8m0", .extents = MidCodesExtents()},
      {.name = "weights", .format = "f32", .extents = {"T", "top"}},
      PreparedFp4("w2", {"E", "hidden", k}),
      WeightCodes("w2_codes", {"E", "hidden", k + " / 32"}, 0),
      ExpertBias("w2_bias", "hidden", kW2BiasGap),
      {.name = "shared", .format = "bf16", .extents = {"shared * T", "hidden"}},
      {.name = "out",
       .format = "bf16",
       .role = Role::kOutput,
       .extents = {"T", "hidden"},
       .contract = Contract::kNumbers},
      {.name = "workspace",
       .format = "u8",
       .role = Role::kWorkspace,
       .extents = {"2 * T * top * hidden"}},
  };
  operation.data = MoeData();
  operation.chips = {"gfx942"};
  operation.reference = DownReference;
  operation.device = DownLaunch;
  return operation;
}());

}  // namespace
}  // namespace lanewise::differential
