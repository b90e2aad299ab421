#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "benchmarks/end_to_end/process.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace lanewise::benchmarks {
namespace {

TEST(EndToEndTest, RunsOnSomethingTiny) {
  const std::string directory = testing::TempDir() + "/work";
  std::filesystem::create_directories(directory);
  const std::vector<std::string> preparing = {"cp", "dd fsync", "prepare", "verify", "restore"};
  const std::vector<std::string> quantizing = {"cp", "dd fsync", "quantize", "dequantize"};
  struct Mode {
    bool cold;
    std::vector<std::string> operations;
  };
  for (const Mode& mode :
       {Mode{false, preparing}, Mode{true, preparing}, Mode{false, quantizing}}) {
    const std::string json_file = testing::TempDir() + "/measured.json";
    std::vector<std::string> command = {
        "benchmarks/end_to_end/end_to_end", "--model=gpt-oss-20b",
        "--synthesize=--experts=2",         "--synthesize=--size=vocab=64",
        "--synthesize=--size=hidden=256",   "--synthesize=--size=inter=128",
        "--synthesize=--shard-size=200KB",  "--repetitions=2",
        "--directory=" + directory,         "--json=" + json_file};
    if (mode.cold) command.emplace_back("--cold");
    if (mode.operations == quantizing) command.emplace_back("--quantize=--format=mxfp4");
    const auto ran = RunProcess(command);
    ASSERT_TRUE(ran.ok()) << ran.status();
    std::ifstream file(json_file);
    const auto json = nlohmann::json::parse(file);
    EXPECT_EQ(json["cold"], mode.cold);
    EXPECT_GT(json["bytes"], 1'000'000);
    std::vector<std::string> names;
    for (const auto& operation : json["operations"]) {
      names.push_back(operation["name"]);
      EXPECT_EQ(operation["runs"].size(), 2u) << names.back();
      EXPECT_GT(operation["median_seconds"], 0) << names.back();
      EXPECT_GT(operation["ratios"]["cp"], 0) << names.back();
    }
    EXPECT_EQ(names, mode.operations);
    EXPECT_TRUE(std::filesystem::is_empty(directory)) << "it leaves nothing";
  }
}

TEST(ProcessTest, FailuresNameTheCommand) {
  EXPECT_NE(RunProcess({"false"}).status().ToString().find("exit status 1 of: false"),
            std::string::npos);
  EXPECT_NE(RunProcess({"sh", "-c", "kill -9 $$"}).status().ToString().find("signal 9"),
            std::string::npos);
  EXPECT_FALSE(RunProcess({"/no/such/command"}).ok());
}

// 32 MiB that are touched show in the peak, and time that is slept in the seconds alone.
TEST(ProcessTest, CostIsTheProcesss) {
  const auto large =
      RunProcess({"dd", "if=/dev/zero", "of=/dev/null", "bs=32M", "count=1", "status=none"});
  ASSERT_TRUE(large.ok()) << large.status();
  EXPECT_GT(large->peak_bytes, 32 << 20);
  const auto slept = RunProcess({"sleep", "0.2"});
  ASSERT_TRUE(slept.ok()) << slept.status();
  EXPECT_GE(slept->seconds, 0.2);
  EXPECT_LT(slept->user_seconds, 0.1);
  EXPECT_LT(slept->peak_bytes, 32 << 20);
}

}  // namespace
}  // namespace lanewise::benchmarks
