#include "checkpoint/recipes/recipe_set.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/recipes/recipe_match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Specs = std::vector<TensorSpec>;

const RecipeSet& BuiltIn() {
  static const RecipeSet* const kSet = new RecipeSet(*RecipeSet::BuiltIn());
  return *kSet;
}

// The name of the recipe chosen, or the message.
std::string Chosen(const Specs& specs) {
  const absl::StatusOr<RecipeSet::Choice> choice = BuiltIn().Choose(specs);
  if (!choice.ok()) return std::string(choice.status().message());
  EXPECT_THAT(choice->why, HasSubstr("recipe " + choice->recipe->name));
  return choice->recipe->name;
}

// Chooses a recipe, which has to be the one of that name, and applies it. Checks the census: every
// tensor stands in exactly one place.
RecipeMatch Match(const std::string& name, const Specs& specs) {
  EXPECT_EQ(Chosen(specs), name);
  const RecipeMatch match = MatchRecipe(**BuiltIn().Find(name), specs);
  std::vector<std::string> placed = match.copied;
  for (const Refusal& refusal : match.refused) {
    placed.insert(placed.end(), refusal.tensors.begin(), refusal.tensors.end());
  }
  for (const MatchedWeight& weight : match.weights) {
    for (const WeightPart& part : weight.parts) {
      placed.push_back(part.weight);
      placed.push_back(part.scale);
    }
  }
  std::vector<std::string> all;
  for (const TensorSpec& spec : specs) all.push_back(spec.name);
  std::sort(placed.begin(), placed.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(placed, all);
  EXPECT_EQ(match.tensor_count(), static_cast<int64_t>(specs.size()));
  return match;
}

const MatchedWeight& Weight(const RecipeMatch& match, const std::string& name) {
  static const MatchedWeight kNone;
  for (const MatchedWeight& weight : match.weights) {
    if (weight.name == name) return weight;
  }
  ADD_FAILURE() << "no weight " << name;
  return kNone;
}

TEST(BuiltInRecipes, AreThese) {
  std::vector<std::string> names;
  for (const Recipe& recipe : BuiltIn().recipes()) {
    names.push_back(recipe.name);
    EXPECT_NE(recipe.about, "") << recipe.name;
    EXPECT_EQ(recipe.generic, recipe.name.starts_with("generic-")) << recipe.name;
  }
  EXPECT_THAT(names, ElementsAre("compressed-tensors-mxfp4", "deepseek-v4", "generic-mxfp4",
                                 "generic-mxfp8", "gpt-oss", "minimax-m3", "none", "quark-mxfp4"));
  EXPECT_THAT(std::string(BuiltIn().Find("x").status().message()),
              HasSubstr("no recipe 'x'; there are compressed-tensors-mxfp4, deepseek-v4"));
}

TEST(BuiltInRecipes, GptOss) {
  const std::string layer = "model.layers.3.mlp.experts.";
  const RecipeMatch match =
      Match("gpt-oss", {
                           {layer + "gate_up_proj_blocks", DType::kU8, {32, 5760, 90, 16}},
                           {layer + "gate_up_proj_scales", DType::kU8, {32, 5760, 90}},
                           {layer + "gate_up_proj_bias", DType::kBf16, {32, 5760}},
                           {layer + "down_proj_blocks", DType::kU8, {32, 2880, 90, 16}},
                           {layer + "down_proj_scales", DType::kU8, {32, 2880, 90}},
                           {"model.layers.3.self_attn.q_proj.weight", DType::kBf16, {4096, 2880}},
                           {"model.norm.weight", DType::kBf16, {2880}},
                       });
  EXPECT_TRUE(match.refused.empty());
  EXPECT_EQ(match.copied.size(), 3u);
  ASSERT_EQ(match.weights.size(), 2u);
  const MatchedWeight& gate_up = match.weights[0];
  EXPECT_EQ(gate_up.kind, WeightKind::kMxfp4Experts);
  EXPECT_EQ(gate_up.name, layer + "gate_up_proj_blocks");
  EXPECT_EQ(gate_up.scale_name, layer + "gate_up_proj_scales");
  EXPECT_EQ(gate_up.experts, 32);
  EXPECT_EQ(gate_up.n, 5760);
  EXPECT_EQ(gate_up.k, 2880);
  EXPECT_EQ(gate_up.inter(), 2880);
  EXPECT_EQ(gate_up.hidden(), 2880);
  EXPECT_EQ(gate_up.projection, Projection::kGateUp);
  EXPECT_EQ(gate_up.order, GateUpOrder::kInterleaved);
  EXPECT_EQ(gate_up.parallel, Parallel::kColumn);
  EXPECT_EQ(gate_up.code_rows, 1);
  EXPECT_EQ(gate_up.code_columns, 32);
  ASSERT_EQ(gate_up.parts.size(), 1u);
  EXPECT_EQ(gate_up.parts[0].experts, 32);
  EXPECT_EQ(gate_up.parts[0].half, WeightPart::Half::kWhole);
  const MatchedWeight& down = match.weights[1];
  EXPECT_EQ(down.projection, Projection::kDown);
  EXPECT_EQ(down.order, GateUpOrder::kNone);
  EXPECT_EQ(down.inter(), 2880);
  EXPECT_EQ(down.parallel, Parallel::kRow);
  EXPECT_EQ(down.group, gate_up.group);
}

TEST(BuiltInRecipes, GptOssOriginalNames) {
  const RecipeMatch match =
      Match("gpt-oss", {
                           {"block.0.mlp.mlp1_weight.blocks", DType::kU8, {4, 128, 2, 16}},
                           {"block.0.mlp.mlp1_weight.scales", DType::kU8, {4, 128, 2}},
                           {"block.0.mlp.mlp2_weight.blocks", DType::kU8, {4, 64, 2, 16}},
                           {"block.0.mlp.mlp2_weight.scales", DType::kU8, {4, 64, 2}},
                       });
  EXPECT_EQ(match.weights.size(), 2u);
  EXPECT_EQ(Weight(match, "block.0.mlp.mlp1_weight.blocks").order, GateUpOrder::kInterleaved);
}

// Experts of a DeepSeek layer: inter 64, hidden 128; `count` of them.
void AddExperts(Specs& specs, const std::string& layer, int count) {
  for (int e = count - 1; e >= 0; --e) {  // files need not hold them in order
    const std::string expert = layer + ".ffn.experts." + std::to_string(e);
    specs.push_back({expert + ".w2.weight", DType::kI8, {128, 32}});
    specs.push_back({expert + ".w2.scale", DType::kF8E8m0, {128, 2}});
    specs.push_back({expert + ".w3.weight", DType::kI8, {64, 64}});
    specs.push_back({expert + ".w3.scale", DType::kF8E8m0, {64, 4}});
    specs.push_back({expert + ".w1.weight", DType::kI8, {64, 64}});
    specs.push_back({expert + ".w1.scale", DType::kF8E8m0, {64, 4}});
  }
}

TEST(BuiltInRecipes, DeepSeekV4) {
  Specs specs;
  AddExperts(specs, "layers.7", 12);
  AddExperts(specs, "mtp.0", 2);
  const auto add = [&](const std::string& name, int64_t n, int64_t k, int64_t block) {
    specs.push_back({name + ".weight", DType::kF8E4m3, {n, k}});
    specs.push_back({name + ".scale", DType::kF8E8m0, {n / block, k / block}});
  };
  add("layers.7.attn.wq_a", 1280, 5120, 32);
  add("layers.7.attn.wq_b", 32768, 1280, 32);
  add("layers.7.attn.wo_a", 8192, 4096, 32);
  add("layers.7.attn.wo_b", 5120, 8192, 32);
  add("layers.7.attn.indexer.wq_b", 4096, 1280, 32);
  add("layers.7.ffn.shared_experts.w1", 2048, 4096, 128);
  add("layers.7.ffn.shared_experts.w2", 4096, 2048, 128);
  add("mtp.0.main_proj", 256, 256, 32);
  specs.push_back({"layers.7.attn.attn_sink", DType::kF32, {64}});
  specs.push_back({"embed.weight", DType::kBf16, {100, 4096}});
  const RecipeMatch match = Match("deepseek-v4", specs);
  EXPECT_TRUE(match.refused.empty());
  EXPECT_EQ(match.copied.size(), 2u);
  const MatchedWeight& w13 = Weight(match, "layers.7.ffn.experts.w13.weight");
  EXPECT_EQ(w13.scale_name, "layers.7.ffn.experts.w13.scale");
  EXPECT_EQ(w13.kind, WeightKind::kMxfp4Experts);
  EXPECT_EQ(w13.dtype, DType::kI8);
  EXPECT_EQ(w13.experts, 12);
  EXPECT_EQ(w13.n, 128);
  EXPECT_EQ(w13.k, 128);
  EXPECT_EQ(w13.inter(), 64);
  EXPECT_EQ(w13.order, GateUpOrder::kSeparate);
  ASSERT_EQ(w13.parts.size(), 24u);
  // Expert 10 comes after 9, not after 1.
  for (size_t i = 0; i < w13.parts.size(); ++i) {
    const std::string expert = "layers.7.ffn.experts." + std::to_string(i / 2);
    EXPECT_EQ(w13.parts[i].first_expert, static_cast<int64_t>(i / 2));
    EXPECT_EQ(w13.parts[i].experts, 1);
    EXPECT_EQ(w13.parts[i].weight, expert + (i % 2 == 0 ? ".w1.weight" : ".w3.weight"));
    EXPECT_EQ(w13.parts[i].scale, expert + (i % 2 == 0 ? ".w1.scale" : ".w3.scale"));
    EXPECT_EQ(w13.parts[i].half, i % 2 == 0 ? WeightPart::Half::kGate : WeightPart::Half::kUp);
  }
  const MatchedWeight& w2 = Weight(match, "layers.7.ffn.experts.w2.weight");
  EXPECT_EQ(w2.group, w13.group);
  EXPECT_EQ(w2.n, 128);
  EXPECT_EQ(w2.k, 64);
  EXPECT_EQ(Weight(match, "mtp.0.ffn.experts.w13.weight").experts, 2);

  const MatchedWeight& wq_b = Weight(match, "layers.7.attn.wq_b.weight");
  EXPECT_EQ(wq_b.kind, WeightKind::kMxfp8Linear);
  EXPECT_EQ(wq_b.flashmla, FlashmlaRole::kQFused);
  EXPECT_EQ(wq_b.head_dim, 512);
  EXPECT_EQ(wq_b.parallel, Parallel::kColumn);
  EXPECT_EQ(wq_b.code_rows, 32);
  EXPECT_EQ(wq_b.scale_name, "layers.7.attn.wq_b.scale");
  const MatchedWeight& wo_a = Weight(match, "layers.7.attn.wo_a.weight");
  EXPECT_EQ(wo_a.flashmla, FlashmlaRole::kOFused);
  EXPECT_EQ(wo_a.heads_per_group, 8);
  EXPECT_EQ(wo_a.head_dim, 512);
  EXPECT_EQ(Weight(match, "layers.7.attn.wo_b.weight").parallel, Parallel::kRow);
  const MatchedWeight& indexer = Weight(match, "layers.7.attn.indexer.wq_b.weight");
  EXPECT_EQ(indexer.flashmla, FlashmlaRole::kNone);
  EXPECT_EQ(indexer.parallel, Parallel::kReplicated);
  EXPECT_EQ(Weight(match, "layers.7.ffn.shared_experts.w1.weight").code_rows, 128);
  EXPECT_EQ(Weight(match, "layers.7.ffn.shared_experts.w1.weight").code_columns, 128);
  EXPECT_EQ(Weight(match, "mtp.0.main_proj.weight").parallel, Parallel::kUnstated);
}

TEST(BuiltInRecipes, MiniMaxM3) {
  Specs specs;
  const auto add = [&](const std::string& name, int64_t n, int64_t k) {
    specs.push_back({name + ".weight", DType::kF8E4m3, {n, k}});
    specs.push_back({name + ".weight_scale_inv", DType::kU8, {n, k / 32}});
  };
  const std::string layer = "language_model.model.layers.5.";
  add(layer + "block_sparse_moe.experts.0.w1", 96, 64);
  add(layer + "block_sparse_moe.experts.0.w2", 64, 96);
  add(layer + "block_sparse_moe.experts.0.w3", 96, 64);
  add(layer + "block_sparse_moe.shared_experts.down_proj", 64, 96);
  add(layer + "self_attn.q_proj", 128, 64);
  add(layer + "self_attn.o_proj", 64, 128);
  specs.push_back({layer + "block_sparse_moe.gate.weight", DType::kF32, {128, 64}});
  const RecipeMatch match = Match("minimax-m3", specs);
  EXPECT_EQ(match.weights.size(), 6u);
  EXPECT_EQ(match.copied.size(), 1u);
  const MatchedWeight& w2 = Weight(match, layer + "block_sparse_moe.experts.0.w2.weight");
  EXPECT_EQ(w2.kind, WeightKind::kMxfp8Linear);
  EXPECT_EQ(w2.code_rows, 1);
  EXPECT_EQ(w2.parallel, Parallel::kRow);
  EXPECT_EQ(Weight(match, layer + "self_attn.q_proj.weight").parallel, Parallel::kColumn);
}

TEST(BuiltInRecipes, QuarkAndCompressedTensors) {
  for (const std::string end : {".weight", ".weight_packed"}) {
    Specs specs;
    const auto add = [&](const std::string& name, int64_t n, int64_t k) {
      specs.push_back({name + end, DType::kU8, {n, k / 2}});
      specs.push_back({name + ".weight_scale", DType::kU8, {n, k / 32}});
    };
    for (const char* e : {"1", "0"}) {
      const std::string expert = std::string("model.layers.0.mlp.experts.") + e;
      add(expert + ".down_proj", 64, 96);
      add(expert + ".gate_proj", 96, 64);
      add(expert + ".up_proj", 96, 64);
    }
    add("model.layers.0.self_attn.o_proj", 64, 128);
    specs.push_back({"lm_head.weight", DType::kBf16, {10, 64}});
    const RecipeMatch match =
        Match(end == ".weight" ? "quark-mxfp4" : "compressed-tensors-mxfp4", specs);
    EXPECT_TRUE(match.refused.empty());
    ASSERT_EQ(match.weights.size(), 3u);
    const MatchedWeight& gate_up = Weight(match, "model.layers.0.mlp.experts.gate_up_proj" + end);
    EXPECT_EQ(gate_up.scale_name, "model.layers.0.mlp.experts.gate_up_proj.weight_scale");
    EXPECT_EQ(gate_up.n, 192);
    EXPECT_EQ(gate_up.k, 64);
    EXPECT_EQ(Weight(match, "model.layers.0.mlp.experts.down_proj" + end).k, 96);
    const MatchedWeight& o_proj = Weight(match, "model.layers.0.self_attn.o_proj" + end);
    EXPECT_EQ(o_proj.kind, WeightKind::kMxfp4Linear);
    EXPECT_EQ(o_proj.parallel, Parallel::kRow);
    EXPECT_THAT(match.copied, ElementsAre("lm_head.weight"));
  }
}

// The form of the smallest real files with e4m3 weights.
TEST(BuiltInRecipes, GenericMxfp8) {
  Specs specs;
  for (int layer = 0; layer < 3; ++layer) {
    const std::string name = "model.layers." + std::to_string(layer) + ".self_attn.q_proj.weight";
    specs.push_back({name, DType::kF8E4m3, {256, 256}});
    specs.push_back({name + "_scale_inv", DType::kF8E8m0, {8, 8}});
  }
  const RecipeMatch match = Match("generic-mxfp8", specs);
  EXPECT_EQ(match.weights.size(), 3u);
  EXPECT_EQ(match.weights[2].code_rows, 32);
  EXPECT_EQ(match.weights[2].parallel, Parallel::kColumn);
}

TEST(BuiltInRecipes, GenericMxfp8TakesWhatALoaderDequantized) {
  const RecipeMatch match = Match("generic-mxfp8", {
                                                       {"a.weight", DType::kBf16, {64, 64}},
                                                       {"a.weight_scale", DType::kU8, {64, 2}},
                                                       {"b.weight", DType::kBf16, {64, 64}},
                                                       {"c.weight", DType::kBf16, {64, 64}},
                                                       {"c.weight_scale", DType::kF32, {64, 1}},
                                                   });
  ASSERT_EQ(match.weights.size(), 1u);
  EXPECT_EQ(match.weights[0].dtype, DType::kBf16);
  EXPECT_THAT(match.copied, ElementsAre("b.weight", "c.weight", "c.weight_scale"));
}

TEST(BuiltInRecipes, GenericMxfp4WithDenseMxfp8) {
  const RecipeMatch match =
      Match("generic-mxfp4", {
                                 {"m.experts.down_proj.weight", DType::kF4, {2, 64, 96}},
                                 {"m.experts.down_proj.scale", DType::kF8E8m0, {2, 64, 3}},
                                 {"m.experts.gate_up_proj.weight", DType::kF4, {2, 192, 64}},
                                 {"m.experts.gate_up_proj.scale", DType::kF8E8m0, {2, 192, 2}},
                                 {"m.q_proj.weight", DType::kF8E4m3, {64, 64}},
                                 {"m.q_proj.scale", DType::kF8E8m0, {2, 2}},
                                 {"m.other.weight", DType::kU8, {64, 32}},
                                 {"m.other.scale", DType::kU8, {64, 2}},
                             });
  EXPECT_EQ(match.weights.size(), 3u);
  EXPECT_EQ(Weight(match, "m.experts.down_proj.weight").experts, 2);
  ASSERT_EQ(match.refused.size(), 1u);
  EXPECT_THAT(match.refused[0].reason, HasSubstr("whether gate and up rows alternate"));
  EXPECT_THAT(match.refused[0].tensors,
              ElementsAre("m.experts.gate_up_proj.weight", "m.experts.gate_up_proj.scale"));
}

TEST(BuiltInRecipes, NothingToPrepareIsRecipeNone) {
  const RecipeMatch match = Match("none", {{"conv1.weight", DType::kF32, {128, 129, 3}},
                                           {"conv1.bias", DType::kF32, {128}},
                                           {"lstm_cell.weight_ih", DType::kF32, {512, 128}}});
  EXPECT_TRUE(match.weights.empty());
  EXPECT_TRUE(match.refused.empty());
  EXPECT_EQ(match.copied.size(), 3u);
  EXPECT_EQ(Match("none", {}).tensor_count(), 0);
}

TEST(BuiltInRecipes, RefusedFamiliesAreNamed) {
  EXPECT_THAT(
      Chosen({{"model.layers.0.mlp.down_proj.weight", DType::kF8E4m3, {256, 256}},
              {"model.layers.0.mlp.down_proj.weight_scale_inv", DType::kF32, {2, 2}}}),
      AllOf(HasSubstr("down_proj.weight_scale_inv' (F32 [2, 2])"), HasSubstr("DeepSeek V3")));
  EXPECT_THAT(
      Chosen({{"a.weight", DType::kF8E4m3Fnuz, {256, 256}}, {"a.weight_scale", DType::kF32, {}}}),
      HasSubstr("multipliers"));
  EXPECT_THAT(Chosen({{"a.weight", DType::kU8, {256, 128}},
                      {"a.weight_scale", DType::kF8E4m3, {256, 16}},
                      {"a.weight_scale_2", DType::kF32, {}}}),
              HasSubstr("NVFP4"));
  EXPECT_THAT(Chosen({{"a.weight_packed", DType::kU8, {256, 128}},
                      {"a.weight_scale", DType::kF8E4m3, {256, 16}},
                      {"a.weight_global_scale", DType::kF32, {1}}}),
              HasSubstr("NVFP4"));
  EXPECT_THAT(Chosen({{"a.qweight", DType::kI32, {256, 128}}}), HasSubstr("GPTQ"));
  // A norm that calls its factors "scale" is none of these.
  EXPECT_EQ(Chosen({{"norm.scale", DType::kF32, {64}}, {"norm.weight", DType::kF32, {64}}}),
            "none");
}

TEST(BuiltInRecipes, AmbiguousNamesAreRefused) {
  Specs specs = {{"model.layers.0.mlp.experts.gate_up_proj_blocks", DType::kU8, {1, 64, 2, 16}}};
  AddExperts(specs, "layers.0", 1);
  EXPECT_THAT(Chosen(specs), HasSubstr("fit several recipes (deepseek-v4, gpt-oss)"));
}

// E4M3FNUZ belongs to no recipe and is not to pass for an ordinary tensor.
TEST(BuiltInRecipes, QuantizedTensorsOfNoRuleAreRefused) {
  const RecipeMatch match = Match("generic-mxfp8", {
                                                       {"a.weight", DType::kF8E4m3, {64, 64}},
                                                       {"a.weight_scale", DType::kU8, {64, 2}},
                                                       {"b.weight", DType::kF8E4m3Fnuz, {64, 64}},
                                                       {"b.weight_scale", DType::kF8E8m0, {64, 2}},
                                                   });
  EXPECT_EQ(match.weights.size(), 1u);
  ASSERT_EQ(match.refused.size(), 2u);
  EXPECT_THAT(match.refused[0].reason,
              HasSubstr("'b.weight' (F8_E4M3FNUZ [64, 64]) is quantized, but recipe "
                        "'generic-mxfp8' has no rule for it"));
}

}  // namespace
}  // namespace lanewise
