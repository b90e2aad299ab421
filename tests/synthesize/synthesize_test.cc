// Every built-in model, made small: its recipe prepares all that is quantized, for every target.

#include <algorithm>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "checkpoint/synthesize/synthesize_model.h"
#include "gtest/gtest.h"
#include "tests/synthesize/small_models.h"
#include "tests/tools/command.h"

namespace lanewise {
namespace {

std::string RecipeOf(const std::string& name) {
  const auto models = SyntheticModel::BuiltIn();
  for (const SyntheticModel& model : *models) {
    if (model.name() == name) return model.recipe();
  }
  return "";
}

class SynthesizeTest : public testing::TestWithParam<std::string> {
 protected:
  const TestDirectory directory_;
};

TEST_P(SynthesizeTest, IsPreparedForEveryTarget) {
  const std::string in = directory_.File("model");
  const Ran made = RunLanewise(SynthesizeSmall(GetParam(), in));
  ASSERT_EQ(made.status, 0) << Text(made);
  EXPECT_NE(made.out.find("seed 17"), std::string::npos) << Text(made);

  std::int64_t all = 0, quantized = 0, flashmla = 0;
  const auto set = TensorSet::Open(in);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(set->notes().empty()) << set->notes()[0];
  for (const TensorSet::Tensor& tensor : set->tensors()) {
    ++all;
    quantized += tensor.info->dtype != DType::kBf16 && tensor.info->dtype != DType::kF32;
    for (const char* moved : {".attn.wq_b.", ".wo_a."}) {
      flashmla += tensor.name().find(moved) != std::string::npos;
    }
  }
  for (const std::string target : {"gfx942", "gfx950", "flashmla"}) {
    const std::string out = directory_.File(target);
    const Ran prepared = RunLanewise({"prepare", in, out, "--target", target});
    ASSERT_EQ(prepared.status, 0) << Text(prepared);
    EXPECT_NE(prepared.out.find("recipe " + RecipeOf(GetParam()) + ":"), std::string::npos)
        << Text(prepared);
    const std::int64_t expected = target == "flashmla" ? flashmla : quantized;
    EXPECT_NE(
        prepared.out.find(std::to_string(all) + " source tensors = " + std::to_string(expected) +
                          " prepared + " + std::to_string(all - expected) + " copied; "),
        std::string::npos)
        << "expected " << expected << " of " << all << "\n"
        << Text(prepared);
    const Ran verified = RunLanewise({"verify", out, "--against", in});
    EXPECT_EQ(verified.status, 0) << Text(verified);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, SynthesizeTest, testing::ValuesIn(ModelNames()), [](const auto& info) {
      std::string name = info.param;
      std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
      return name;
    });

TEST(SynthesizeCommandTest, DryRunWritesNothing) {
  const TestDirectory directory;
  const Ran ran =
      RunLanewise({"synthesize", "--model", "gpt-oss-20b", directory.File("out"), "--dry-run"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("459 tensors in 3 files, 12.82 GiB"), std::string::npos) << Text(ran);
  EXPECT_NE(ran.out.find("model-00002-of-00003.safetensors"), std::string::npos) << Text(ran);
  EXPECT_TRUE(directory.Names().empty());
}

TEST(SynthesizeCommandTest, TakesATableOfOnesOwn) {
  const TestDirectory directory;
  directory.Write("own.json", R"({"name": "own", "about": "a model of one's own",
      "sizes": {"width": 64},
      "items": [{"name": "a.weight", "dtype": "F8_E4M3", "shape": ["width", "2*width"]},
                {"name": "a.scale", "dtype": "F8_E8M0", "shape": ["width/32", "2*width/32"]}]})");
  const Ran ran = RunLanewise({"synthesize", "--model", "own.json", "out"}, directory.path());
  ASSERT_EQ(ran.status, 0) << Text(ran);
  const auto set = TensorSet::Open(directory.File("out"));
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_NE(set->Find("a.weight"), nullptr);
  EXPECT_EQ(set->Find("a.weight")->info->shape, (std::vector<std::int64_t>{64, 128}));
}

TEST(SynthesizeCommandTest, Refusals) {
  const TestDirectory directory;
  const auto refused = [&](std::vector<std::string> arguments, int status, const char* message) {
    arguments.insert(arguments.begin(), {"synthesize", directory.File("out")});
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, status) << Text(ran);
    EXPECT_NE(ran.err.find(message), std::string::npos) << Text(ran);
    EXPECT_TRUE(directory.Names().empty());
  };
  refused({"--model", "gpt-3"}, 1, "there is no model 'gpt-3'; there are\n  deepseek-v4-flash:");
  refused({"--model", "nowhere.json"}, 1, "nowhere.json");
  refused({"--model", "gpt-oss-20b", "--size", "hidden"}, 2, "'hidden': expected NAME=N");
  refused({"--model", "gpt-oss-20b", "--size", "width=2"}, 1, "there is no size 'width'");
  refused({"--model", "gpt-oss-20b", "--layers", "0"}, 2, "--layers");
  refused({"--model", "gpt-oss-20b", "--shard-size", "0"}, 2, "--shard-size");
  refused({"--model", "gpt-oss-20b", "--shard-size", "5 apples"}, 2, "--shard-size");
}

}  // namespace
}  // namespace lanewise
