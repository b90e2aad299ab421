#include "checkpoint/synthesize/synthesize_model.h"

#include <map>
#include <string>
#include <vector>

#include "checkpoint/recipes/recipe_set.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

SyntheticModel BuiltIn(const std::string& name) {
  const auto models = SyntheticModel::BuiltIn();
  EXPECT_TRUE(models.ok()) << models.status();
  for (const SyntheticModel& model : *models) {
    if (model.name() == name) return model;
  }
  ADD_FAILURE() << "no model " << name;
  return (*models)[0];
}

std::map<std::string, TensorSpec> Specs(const std::string& model, const ModelChanges& changes) {
  const auto tensors = BuiltIn(model).Tensors(changes);
  EXPECT_TRUE(tensors.ok()) << tensors.status();
  std::map<std::string, TensorSpec> specs;
  for (const SyntheticTensor& tensor : *tensors) specs[tensor.spec.name] = tensor.spec;
  return specs;
}

std::int64_t TotalBytes(const std::string& model) {
  std::int64_t total = 0;
  for (const auto& [name, spec] : Specs(model, {})) total += *ByteCount(spec.dtype, spec.shape);
  return total;
}

using Shape = std::vector<std::int64_t>;

TEST(SyntheticModelTest, NamesOfTheBuiltInOnes) {
  const auto models = SyntheticModel::BuiltIn();
  ASSERT_TRUE(models.ok()) << models.status();
  std::vector<std::string> names;
  for (const SyntheticModel& model : *models) names.push_back(model.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"deepseek-v4-flash", "deepseek-v4-pro", "deepseek-v4.1-flash",
                                      "gpt-oss-120b", "gpt-oss-20b", "minimax-m3"}));
}

// The total_size that the published index of gpt-oss 20b states.
TEST(SyntheticModelTest, GptOss20bHasItsPublishedSize) {
  EXPECT_EQ(TotalBytes("gpt-oss-20b"), 13'761'264'768);
}

// Four ranks' parts of the shapes that kernels are made for, put together.
TEST(SyntheticModelTest, Deepseek41Shapes) {
  const auto specs = Specs("deepseek-v4.1-flash", {.layers = 1});
  const auto expect = [&](const std::string& weight, DType dtype, const Shape& shape,
                          const Shape& codes) {
    const auto found = specs.find("layers.0." + weight + ".weight");
    ASSERT_NE(found, specs.end()) << weight;
    EXPECT_EQ(found->second.dtype, dtype) << weight;
    EXPECT_EQ(found->second.shape, shape) << weight;
    const TensorSpec& scale = specs.at("layers.0." + weight + ".scale");
    EXPECT_EQ(scale.dtype, DType::kF8E8m0) << weight;
    EXPECT_EQ(scale.shape, codes) << weight;
  };
  // wq_a and wkv are 1792 x 5120 together.
  expect("attn.wq_a", DType::kF8E4m3, {1792 - 512, 5120}, {40, 160});
  expect("attn.wkv", DType::kF8E4m3, {512, 5120}, {16, 160});
  expect("attn.wq_b", DType::kF8E4m3, {4 * 8192, 1280}, {1024, 40});
  expect("attn.wo_a", DType::kF8E4m3, {4 * 2 * 1024, 4096}, {256, 128});
  expect("attn.wo_b", DType::kF8E4m3, {5120, 4 * 2048}, {160, 256});
  expect("attn.indexer.wq_b", DType::kF8E4m3, {4096, 1280}, {128, 40});
  expect("ffn.shared_experts.w1", DType::kF8E4m3, {4 * 1152 / 2, 5120}, {72, 160});
  expect("ffn.shared_experts.w2", DType::kF8E4m3, {5120, 4 * 576}, {160, 72});
  expect("ffn.experts.383.w1", DType::kI8, {4 * 1152 / 2, 5120 / 2}, {2304, 160});
  expect("ffn.experts.383.w2", DType::kI8, {5120, 4 * 576 / 2}, {5120, 72});
  EXPECT_FALSE(specs.contains("layers.0.ffn.experts.384.w1.weight"));
  EXPECT_FALSE(specs.contains("layers.1.attn.wq_a.weight"));
}

TEST(SyntheticModelTest, MinimaxHasDenseLayersFirst) {
  const auto specs = Specs("minimax-m3", {.experts = 1});
  const std::string layers = "language_model.model.layers.";
  for (int layer = 0; layer < 60; ++layer) {
    const std::string prefix = layers + std::to_string(layer);
    EXPECT_EQ(specs.contains(prefix + ".mlp.gate_proj.weight"), layer < 3) << layer;
    EXPECT_EQ(specs.contains(prefix + ".block_sparse_moe.experts.0.w1.weight"), layer >= 3)
        << layer;
  }
  // q, k, v and the indexer's q and k are 2560 x 6144 of each of 4 ranks, which share one index
  // key.
  const auto rows = [&](const char* name) {
    return specs.at(layers + "3.self_attn." + name + ".weight").shape[0];
  };
  EXPECT_EQ(rows("q_proj") / 4 + rows("k_proj") / 4 + rows("v_proj") / 4 +
                rows("index_q_proj") / 4 + rows("index_k_proj"),
            2560);
  EXPECT_EQ(specs.at(layers + "3.self_attn.q_proj.weight_scale_inv").shape, (Shape{8192, 192}));
  // One layer of each kind, with its own number.
  const auto few = Specs("minimax-m3", {.layers = 1});
  EXPECT_TRUE(few.contains(layers + "0.mlp.gate_proj.weight"));
  EXPECT_TRUE(few.contains(layers + "3.self_attn.q_proj.weight"));
  EXPECT_FALSE(few.contains(layers + "1.mlp.gate_proj.weight"));
  EXPECT_FALSE(few.contains(layers + "4.self_attn.q_proj.weight"));
}

// Whole models, by their names, dtypes and shapes alone.
TEST(SyntheticModelTest, EachIsRecognisedByItsRecipe) {
  const auto recipes = RecipeSet::BuiltIn();
  ASSERT_TRUE(recipes.ok()) << recipes.status();
  const auto models = SyntheticModel::BuiltIn();
  ASSERT_TRUE(models.ok()) << models.status();
  for (const SyntheticModel& model : *models) {
    const auto tensors = model.Tensors({.layers = 2, .experts = 3, .sizes = {}});
    ASSERT_TRUE(tensors.ok()) << tensors.status();
    std::vector<TensorSpec> specs;
    for (const SyntheticTensor& tensor : *tensors) specs.push_back(tensor.spec);
    const auto choice = recipes->Choose(specs);
    ASSERT_TRUE(choice.ok()) << model.name() << ": " << choice.status();
    EXPECT_EQ(choice->recipe->name, model.recipe()) << model.name();
  }
}

TEST(SyntheticModelTest, SizesCanBeChanged) {
  const auto specs =
      Specs("gpt-oss-120b", {.experts = 5, .sizes = {{"hidden", 64}, {"inter", 96}}});
  EXPECT_EQ(specs.at("model.layers.35.mlp.experts.gate_up_proj_blocks").shape,
            (Shape{5, 192, 2, 16}));
  EXPECT_EQ(specs.at("model.layers.35.mlp.experts.down_proj_scales").shape, (Shape{5, 64, 3}));
  EXPECT_EQ(specs.at("model.layers.0.mlp.router.weight").shape, (Shape{5, 64}));
}

TEST(SyntheticModelTest, RefusesChangesThatDoNotFit) {
  const SyntheticModel model = BuiltIn("gpt-oss-20b");
  const auto expect = [&](const ModelChanges& changes, const std::string& message) {
    const auto tensors = model.Tensors(changes);
    ASSERT_FALSE(tensors.ok()) << message;
    EXPECT_NE(tensors.status().ToString().find(message), std::string::npos) << tensors.status();
  };
  const auto sizes = [](std::map<std::string, std::int64_t> changed) {
    ModelChanges changes;
    changes.sizes = std::move(changed);
    return changes;
  };
  expect(sizes({{"width", 3}}), "there is no size 'width'; there are experts = 32, head_dim");
  expect(sizes({{"hidden", 0}}), "size hidden = 0, expected one from 1");
  expect(sizes({{"hidden", 33}}), "gate_up_proj_blocks: 33 does not divide by 32");
  expect(sizes({{"hidden", 4294967295}, {"vocab", 4294967295}}), "embed_tokens.weight");
  ModelChanges changes;
  changes.layers = 0;
  expect(changes, "at least one layer");
  changes.layers.reset();
  changes.experts = 0;
  expect(changes, "at least one expert");
}

TEST(SyntheticModelTest, RefusesTablesThatSayNothingClear) {
  const auto with_items = [](const std::string& items) {
    return R"({"name": "m", "sizes": {"n": 64}, "items": [)" + items + "]}";
  };
  const struct {
    std::string json, message;
  } cases[] = {
      {R"({"items": []})", "needs \"name\""},
      {with_items(""), "not empty"},
      {R"({"name": "m", "name": "m", "items": []})", "name"},
      {with_items(R"({"name": "a", "dtype": "BF16", "shape": ["m"]})"), "there is no size 'm'"},
      {with_items(R"({"name": "a", "dtype": "BF16", "shape": ["n*"]})"), "there is no size ''"},
      {with_items(R"({"name": "a", "dtype": "BF16", "shape": ["n/0"]})"), "numbers are from 1"},
      {with_items(R"({"name": "a", "dtype": "BF16", "shape": [-1]})"), "neither a number"},
      {with_items(R"({"name": "a", "dtype": "BF17", "shape": []})"), "unknown dtype 'BF17'"},
      {with_items(R"({"name": "a", "dtype": "U8", "shape": []})"), "has to be said"},
      {with_items(R"({"name": "a", "dtype": "U8", "shape": [], "values": "e4m3"})"),
       "cannot hold e4m3"},
      {with_items(R"({"name": "a", "dtype": "U8", "shape": [], "values": "any"})"),
       "unknown values 'any'"},
      {with_items(R"({"name": "a", "dtype": "BF16", "shape": [], "shard": 1})"), "'shard'"},
      {with_items(R"({"name": "a.{layer}", "dtype": "BF16", "shape": []})"), "no repetition fills"},
      {with_items(R"({"each": "layer", "end": 2, "items": [
                       {"name": "a", "dtype": "BF16", "shape": []}]})"),
       "without saying {layer}"},
      {with_items(R"({"each": "layer", "items": []})"), "needs \"end\""},
      {with_items(R"({"each": "x", "end": 2, "items": [{"each": "x", "end": 2, "items": []}]})"),
       "within itself"},
  };
  for (const auto& one : cases) {
    const auto model = SyntheticModel::Parse(one.json, "table");
    ASSERT_FALSE(model.ok()) << one.json;
    EXPECT_NE(model.status().ToString().find(one.message), std::string::npos) << one.json << "\n"
                                                                              << model.status();
  }
  const auto twice =
      SyntheticModel::Parse(with_items(R"({"name": "a", "dtype": "BF16", "shape": []},
                    {"name": "a", "dtype": "BF16", "shape": []})"),
                            "table");
  ASSERT_TRUE(twice.ok()) << twice.status();
  EXPECT_NE(twice->Tensors({}).status().ToString().find("'a' comes twice"), std::string::npos);
}

}  // namespace
}  // namespace lanewise
