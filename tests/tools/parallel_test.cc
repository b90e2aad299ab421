// Tensor parallelism and checkpoints of several files.

#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

// Dequantized BF16 with block and row codes, and codes of 128 x 128 that a rank's
// rows begin within.
tools::CheckpointMaker DividingLinears() {
  tools::CheckpointMaker maker(20);
  maker.AddCodes("net.a.q_proj.weight_scale_inv", DType::kF8E8m0, {2, 5});
  maker.AddDequantized("net.a.q_proj.weight", 64, 160);
  maker.AddFoldingRowCodes("net.b.o_proj.weight_scale_inv", DType::kU8, 64, 4);
  maker.AddDequantized("net.b.o_proj.weight", 64, 128);
  maker.AddE4m3("net.c.q_proj.weight", 384, 320);
  maker.AddCodes("net.c.q_proj.weight_scale_inv", DType::kF8E8m0, {3, 3});
  return maker;
}

// Codes a row: of any rows; and of rows whose first rank's part happens to be of whole blocks,
// which must not make it another form than the other ranks'. Columns that a rank has 128 and 96 of.
tools::CheckpointMaker DividingRowCodes() {
  tools::CheckpointMaker maker(21);
  maker.AddE4m3("net.a.q_proj.weight", 128, 256);
  maker.AddCodes("net.a.q_proj.weight_scale", DType::kU8, {128, 8});
  maker.AddE4m3("net.b.q_proj.weight", 128, 128);
  maker.AddFoldingRowCodes("net.b.q_proj.weight_scale", DType::kU8, 128, 4);
  maker.tensors().back().bytes[127 * 4] ^= 1;
  maker.AddE4m3("net.a.o_proj.weight", 96, 512);
  maker.AddCodes("net.a.o_proj.weight_scale", DType::kU8, {96, 16});
  maker.AddE4m3("net.b.o_proj.weight", 33, 384);
  maker.AddCodes("net.b.o_proj.weight_scale", DType::kU8, {33, 12});
  return maker;
}

struct Case {
  const char* family;
  tools::CheckpointMaker (*make)();
  const char* target;
  int ranks;
};

std::string CaseName(const testing::TestParamInfo<Case>& info) {
  return absl::StrCat(info.param.family, "_", info.param.target, "_tp", info.param.ranks);
}

class RanksTest : public testing::TestWithParam<Case> {};

TEST_P(RanksTest, RestoreFromAllRanksIsTheIdentity) {
  const TestDirectory directory;
  const std::string in = directory.File("model.safetensors");
  const std::string out = directory.File("prepared"), back = directory.File("back");
  ASSERT_TRUE(GetParam().make().Write(in).ok());
  const std::string ranks = absl::StrCat(GetParam().ranks);
  const Ran prepared =
      RunLanewise({"prepare", in, out, "--target", GetParam().target, "--tp", ranks, "--lossless"});
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  std::vector<std::string> expected;
  for (int rank = 0; rank < GetParam().ranks; ++rank) {
    expected.push_back(absl::StrCat("rank-", rank, "/"));
    expected.push_back(absl::StrCat("rank-", rank, "/model.safetensors"));
  }
  EXPECT_EQ(Tree(out), expected);
  const Ran verified = RunLanewise({"verify", out, "--against", in});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran one = RunLanewise({"verify", out + "/rank-1", "--against", in});
  EXPECT_EQ(one.status, 0) << Text(one);
  const Ran restored = RunLanewise({"restore", out, back});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_TRUE(ReadAll(in) == ReadAll(back + "/model.safetensors")) << Text(restored);

  // --rank makes the same bytes as --tp alone.
  const std::string single = directory.File("single");
  const Ran rank = RunLanewise({"prepare", in, single, "--target", GetParam().target, "--tp", ranks,
                                "--rank", "1", "--lossless"});
  ASSERT_EQ(rank.status, 0) << Text(rank);
  EXPECT_EQ(Tree(single), (std::vector<std::string>{"rank-1/", "rank-1/model.safetensors"}));
  EXPECT_TRUE(ReadAll(single + "/rank-1/model.safetensors") ==
              ReadAll(out + "/rank-1/model.safetensors"));

  // A rank alone is not the checkpoint.
  std::filesystem::remove_all(back);
  std::filesystem::remove_all(out + "/rank-0");
  const Ran refused = RunLanewise({"restore", out, back});
  EXPECT_EQ(refused.status, 1) << Text(refused);
  EXPECT_FALSE(std::filesystem::exists(back)) << Text(refused);
}

INSTANTIATE_TEST_SUITE_P(All, RanksTest,
                         testing::Values(Case{"deepseek_v4", DividingDeepseek, "gfx942", 2},
                                         Case{"deepseek_v4", DividingDeepseek, "gfx950", 2},
                                         Case{"deepseek_v4", DividingDeepseek, "flashmla", 4},
                                         Case{"deepseek_v4", DividingDeepseek, "gfx942", 4},
                                         Case{"gpt_oss", DividingGptOss, "gfx942", 4},
                                         Case{"gpt_oss", DividingGptOss, "gfx950", 4},
                                         Case{"dequantized", DividingLinears, "gfx942", 2},
                                         Case{"dequantized", DividingLinears, "gfx950", 2},
                                         Case{"dequantized", DividingLinears, "flashmla", 2},
                                         Case{"rows", DividingRowCodes, "gfx950", 4},
                                         Case{"rows", DividingRowCodes, "flashmla", 4}),
                         CaseName);

TEST(RanksTest, SizesThatDoNotDivideAreRefused) {
  const TestDirectory directory;
  const std::string in = directory.File("model.safetensors"), out = directory.File("prepared");
  ASSERT_TRUE(FamilyNamed("deepseek_v4").make().Write(in).ok());
  const Ran ran = RunLanewise({"prepare", in, out, "--target", "gfx942", "--tp", "4"});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  EXPECT_NE(ran.err.find("does not divide among 4 ranks"), std::string::npos) << Text(ran);
  EXPECT_FALSE(std::filesystem::exists(out));
}

class ShardedTest : public testing::TestWithParam<const char*> {};

TEST_P(ShardedTest, DirectoryWithIndex) {
  const TestDirectory directory;
  const std::string in = directory.File("model"), out = directory.File("prepared"),
                    back = directory.File("back");
  std::filesystem::create_directory(in);
  // The third file's boundary falls among the experts, which are fused across files.
  ASSERT_TRUE(FamilyNamed("deepseek_v4").make().WriteSharded(in, 3).ok());
  const std::vector<std::string> files = {
      "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
      "model-00003-of-00003.safetensors", "model.safetensors.index.json"};
  ASSERT_EQ(Tree(in), files);
  const Ran prepared = RunLanewise({"prepare", in, out, "--target", GetParam(), "--lossless"});
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  EXPECT_EQ(Tree(out), files) << Text(prepared);
  const Ran verified = RunLanewise({"verify", out, "--against", in});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out + "/model.safetensors.index.json", back});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_EQ(Tree(back), files);
  for (const std::string& file : files) {
    EXPECT_TRUE(ReadAll(in + "/" + file) == ReadAll(back + "/" + file)) << file;
  }
  const Ran inspected = RunLanewise({"inspect", out});
  EXPECT_EQ(inspected.status, 0) << Text(inspected);
}

// Where every file is read, whatever it holds: one whose tensors are all fused into other files'.
TEST_P(ShardedTest, DirectoryWithoutIndexInTwoRanks) {
  const TestDirectory directory;
  const std::string in = directory.File("model"), out = directory.File("prepared"),
                    back = directory.File("back");
  std::filesystem::create_directory(in);
  ASSERT_TRUE(DividingDeepseek().WriteSharded(in, 4).ok());
  std::filesystem::remove(in + "/model.safetensors.index.json");
  const std::vector<std::string> files = Tree(in);
  ASSERT_EQ(files.size(), 4u);
  const Ran prepared =
      RunLanewise({"prepare", in, out, "--target", GetParam(), "--tp", "2", "--lossless"});
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  EXPECT_EQ(Tree(out + "/rank-0"), files);
  EXPECT_EQ(Tree(out + "/rank-1"), files);
  const Ran verified = RunLanewise({"verify", out, "--against", in});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out, back});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_EQ(Tree(back), files);
  for (const std::string& file : files) {
    EXPECT_TRUE(ReadAll(in + "/" + file) == ReadAll(back + "/" + file)) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ShardedTest, testing::Values("gfx942", "gfx950", "flashmla"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lanewise
