#include "checkpoint/recipes/recipe.h"

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "checkpoint/files/test_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Refusal(std::string_view json) {
  const absl::StatusOr<Recipe> recipe = Recipe::Parse(json, "r.json");
  EXPECT_FALSE(recipe.ok()) << json;
  return std::string(recipe.status().message());
}

std::string RuleRefusal(const std::string& rule) {
  return Refusal(R"({"name":"r","rules":[)" + rule + "]}");
}

TEST(Recipe, ReadsEveryField) {
  const absl::StatusOr<Recipe> recipe = Recipe::Parse(R"({
    "name": "r", "about": "all of it", "generic": true,
    "recognised_by": [{"tensors": ["a.{x}", "b"], "dtypes": ["U8", "F4"]}],
    "unless": [{"tensors": ["c"]}],
    "rules": [
      {"kind": "mxfp8_linear", "weight": "{l*}.q", "companions": [[".w", ".s"], [".w", ".t"]],
       "dtypes": ["F8_E4M3"], "parallel": "column",
       "flashmla": {"role": "q_fused", "head_dim": 512}},
      {"kind": "mxfp8_linear", "weight": "{l*}.o", "companions": [[".w", ".s"]],
       "dtypes": ["F8_E4M3"], "flashmla": {"role": "o_fused", "heads_per_group": 8}},
      {"kind": "mxfp4_experts", "gate": "{l*}.{expert#}.g", "up": "{l*}.{expert#}.u",
       "companions": [["", "_s"]], "dtypes": ["U8"], "packing": "low_nibble_first",
       "output": "{l}.gu", "group": "{l}", "parallel": "expert"},
      {"kind": "mxfp4_experts", "weight": "{l*}.gu", "companions": [["", "_s"]], "dtypes": ["U8"],
       "packing": "low_nibble_first", "projection": "gate_up", "order": "gate_then_up",
       "group": "{l}"},
      {"refuse": "because", "weight": "x", "companions": [["", "_s"]], "dtypes": ["U8"]}
    ]})",
                                                      "r.json");
  ASSERT_TRUE(recipe.ok()) << recipe.status();
  EXPECT_EQ(recipe->name, "r");
  EXPECT_EQ(recipe->about, "all of it");
  EXPECT_TRUE(recipe->generic);
  ASSERT_EQ(recipe->recognised_by.size(), 1u);
  EXPECT_EQ(recipe->recognised_by[0].tensors.size(), 2u);
  EXPECT_THAT(recipe->recognised_by[0].dtypes, ElementsAre(DType::kU8, DType::kF4));
  ASSERT_EQ(recipe->rules.size(), 5u);
  const Rule& q = recipe->rules[0];
  EXPECT_EQ(q.kind, WeightKind::kMxfp8Linear);
  ASSERT_EQ(q.companions.size(), 2u);
  EXPECT_EQ(q.companions[1].scale, ".t");
  EXPECT_EQ(q.parallel, Parallel::kColumn);
  EXPECT_EQ(q.flashmla, FlashmlaRole::kQFused);
  EXPECT_EQ(q.head_dim, 512);
  EXPECT_EQ(recipe->rules[1].flashmla, FlashmlaRole::kOFused);
  EXPECT_EQ(recipe->rules[1].heads_per_group, 8);
  EXPECT_EQ(recipe->rules[1].parallel, Parallel::kUnstated);
  const Rule& pair = recipe->rules[2];
  EXPECT_EQ(pair.projection, Projection::kGateUp);
  EXPECT_EQ(pair.order, GateUpOrder::kSeparate);
  EXPECT_EQ(pair.output.text(), "{l}.gu");
  EXPECT_EQ(pair.parallel, Parallel::kExpert);
  EXPECT_EQ(recipe->rules[3].order, GateUpOrder::kGateThenUp);
  EXPECT_EQ(recipe->rules[4].refuse, "because");
}

TEST(Recipe, MisspelledFieldsAndWordsAreRefused) {
  const std::string linear =
      R"("kind":"mxfp8_linear","weight":"{l*}","companions":[[".w",".s"]],"dtypes":["F8_E4M3"])";
  ASSERT_TRUE(Recipe::Parse(R"({"name":"r","rules":[{)" + linear + "}]}", "r").ok());
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"paralel":"row"})"),
              HasSubstr("r.json: rule 1: there is no field 'paralel' here"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"parallel":"rows"})"),
              HasSubstr("\"parallel\" is 'rows', expected one of column, row, expert, replicated"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"parallel":"unstated"})"), HasSubstr("expected one"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"parallel":"expert"})"), HasSubstr("mxfp4_experts"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"packing":"low_nibble_first"})"),
              HasSubstr("4-bit weights"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"order":"interleaved"})"),
              HasSubstr("of mxfp4_experts"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"flashmla":{"role":"q_fused"}})"),
              HasSubstr("flashmla: needs \"head_dim\""));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"flashmla":{"role":"q_fused","head_dim":0}})"),
              HasSubstr("integer from 1"));
  EXPECT_THAT(RuleRefusal("{" + linear +
                          R"(,"flashmla":{"role":"o_fused","heads_per_group":8,)"
                          R"("head_dim":512}})"),
              HasSubstr("no field 'head_dim'"));
  EXPECT_THAT(RuleRefusal("{" + linear + R"(,"up":"x"})"), HasSubstr("either \"weight\" or both"));
  EXPECT_THAT(RuleRefusal("1"), HasSubstr("not an object"));
  EXPECT_THAT(Refusal(R"({"name":"r","rules":[],"x":1})"), HasSubstr("no field 'x'"));
  EXPECT_THAT(Refusal(R"({"rules":[]})"), HasSubstr("needs \"name\""));
  EXPECT_THAT(Refusal(R"({"name":"r"})"), HasSubstr("needs \"rules\""));
  EXPECT_THAT(Refusal(R"({"name":"r","name":"q","rules":[]})"), HasSubstr("stands twice"));
  EXPECT_THAT(Refusal(R"({"name":"r","rules":[],"generic":1})"), HasSubstr("true or false"));
  EXPECT_THAT(Refusal(R"({"name":"r","rules":[],"recognised_by":[{"tensors":[]}]})"),
              HasSubstr("not empty"));
  EXPECT_THAT(Refusal(R"({"name":"r","rules":[],"recognised_by":[{"tensors":["{a"]}]})"),
              HasSubstr("without its '}'"));
  EXPECT_THAT(Refusal(R"({"name":"r","rules":[],"unless":{}})"), HasSubstr("unless: has to be"));
}

TEST(Recipe, RulesNeedWhatTheirKindNeeds) {
  const auto rule = [](const std::string& fields) {
    return RuleRefusal(R"({"companions":[[".w",".s"]],"dtypes":["U8"],)" + fields + "}");
  };
  EXPECT_THAT(rule(R"("weight":"a")"), HasSubstr("needs \"kind\""));
  EXPECT_THAT(rule(R"("kind":"mxfp4_linear")"), HasSubstr("either \"weight\" or both"));
  EXPECT_THAT(rule(R"("kind":"mxfp4_linear","weight":"a")"), HasSubstr("needs \"packing\""));
  // Nibbles in two halves of a block: known, but not these bytes.
  EXPECT_THAT(rule(R"("kind":"mxfp4_linear","weight":"a","packing":"split_halves")"),
              HasSubstr("\"packing\" is 'split_halves': only low_nibble_first"));
  const std::string experts = R"("kind":"mxfp4_experts","packing":"low_nibble_first",)";
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","group":"{l}")"),
              HasSubstr("need \"projection\""));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","group":"{l}","projection":"gate_up")"),
              HasSubstr("needs \"order\""));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","group":"{l}","projection":"down",)"
                             R"("order":"interleaved")"),
              HasSubstr("\"order\" is of gate/up"));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","projection":"down")"),
              HasSubstr("need \"group\""));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","projection":"down","group":"{m}")"),
              HasSubstr("{m}"));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.x","projection":"down","group":"{l}","output":"y")"),
              HasSubstr("keep their name"));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.{expert#}","projection":"down","group":"{l}")"),
              HasSubstr("need \"output\""));
  // An output that leaves the layer out would pour all layers into one weight.
  EXPECT_THAT(rule(experts + R"("weight":"{l}.{expert#}","projection":"down","group":"{l}",)"
                             R"("output":"w2")"),
              HasSubstr("it differs in {l}"));
  EXPECT_THAT(rule(experts + R"("weight":"{l}.{expert#}","projection":"down","group":"{l}",)"
                             R"("output":"{l}.{expert}")"),
              HasSubstr("it differs in {expert}"));
  EXPECT_THAT(
      rule(experts + R"("gate":"{l}.{expert#}.g","up":"{l}.u","group":"{l}","output":"{l}")"),
      HasSubstr("same captures"));
  EXPECT_THAT(rule(experts + R"("gate":"{l}.g","up":"{l}.u","group":"{l}","output":"{l}",)"
                             R"("order":"interleaved")"),
              HasSubstr("say projection and order already"));
  EXPECT_THAT(RuleRefusal(R"({"kind":"mxfp8_linear","weight":"a","dtypes":["U8"]})"),
              HasSubstr("needs \"companions\""));
  EXPECT_THAT(RuleRefusal(R"({"kind":"mxfp8_linear","weight":"a","companions":[[".w"]],)"
                          R"("dtypes":["U8"]})"),
              HasSubstr("holds pairs"));
  EXPECT_THAT(RuleRefusal(R"({"kind":"mxfp8_linear","weight":"a","companions":[[".w",".w"]],)"
                          R"("dtypes":["U8"]})"),
              HasSubstr("not its own scale"));
  EXPECT_THAT(RuleRefusal(R"({"kind":"mxfp8_linear","weight":"a","companions":[[".w",".s"]],)"
                          R"("dtypes":["E4M3"]})"),
              HasSubstr("unknown dtype 'E4M3'"));
}

TEST(Recipe, RecognisesByNamesAndDtypes) {
  const absl::StatusOr<Recipe> recipe =
      Recipe::Parse(R"({"name":"r","recognised_by":[{"tensors":["a.{x#}","b"],"dtypes":["U8"]},)"
                    R"({"tensors":["c"]}],"unless":[{"tensors":["d"]}],"rules":[]})",
                    "r");
  ASSERT_TRUE(recipe.ok());
  using Specs = std::vector<TensorSpec>;
  const TensorSpec a{"a.1", DType::kU8, {}};
  const TensorSpec wrong_a{"a.1", DType::kI8, {}};
  const TensorSpec b{"b", DType::kU8, {}};
  const TensorSpec c{"c", DType::kF32, {}};
  const TensorSpec d{"d", DType::kF32, {}};
  EXPECT_TRUE(recipe->Recognises(Specs{a, c}));
  EXPECT_TRUE(recipe->Recognises(Specs{c, b}));
  EXPECT_FALSE(recipe->Recognises(Specs{a}));
  EXPECT_FALSE(recipe->Recognises(Specs{wrong_a, c}));
  EXPECT_FALSE(recipe->Recognises(Specs{a, c, d}));
  EXPECT_FALSE(recipe->Recognises({}));
  EXPECT_FALSE(Recipe::Parse(R"({"name":"r","rules":[]})", "r")->Recognises(Specs{a}));
}

TEST(Recipe, ComesFromAFile) {
  const TestDirectory directory;
  const std::string path = directory.Write("r.json", R"({"name":"r","rules":[]})");
  ASSERT_TRUE(Recipe::FromFile(path).ok());
  EXPECT_EQ(Recipe::FromFile(directory.File("x")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Recipe::FromFile(directory.Write("s.json", "[")).status().message()),
              HasSubstr("s.json: not JSON"));
}

}  // namespace
}  // namespace lanewise
