#include "checkpoint/recipes/recipe_match.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Specs = std::vector<TensorSpec>;

// Linears of either kind and experts, each with two spellings of the scale.
const Recipe& Small() {
  static const Recipe* const kRecipe = new Recipe(*Recipe::Parse(R"({
    "name": "small",
    "rules": [
      {"kind": "mxfp4_experts", "gate": "{l*}.experts.{expert#}.w1", "up": "{l*}.experts.{expert#}.w3",
       "companions": [[".weight", ".scale"], [".weight", ".weight_scale"]], "dtypes": ["U8"],
       "packing": "low_nibble_first", "output": "{l}.w13", "group": "{l}"},
      {"kind": "mxfp4_experts", "weight": "{l*}.experts.{expert#}.w2",
       "companions": [[".weight", ".scale"], [".weight", ".weight_scale"]], "dtypes": ["U8"],
       "packing": "low_nibble_first", "projection": "down", "output": "{l}.w2", "group": "{l}"},
      {"kind": "mxfp4_experts", "weight": "{l*}.fused",
       "companions": [[".weight", ".scale"]], "dtypes": ["U8"], "packing": "low_nibble_first",
       "projection": "gate_up", "order": "gate_then_up", "group": "{l}"},
      {"kind": "mxfp4_experts", "gate": "{l*}.all_gate", "up": "{l*}.all_up",
       "companions": [[".weight", ".scale"]], "dtypes": ["U8"], "packing": "low_nibble_first",
       "output": "{l}.all13", "group": "{l}"},
      {"kind": "mxfp4_linear", "weight": "{l*}", "dtypes": ["U8", "F4"],
       "companions": [[".weight", ".scale"], [".weight", ".weight_scale"]],
       "packing": "low_nibble_first"},
      {"kind": "mxfp8_linear", "weight": "{l*}.wq_b", "dtypes": ["F8_E4M3"],
       "companions": [[".weight", ".scale"]], "flashmla": {"role": "q_fused", "head_dim": 64}},
      {"kind": "mxfp8_linear", "weight": "{l*}.wo_a", "dtypes": ["F8_E4M3"],
       "companions": [[".weight", ".scale"]], "flashmla": {"role": "o_fused", "heads_per_group": 3}},
      {"kind": "mxfp8_linear", "weight": "{l*}", "dtypes": ["F8_E4M3"],
       "companions": [[".weight", ".scale"], [".weight", ".weight_scale_inv"]]}
    ]})",
                                                                 "small"));
  return *kRecipe;
}

// The one refusal of a set of tensors that are all in it.
std::string Refusal(const Specs& specs) {
  const RecipeMatch match = MatchRecipe(Small(), specs);
  EXPECT_THAT(match.weights, IsEmpty());
  EXPECT_EQ(match.refused.size(), 1u);
  EXPECT_EQ(match.tensor_count(), static_cast<int64_t>(specs.size()));
  if (match.refused.empty()) return "";
  EXPECT_EQ(match.refused[0].tensors.size(), specs.size()) << match.refused[0].reason;
  return match.refused[0].reason;
}

TEST(RecipeMatch, ScaleNamesMayDifferBetweenLayers) {
  const RecipeMatch match = MatchRecipe(Small(), Specs{
                                                     {"0.weight", DType::kF8E4m3, {64, 64}},
                                                     {"0.scale", DType::kU8, {2, 2}},
                                                     {"1.weight", DType::kF8E4m3, {64, 64}},
                                                     {"1.weight_scale_inv", DType::kF8E8m0, {2, 2}},
                                                 });
  ASSERT_EQ(match.weights.size(), 2u);
  EXPECT_EQ(match.weights[0].scale_name, "0.scale");
  EXPECT_EQ(match.weights[1].scale_name, "1.weight_scale_inv");
}

TEST(RecipeMatch, AMissingScaleIsRefusedByTheNamesLookedFor) {
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {64, 64}}}),
              HasSubstr("weight 'a.weight' (F8_E4M3 [64, 64]) has no scale: there is no 'a.scale', "
                        "'a.weight_scale_inv'"));
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {64, 64}},
                       {"a.scale", DType::kU8, {2, 2}},
                       {"a.weight_scale_inv", DType::kU8, {2, 2}}}),
              HasSubstr("has two scales, 'a.scale'"));
}

TEST(RecipeMatch, ScalesAreCodes) {
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {128, 128}}, {"a.scale", DType::kF32, {1, 1}}}),
              HasSubstr("'a.scale' (F32 [1, 1]) does not hold E8M0 codes"));
  EXPECT_THAT(Refusal({{"a.weight", DType::kU8, {64, 32}}, {"a.scale", DType::kF8E4m3, {64, 4}}}),
              HasSubstr("NVFP4"));
}

TEST(RecipeMatch, BlocksOfMxfp8CodesFollowFromTheShapes) {
  struct Case {
    std::vector<int64_t> weight, codes;
    int64_t rows, columns;
  };
  for (const Case& c : {Case{{64, 96}, {2, 3}, 32, 32}, Case{{64, 96}, {64, 3}, 1, 32},
                        Case{{256, 384}, {2, 3}, 128, 128}, Case{{200, 300}, {2, 3}, 128, 128},
                        Case{{40, 32}, {2, 1}, 32, 32}, Case{{1, 64}, {1, 2}, 32, 32}}) {
    const RecipeMatch match = MatchRecipe(
        Small(), Specs{{"a.weight", DType::kF8E4m3, c.weight}, {"a.scale", DType::kU8, c.codes}});
    ASSERT_EQ(match.weights.size(), 1u);
    EXPECT_EQ(match.weights[0].code_rows, c.rows);
    EXPECT_EQ(match.weights[0].code_columns, c.columns);
  }
  EXPECT_THAT(
      Refusal({{"a.weight", DType::kF8E4m3, {64, 96}}, {"a.scale", DType::kU8, {2, 2}}}),
      HasSubstr("'a.weight' (F8_E4M3 [64, 96]) and scale 'a.scale' (U8 [2, 2]): expected "
                "codes of shape [2, 3] (blocks of 32 x 32), [64, 3] (of 1 x 32) or [1, 1]"));
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {64, 40}}, {"a.scale", DType::kU8, {2, 2}}}),
              HasSubstr("k is not a multiple of 32"));
  // Three-dimensional codes of a two-dimensional weight, and the other way round.
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {64, 96}}, {"a.scale", DType::kU8, {1, 2, 3}}}),
              HasSubstr("expected two dimensions each"));
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {1, 64, 96}}, {"a.scale", DType::kU8, {2, 3}}}),
              HasSubstr("[1, 64, 96]"));
  EXPECT_THAT(Refusal({{"a.weight", DType::kF8E4m3, {0, 96}}, {"a.scale", DType::kU8, {0, 3}}}),
              HasSubstr("empty"));
}

TEST(RecipeMatch, FourBitShapes) {
  const auto match = [](DType dtype, std::vector<int64_t> weight, std::vector<int64_t> codes) {
    return MatchRecipe(Small(), Specs{{"a.weight", dtype, std::move(weight)},
                                      {"a.scale", DType::kU8, std::move(codes)}});
  };
  for (const RecipeMatch& m :
       {match(DType::kU8, {8, 48}, {8, 3}), match(DType::kU8, {8, 3, 16}, {8, 3}),
        match(DType::kF4, {8, 96}, {8, 3})}) {
    ASSERT_EQ(m.weights.size(), 1u);
    EXPECT_EQ(m.weights[0].kind, WeightKind::kMxfp4Linear);
    EXPECT_EQ(m.weights[0].n, 8);
    EXPECT_EQ(m.weights[0].k, 96);
    EXPECT_EQ(m.weights[0].experts, 0);
  }
  const auto reason = [](const RecipeMatch& m) {
    EXPECT_EQ(m.refused.size(), 1u);
    return m.refused.empty() ? "" : m.refused[0].reason;
  };
  EXPECT_THAT(reason(match(DType::kU8, {8, 48}, {8, 6})),
              HasSubstr("expected codes of shape [8, 3]"));
  EXPECT_THAT(reason(match(DType::kU8, {8, 48}, {8, 3, 1})), HasSubstr("codes of shape [8, 3]"));
  EXPECT_THAT(reason(match(DType::kU8, {2, 8, 48}, {2, 8, 3})),
              HasSubstr("expected a weight of [n, k / 2]"));
  EXPECT_THAT(reason(match(DType::kF4, {8, 3, 16}, {8, 3})), HasSubstr("expected a weight of"));
  EXPECT_THAT(reason(match(DType::kU8, {8, 8}, {8, 0})), HasSubstr("k = 16 is not a multiple"));
  EXPECT_THAT(reason(match(DType::kU8, {8, 0}, {8, 0})), HasSubstr("empty"));
}

// The tensors of experts [0, count) of layer "m", without those that `leave_out` names.
Specs Experts(int count, const std::vector<std::string>& leave_out = {}) {
  Specs specs;
  for (int e = 0; e < count; ++e) {
    const std::string expert = "m.experts." + std::to_string(e);
    for (const auto& [w, n, k] :
         {std::tuple(".w1", 32, 64), std::tuple(".w2", 64, 32), std::tuple(".w3", 32, 64)}) {
      if (std::find(leave_out.begin(), leave_out.end(), std::to_string(e) + w) != leave_out.end()) {
        continue;
      }
      specs.push_back({expert + w + ".weight", DType::kU8, {n, k / 2}});
      specs.push_back({expert + w + ".scale", DType::kU8, {n, k / 32}});
    }
  }
  return specs;
}

TEST(RecipeMatch, ExpertsComeInTheirOrder) {
  const RecipeMatch match = MatchRecipe(Small(), Experts(11));
  ASSERT_EQ(match.weights.size(), 2u);
  EXPECT_THAT(match.refused, IsEmpty());
  EXPECT_EQ(match.weights[0].name, "m.w13.weight");
  EXPECT_EQ(match.weights[0].experts, 11);
  EXPECT_EQ(match.weights[0].n, 64);
  EXPECT_EQ(match.weights[1].name, "m.w2.weight");
  EXPECT_EQ(match.weights[1].parts[10].weight, "m.experts.10.w2.weight");
  EXPECT_EQ(match.weights[1].parts[2].weight, "m.experts.2.w2.weight");
}

TEST(RecipeMatch, AMissingExpertIsNamed) {
  const auto reasons = [](const Specs& specs) {
    std::vector<std::string> all;
    const RecipeMatch match = MatchRecipe(Small(), specs);
    EXPECT_EQ(match.tensor_count(), static_cast<int64_t>(specs.size()));
    for (const auto& refusal : match.refused) all.push_back(refusal.reason);
    return all;
  };
  EXPECT_THAT(reasons(Experts(4, {"2.w2"})),
              ElementsAre(HasSubstr("experts of 'm.w2': number 2 is missing, the next there is "
                                    "'m.experts.3.w2.weight'")));
  EXPECT_THAT(reasons(Experts(4, {"0.w1"})), ElementsAre(HasSubstr("number 0 gate is missing")));
  EXPECT_THAT(reasons(Experts(4, {"1.w3"})), ElementsAre(HasSubstr("number 1 up is missing")));
  EXPECT_THAT(reasons(Experts(4, {"3.w3"})),
              ElementsAre(HasSubstr("the up that belongs to 'm.experts.3.w1.weight'")));
  // The last of one projection only: each is complete by itself, together they are not.
  EXPECT_THAT(reasons(Experts(4, {"3.w2"})),
              ElementsAre(AllOf(HasSubstr("layer 'm': 'm.w13.weight' (4 experts"),
                                HasSubstr("'m.w2.weight' (3 experts"))));
}

TEST(RecipeMatch, AMissingScaleOfOneExpertLeavesAHole) {
  Specs specs = Experts(3);
  std::erase_if(specs, [](const TensorSpec& spec) { return spec.name == "m.experts.1.w2.scale"; });
  const RecipeMatch match = MatchRecipe(Small(), specs);
  EXPECT_EQ(match.tensor_count(), static_cast<int64_t>(specs.size()));
  ASSERT_EQ(match.refused.size(), 2u);
  EXPECT_THAT(match.refused[0].reason, HasSubstr("'m.experts.1.w2.weight'"));
  EXPECT_THAT(match.refused[1].reason, HasSubstr("number 1 is missing"));
}

TEST(RecipeMatch, ExpertsAreAlike) {
  Specs specs = Experts(3);
  for (TensorSpec& spec : specs) {
    if (spec.name == "m.experts.1.w2.weight") spec.shape = {32, 16};
    if (spec.name == "m.experts.1.w2.scale") spec.shape = {32, 1};
  }
  const RecipeMatch match = MatchRecipe(Small(), specs);
  ASSERT_EQ(match.refused.size(), 1u);
  EXPECT_THAT(
      match.refused[0].reason,
      HasSubstr("'m.experts.1.w2.weight' (U8 [32, 16]) differs from 'm.experts.0.w2.weight'"));
  EXPECT_EQ(match.refused[0].tensors.size(), 6u);
}

TEST(RecipeMatch, HugeExpertNumbersAreHoles) {
  EXPECT_THAT(Refusal({{"m.experts.99999999999999999999.w2.weight", DType::kU8, {64, 16}},
                       {"m.experts.99999999999999999999.w2.scale", DType::kU8, {64, 1}}}),
              HasSubstr("number 0 is missing"));
}

TEST(RecipeMatch, AFusedNameThatIsTakenIsRefused) {
  Specs specs = Experts(2);
  specs.push_back({"m.w13.weight", DType::kBf16, {1}});
  const RecipeMatch match = MatchRecipe(Small(), specs);
  ASSERT_EQ(match.refused.size(), 1u);
  EXPECT_THAT(match.refused[0].reason, HasSubstr("called as 'm.w13.weight' (BF16 [1])"));
  EXPECT_EQ(match.refused[0].tensors.size(), 8u);
  EXPECT_THAT(match.copied, ElementsAre("m.w13.weight"));
}

TEST(RecipeMatch, GateAndUpOfAllExpertsInTwoTensors) {
  const RecipeMatch match =
      MatchRecipe(Small(), Specs{
                               {"m.all_up.weight", DType::kU8, {5, 32, 2, 16}},
                               {"m.all_up.scale", DType::kU8, {5, 32, 2}},
                               {"m.all_gate.weight", DType::kU8, {5, 32, 2, 16}},
                               {"m.all_gate.scale", DType::kU8, {5, 32, 2}},
                           });
  ASSERT_EQ(match.weights.size(), 1u);
  EXPECT_EQ(match.weights[0].experts, 5);
  EXPECT_EQ(match.weights[0].n, 64);
  ASSERT_EQ(match.weights[0].parts.size(), 2u);
  EXPECT_EQ(match.weights[0].parts[0].weight, "m.all_gate.weight");
  EXPECT_EQ(match.weights[0].parts[0].experts, 5);
  EXPECT_EQ(match.weights[0].parts[0].half, WeightPart::Half::kGate);
  EXPECT_THAT(Refusal({{"m.all_up.weight", DType::kU8, {5, 32, 2, 16}},
                       {"m.all_up.scale", DType::kU8, {5, 32, 2}}}),
              HasSubstr("gate is missing"));
}

TEST(RecipeMatch, ALayerHasOneGateUp) {
  Specs specs = Experts(2);
  specs.push_back({"m.fused.weight", DType::kU8, {2, 64, 32}});
  specs.push_back({"m.fused.scale", DType::kU8, {2, 64, 2}});
  const RecipeMatch match = MatchRecipe(Small(), specs);
  ASSERT_EQ(match.refused.size(), 1u);
  EXPECT_THAT(match.refused[0].reason, HasSubstr("as gate_up"));
  EXPECT_EQ(match.refused[0].tensors.size(), specs.size());
}

TEST(RecipeMatch, SizesBeyondFourGibibytesAreOrdinary) {
  const RecipeMatch match =
      MatchRecipe(Small(), Specs{{"m.fused.weight", DType::kU8, {385, 4096, 3584}},
                                 {"m.fused.scale", DType::kU8, {385, 4096, 224}}});
  ASSERT_EQ(match.weights.size(), 1u);
  EXPECT_EQ(match.weights[0].k, 7168);
  EXPECT_EQ(match.weights[0].experts * match.weights[0].n * match.weights[0].k,
            int64_t{11303649280});
}

TEST(RecipeMatch, OddGateUpIsRefused) {
  EXPECT_THAT(Refusal({{"m.fused.weight", DType::kU8, {2, 63, 32}},
                       {"m.fused.scale", DType::kU8, {2, 63, 2}}}),
              HasSubstr("odd number of rows 63"));
}

TEST(RecipeMatch, FlashmlaRolesFitTheShape) {
  const RecipeMatch match = MatchRecipe(Small(), Specs{{"m.wq_b.weight", DType::kF8E4m3, {192, 64}},
                                                       {"m.wq_b.scale", DType::kU8, {6, 2}},
                                                       {"m.wo_a.weight", DType::kF8E4m3, {64, 96}},
                                                       {"m.wo_a.scale", DType::kU8, {2, 3}}});
  ASSERT_EQ(match.weights.size(), 2u);
  EXPECT_EQ(match.weights[0].head_dim, 64);
  EXPECT_EQ(match.weights[1].head_dim, 32);
  EXPECT_THAT(
      Refusal({{"m.wq_b.weight", DType::kF8E4m3, {96, 64}}, {"m.wq_b.scale", DType::kU8, {3, 2}}}),
      HasSubstr("n is not a multiple of the head size 64"));
  EXPECT_THAT(
      Refusal({{"m.wo_a.weight", DType::kF8E4m3, {64, 64}}, {"m.wo_a.scale", DType::kU8, {2, 2}}}),
      HasSubstr("k is not a multiple of the 3 heads"));
}

}  // namespace
}  // namespace lanewise
