// --json: one object on stdout, whatever happens, that says what the text says.

#include "nlohmann/json.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

using Json = nlohmann::json;

class JsonTest : public testing::Test {
 protected:
  // Runs with --json and checks what all reports have.
  Json Report(std::vector<std::string> arguments, int status) const {
    arguments.push_back("--json");
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, status) << Text(ran);
    Json report = Json::parse(ran.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << Text(ran);
    if (!report.is_object()) return Json::object();
    EXPECT_EQ(report["command"], arguments[0]);
    EXPECT_EQ(report["ok"], status == 0);
    EXPECT_GT(report["seconds"], 0.0);
    EXPECT_EQ(report.contains("error"), status != 0);
    if (status != 0) {
      EXPECT_NE(ran.err.find(report["error"].get<std::string>()), std::string::npos) << Text(ran);
    }
    return report;
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model"), out_ = directory_.File("out"),
                    back_ = directory_.File("back");
};

TEST_F(JsonTest, PrepareVerifyRestore) {
  std::filesystem::create_directory(in_);
  const tools::CheckpointMaker maker = DividingDeepseek();
  ASSERT_TRUE(maker.WriteSharded(in_, 3).ok());
  const std::vector<std::string> prepare = {"prepare", in_,    out_, "--target",
                                            "gfx942",  "--tp", "2"};
  Json report = Report(prepare, 0);
  EXPECT_EQ(report["target"], "gfx942");
  EXPECT_EQ(report["recipe"], "deepseek-v4");
  ASSERT_EQ(report["ranks"].size(), 2u);
  for (const Json& rank : report["ranks"]) {
    ASSERT_EQ(rank["files"].size(), 3u);
    std::int64_t bytes = 0;
    for (const Json& file : rank["files"]) {
      EXPECT_EQ(file["fate"], "written");
      EXPECT_TRUE(std::filesystem::exists(file["path"].get<std::string>()));
      bytes += file["bytes"].get<std::int64_t>();
    }
    EXPECT_EQ(rank["bytes_written"], bytes);
    EXPECT_EQ(rank["sources_prepared"].get<int>() + rank["sources_copied"].get<int>(),
              report["source_tensors"]);
    EXPECT_GT(rank["negative_zeros"], 0);
  }
  Report(prepare, 1);  // it exists
  std::vector<std::string> resume = prepare;
  resume.insert(resume.end(), {"--resume", "--shard", "0/2"});
  report = Report(resume, 0);
  for (const Json& file : report["ranks"][0]["files"]) {
    EXPECT_TRUE(file["fate"] == "kept" || file["fate"] == "left to another shard") << file;
  }

  report = Report({"verify", out_, "--against", in_}, 0);
  EXPECT_EQ(report["ranks"], 2);
  EXPECT_TRUE(report["problems"].empty());
  EXPECT_GT(report["layouts"]["gfx942/fp4_tile_major"]["bytes"], 0);
  report = Report({"restore", out_, back_}, 0);
  EXPECT_EQ(report["exact"], false);
  EXPECT_GT(report["lost_zero_signs"], 0);
  EXPECT_FALSE(report["differing"].empty());
}

TEST_F(JsonTest, VerifyTellsTheProblems) {
  const std::string in = directory_.File("in.safetensors"), out = directory_.File("p.safetensors");
  ASSERT_TRUE(FamilyNamed("generic_mxfp8_blocks").make().Write(in).ok());
  ASSERT_EQ(RunLanewise({"prepare", in, out, "--target", "gfx950"}).status, 0);
  std::string bytes = ReadAll(out);
  bytes.back() ^= 1;
  directory_.Write("p.safetensors", bytes);
  const Json report = Report({"verify", out}, 1);
  ASSERT_EQ(report["problems"].size(), 1u);
}

TEST_F(JsonTest, QuantizeAndDequantize) {
  tools::CheckpointMaker maker(1);
  maker.AddBf16("a.weight", {64, 128});
  maker.AddBf16("a.norm.weight", {64});
  const std::string in = directory_.File("in.safetensors"), q = directory_.File("q.safetensors");
  ASSERT_TRUE(maker.Write(in).ok());
  Json report = Report({"quantize", in, q}, 0);
  ASSERT_EQ(report["tensors"].size(), 1u);
  EXPECT_EQ(report["tensors"][0]["name"], "a.weight");
  EXPECT_EQ(report["tensors"][0]["elements"], 64 * 128);
  EXPECT_EQ(report["copied"], 1);
  report = Report({"dequantize", q, directory_.File("d.safetensors")}, 0);
  EXPECT_EQ(report["dequantized"], 1);
  Report({"quantize", directory_.File("nothing"), q}, 1);
}

TEST_F(JsonTest, Inspect) {
  const std::string in = directory_.File("in.safetensors");
  ASSERT_TRUE(FamilyNamed("generic_mxfp8_blocks").make().Write(in).ok());
  const Json report = Report({"inspect", in}, 0);
  EXPECT_EQ(report["recipe"], "generic-mxfp8");
  EXPECT_FALSE(report["tensors"].empty());
  Report({"inspect", directory_.File("nothing")}, 1);
}

// A program that asked for JSON gets it of wrong usage too.
TEST_F(JsonTest, WrongUsage) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"prepare"},
                                             {"prepare", "in", "out", "--target", "gfx90a"},
                                             {"restore", "in"},
                                             {"verify", "in", "--frob"},
                                             {"inspect"},
                                             {"inspect", "in", "--threads", "-1"},
                                             {"quantize", "in", "out", "--max", "1e-45"},
                                             {"dequantize", "in", "out", "--to", "f64"}}) {
    Report(arguments, 2);
  }
  // It has no --json, so that nothing of it is an object.
  const Ran ran = RunLanewise({"layouts", "--json"});
  EXPECT_EQ(ran.status, 2) << Text(ran);
  EXPECT_EQ(ran.out, "") << Text(ran);
}

// What is on stdout acts on no terminal, and is what the name was.
TEST_F(JsonTest, NamesAreEscaped) {
  const std::string name = "/nonexistent/\x1B[31m\xE2\x80\xAE\xC2\x9B";
  const Ran ran = RunLanewise({"inspect", name, "--json"});
  for (const char c : ran.out) EXPECT_TRUE((c >= 0x20 && c < 0x7F) || c == '\n') << Text(ran);
  const Json report = Json::parse(ran.out, nullptr, false);
  ASSERT_TRUE(report.is_object()) << Text(ran);
  EXPECT_NE(report["error"].get<std::string>().find(name), std::string::npos) << Text(ran);
}

}  // namespace
}  // namespace lanewise
