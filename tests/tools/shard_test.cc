// --shard: whoever writes which files, together they are what one run writes.

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

void ExpectSameTrees(const std::string& expected, const std::string& found) {
  ASSERT_EQ(Tree(found), Tree(expected));
  for (const std::string& path : Tree(expected)) {
    if (path.ends_with('/')) continue;
    EXPECT_TRUE(ReadAll(expected + "/" + path) == ReadAll(found + "/" + path)) << path;
  }
}

class ShardTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(in_);
    // The experts are fused across files.
    ASSERT_TRUE(DividingDeepseek().WriteSharded(in_, 5).ok());
  }

  Ran Prepare(const std::string& out, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"prepare", in_, out, "--target", "gfx942"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunLanewise(arguments);
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model");
};

TEST_F(ShardTest, TheUnionIsTheSingleRun) {
  for (const std::vector<std::string>& options : std::vector<std::vector<std::string>>{
           {}, {"--lossless"}, {"--tp", "2"}, {"--tp", "2", "--rank", "1", "--lossless"}}) {
    const std::string single = directory_.File("single");
    std::filesystem::remove_all(single);
    const Ran whole = Prepare(single, options);
    ASSERT_EQ(whole.status, 0) << Text(whole);
    for (const int shards : {1, 2, 3, 17}) {
      SCOPED_TRACE(whole.command + " in " + std::to_string(shards));
      const std::string out = directory_.File("sharded");
      std::filesystem::remove_all(out);
      std::set<std::string> before;
      // In any order: the last one first.
      for (int shard = shards - 1; shard >= 0; --shard) {
        std::vector<std::string> more = options;
        more.insert(more.end(), {"--shard", absl::StrCat(shard, "/", shards)});
        const Ran ran = Prepare(out, more);
        ASSERT_EQ(ran.status, 0) << Text(ran);
        const bool nothing = ran.out.find("nothing to do here") != std::string::npos;
        EXPECT_TRUE(!nothing || shards == 17 || !options.empty()) << Text(ran);
      }
      ExpectSameTrees(single, out);
    }
  }
}

// Each shard writes only its own files, and the index as it will be.
TEST_F(ShardTest, EachShardLeavesTheOthersFiles) {
  const std::string single = directory_.File("single"), out = directory_.File("sharded");
  ASSERT_EQ(Prepare(single, {}).status, 0);
  const Ran first = Prepare(out, {"--shard", "1/3"});
  ASSERT_EQ(first.status, 0) << Text(first);
  EXPECT_NE(first.out.find("left to other shards"), std::string::npos) << Text(first);
  EXPECT_LT(Tree(out).size(), Tree(single).size());
  EXPECT_TRUE(ReadAll(out + "/model.safetensors.index.json") ==
              ReadAll(single + "/model.safetensors.index.json"));
  // What is not complete is not taken for complete.
  for (const char* command : {"verify", "restore"}) {
    std::vector<std::string> arguments = {command, out};
    if (arguments[0] == "restore") arguments.push_back(directory_.File("back"));
    const Ran refused = RunLanewise(arguments);
    EXPECT_EQ(refused.status, 1) << Text(refused);
    EXPECT_NE(refused.err.find("model-0000"), std::string::npos) << Text(refused);
  }
  // Its own files are there now.
  const Ran again = Prepare(out, {"--shard", "1/3"});
  EXPECT_EQ(again.status, 1) << Text(again);
  EXPECT_NE(again.err.find("exists"), std::string::npos) << Text(again);
  const Ran resumed = Prepare(out, {"--shard", "1/3", "--resume"});
  EXPECT_EQ(resumed.status, 0) << Text(resumed);
  EXPECT_NE(resumed.out.find("0 written"), std::string::npos) << Text(resumed);
}

TEST_F(ShardTest, VerifiesAndRestores) {
  const std::string out = directory_.File("sharded"), back = directory_.File("back");
  for (const char* shard : {"0/2", "1/2"}) {
    ASSERT_EQ(Prepare(out, {"--lossless", "--shard", shard}).status, 0);
  }
  const Ran verified = RunLanewise({"verify", out, "--against", in_});
  EXPECT_EQ(verified.status, 0) << Text(verified);
  const Ran restored = RunLanewise({"restore", out, back});
  EXPECT_EQ(restored.status, 0) << Text(restored);
  ExpectSameTrees(in_, back);
  for (const int shards : {2, 9}) {
    std::filesystem::remove_all(back);
    for (int shard = shards - 1; shard >= 0; --shard) {
      const Ran ran =
          RunLanewise({"restore", out, back, "--shard", absl::StrCat(shard, "/", shards)});
      ASSERT_EQ(ran.status, 0) << Text(ran);
    }
    ExpectSameTrees(in_, back);
  }
}

// Each command from what the one before left: floats, then microscaled weights.
TEST_F(ShardTest, DequantizesAndQuantizes) {
  std::string from = in_;
  for (const std::string command : {"dequantize", "quantize"}) {
    SCOPED_TRACE(command);
    const std::string single = directory_.File(command), out = single + "-sharded";
    const Ran whole = RunLanewise({command, from, single});
    ASSERT_EQ(whole.status, 0) << Text(whole);
    for (const char* shard : {"2/3", "0/3", "1/3"}) {
      const Ran ran = RunLanewise({command, from, out, "--shard", shard});
      ASSERT_EQ(ran.status, 0) << Text(ran);
    }
    ExpectSameTrees(single, out);
    // One that is missing and one that is cut off are made again, and nothing else.
    const std::string missing = out + "/model-00002-of-00005.safetensors",
                      cut = out + "/model-00004-of-00005.safetensors";
    std::filesystem::remove(missing);
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) - 1);
    const Ran refused = RunLanewise({command, from, out, "--resume"});
    EXPECT_EQ(refused.status, 1) << Text(refused);
    EXPECT_NE(refused.err.find("model-00004"), std::string::npos) << Text(refused);
    const Ran resumed = RunLanewise({command, from, out, "--resume", "--overwrite"});
    EXPECT_EQ(resumed.status, 0) << Text(resumed);
    EXPECT_NE(resumed.out.find("2 written"), std::string::npos) << Text(resumed);
    ExpectSameTrees(single, out);
    from = single;
  }
}

// Files that are not of this job are not joined.
TEST_F(ShardTest, AnotherCheckpointAtOutIsRefused) {
  const std::string out = directory_.File("sharded");
  directory_.Write("sharded/other.safetensors", "x");
  const Ran other = Prepare(out, {"--shard", "0/2"});
  EXPECT_EQ(other.status, 1) << Text(other);
  EXPECT_NE(other.err.find("other.safetensors"), std::string::npos) << Text(other);
  std::filesystem::remove(out + "/other.safetensors");
  directory_.Write("sharded/model.safetensors.index.json", "{\"weight_map\": {}}");
  const Ran index = Prepare(out, {"--shard", "0/2"});
  EXPECT_EQ(index.status, 1) << Text(index);
  EXPECT_NE(index.err.find("model.safetensors.index.json"), std::string::npos) << Text(index);
  EXPECT_EQ(Tree(out), std::vector<std::string>{"model.safetensors.index.json"});
}

TEST_F(ShardTest, WrongShardsAreWrongUsage) {
  for (const char* shard : {"2/2", "-1/2", "0/0", "1", "a/2", "0/2x", "/", "0/-1", ""}) {
    const Ran ran = Prepare(directory_.File("out"), {"--shard", shard});
    EXPECT_EQ(ran.status, 2) << Text(ran);
    EXPECT_FALSE(std::filesystem::exists(directory_.File("out")));
  }
}

}  // namespace
}  // namespace lanewise
