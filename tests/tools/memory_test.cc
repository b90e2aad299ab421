// --memory: the most memory that the command holds, for tensors larger than that.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tools/demo/checkpoint_maker.h"

namespace lanewise {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// A file with that header whose data are all zeros, and take no room on the disk.
void WriteZeros(const std::string& path, const std::string& header, std::int64_t bytes) {
  std::ofstream(path, std::ios::binary) << RawSafetensors(header, "");
  std::filesystem::resize_file(path, 8 + header.size() + static_cast<std::size_t>(bytes));
}

struct Case {
  const char* name;
  const char* target;
  std::vector<std::string> options;
};

class MemoryTest : public testing::Test {
 protected:
  // MXFP4 experts, 64 MiB of gate and up, 32 MiB of down, and 64 MiB that are copied.
  void SetUp() override {
    const std::int64_t experts = 8, inter = 4096, k = 2048;
    std::string header = "{";
    std::int64_t at = 0;
    const auto add = [&](const std::string& name, const char* dtype,
                         std::vector<std::int64_t> shape, int element_bytes) {
      std::int64_t bytes = element_bytes;
      std::string dimensions;
      for (const std::int64_t size : shape) {
        bytes *= size;
        absl::StrAppend(&dimensions, dimensions.empty() ? "" : ",", size);
      }
      absl::StrAppend(&header, at == 0 ? "" : ",", "\"", name, "\":{\"dtype\":\"", dtype,
                      "\",\"shape\":[", dimensions, "],\"data_offsets\":[", at, ",", at + bytes,
                      "]}");
      at += bytes;
    };
    add("model.layers.0.mlp.experts.gate_up_proj_blocks", "U8", {experts, 2 * inter, k / 32, 16},
        1);
    add("model.layers.0.mlp.experts.gate_up_proj_scales", "U8", {experts, 2 * inter, k / 32}, 1);
    add("model.layers.0.mlp.experts.down_proj_blocks", "U8", {experts, k, inter / 32, 16}, 1);
    add("model.layers.0.mlp.experts.down_proj_scales", "U8", {experts, k, inter / 32}, 1);
    add("model.embed_tokens.weight", "BF16", {16384, k}, 2);
    header += "}";
    while (header.size() % 8 != 0) header += " ";
    WriteZeros(in_, header, at);
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model.safetensors");
  const std::string out_ = directory_.File("prepared.safetensors");
};

class PeakTest : public MemoryTest, public testing::WithParamInterface<Case> {};

TEST_P(PeakTest, StaysBelow) {
  std::vector<std::string> arguments = {"prepare",         in_,        out_, "--target",
                                        GetParam().target, "--memory", "40M"};
  arguments.insert(arguments.end(), GetParam().options.begin(), GetParam().options.end());
  const Ran ran = RunLanewise(arguments);
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_LT(ran.peak_bytes, 40 * kMiB) << Text(ran);
  EXPECT_GT(ran.peak_bytes, kMiB);
  const Ran verified = RunLanewise({"verify", out_, "--memory", "40M"});
  ASSERT_EQ(verified.status, 0) << Text(verified);
  EXPECT_LT(verified.peak_bytes, 40 * kMiB) << Text(verified);
  // One expert of 8, several times over.
  const Ran against = RunLanewise({"verify", out_, "--against", in_, "--memory", "180M"});
  ASSERT_EQ(against.status, 0) << Text(against);
  EXPECT_LT(against.peak_bytes, 180 * kMiB) << Text(against);
  const std::string back = directory_.File("back.safetensors");
  const Ran restored = RunLanewise({"restore", out_, back, "--memory", "40M"});
  ASSERT_EQ(restored.status, 0) << Text(restored);
  EXPECT_NE(restored.out.find("byte for byte"), std::string::npos) << Text(restored);
  EXPECT_LT(restored.peak_bytes, 40 * kMiB) << Text(restored);
}

INSTANTIATE_TEST_SUITE_P(All, PeakTest,
                         testing::Values(Case{"gfx942", "gfx942", {}},
                                         Case{"lossless", "gfx942", {"--lossless"}},
                                         Case{"gfx950", "gfx950", {}}),
                         [](const auto& info) { return info.param.name; });

TEST_F(MemoryTest, TooLittleIsRefusedWithWhatItTakes) {
  const Ran ran = RunLanewise({"prepare", in_, out_, "--target", "gfx942", "--memory", "2M"});
  EXPECT_EQ(ran.status, 1) << Text(ran);
  for (const char* word : {"--memory 2097152 bytes", "give at least"}) {
    EXPECT_NE(ran.err.find(word), std::string::npos) << Text(ran);
  }
  EXPECT_FALSE(std::filesystem::exists(out_));
}

// What the message says is enough is enough, the next time too.
TEST_F(MemoryTest, WhatItAsksForIsEnough) {
  const auto least = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> little = arguments;
    little.insert(little.end(), {"--memory", "1M"});
    const Ran ran = RunLanewise(little);
    EXPECT_EQ(ran.status, 1) << Text(ran);
    constexpr std::string_view kWords = "give at least ";
    const std::size_t at = ran.err.find(kWords);
    if (at == std::string::npos) return std::string("none");
    const std::size_t begin = at + kWords.size();
    return ran.err.substr(begin, ran.err.find('M', begin) + 1 - begin);
  };
  const auto expect_enough = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> enough = arguments;
    enough.insert(enough.end(), {"--memory", least(arguments), "--overwrite"});
    for (int i = 0; i < 3; ++i) {
      const Ran ran = RunLanewise(enough);
      ASSERT_EQ(ran.status, 0) << Text(ran);
    }
  };
  expect_enough({"prepare", in_, out_, "--target", "gfx942"});
  expect_enough({"restore", out_, directory_.File("back.safetensors")});
  const std::string enough = least({"verify", out_, "--against", in_});
  const Ran ran = RunLanewise({"verify", out_, "--against", in_, "--memory", enough});
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

// Ranks are verified one after the other; what the first one asks for is enough for all.
TEST_F(MemoryTest, WhatVerifyAsksForIsEnoughForEveryRank) {
  const std::string model = directory_.File("model"), out = directory_.File("out");
  const Ran made = RunLanewise({"synthesize", "--model", "deepseek-v4.1-flash", "--layers", "1",
                                "--experts", "4", "--size", "vocab=64", "--size", "hidden=1024",
                                "--size", "inter=512", model});
  ASSERT_EQ(made.status, 0) << Text(made);
  const Ran prepared = RunLanewise({"prepare", model, out, "--target", "gfx942", "--tp", "2"});
  ASSERT_EQ(prepared.status, 0) << Text(prepared);
  const Ran little = RunLanewise({"verify", out, "--against", model, "--memory", "1M"});
  EXPECT_EQ(little.status, 1) << Text(little);
  constexpr std::string_view kWords = "give at least ";
  const std::size_t at = little.err.find(kWords);
  ASSERT_NE(at, std::string::npos) << Text(little);
  const std::string enough = little.err.substr(
      at + kWords.size(), little.err.find('M', at + kWords.size()) + 1 - at - kWords.size());
  const Ran ran = RunLanewise({"verify", out, "--against", model, "--memory", enough});
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

// A float weight of 64 MiB.
TEST_F(MemoryTest, QuantizesWithinIt) {
  std::string header =
      R"({"a.weight":{"dtype":"BF16","shape":[8192,4096],"data_offsets":[0,67108864]}})";
  while (header.size() % 8 != 0) header += " ";
  WriteZeros(in_, header, 67108864);
  for (const char* scales : {"row", "block"}) {
    const Ran ran =
        RunLanewise({"quantize", in_, out_, "--memory", "40M", "--overwrite", "--scales", scales});
    ASSERT_EQ(ran.status, 0) << Text(ran);
    EXPECT_LT(ran.peak_bytes, 40 * kMiB) << Text(ran);
  }
  const std::string back = directory_.File("back.safetensors");
  const Ran ran = RunLanewise({"dequantize", out_, back, "--memory", "40M"});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_LT(ran.peak_bytes, 40 * kMiB) << Text(ran);
}

// Random weights that take many pieces with little memory and few with much: the same bytes.
TEST_F(MemoryTest, PiecesDoNotShow) {
  tools::CheckpointMaker maker(31);
  for (const char* expert : {"0", "1"}) {
    const std::string prefix = "layers.0.ffn.experts." + std::string(expert) + ".";
    for (const char* w : {"w1", "w2", "w3"}) {
      const std::int64_t n = w[1] == '2' ? 2048 : 1216, k = w[1] == '2' ? 1216 : 2048;
      maker.AddE2m1(prefix + w + ".weight", DType::kI8, {n, k / 2});
      maker.AddCodes(prefix + w + ".scale", DType::kF8E8m0, {n, k / 32});
    }
  }
  maker.AddE4m3("layers.0.attn.wq_a.weight", 1024, 2080);
  maker.AddCodes("layers.0.attn.wq_a.scale", DType::kF8E8m0, {32, 65});
  maker.AddBf16("embed.weight", {1000, 1024});
  ASSERT_TRUE(maker.Write(in_).ok());
  for (const char* target : {"gfx942", "gfx950"}) {
    const std::string other = directory_.File("other.safetensors");
    const Ran little = RunLanewise(
        {"prepare", in_, out_, "--target", target, "--lossless", "--overwrite", "--memory", "40M"});
    ASSERT_EQ(little.status, 0) << Text(little);
    const Ran much = RunLanewise({"prepare", in_, other, "--target", target, "--lossless",
                                  "--overwrite", "--memory", "4G", "--threads", "1"});
    ASSERT_EQ(much.status, 0) << Text(much);
    EXPECT_TRUE(ReadAll(out_) == ReadAll(other)) << target;
    const std::string back = directory_.File("back.safetensors");
    const Ran restored = RunLanewise({"restore", out_, back, "--overwrite", "--memory", "40M"});
    ASSERT_EQ(restored.status, 0) << Text(restored);
    EXPECT_TRUE(ReadAll(back) == ReadAll(in_)) << target << "\n" << Text(restored);
  }
}

TEST_F(MemoryTest, WrongSizesAreWrongUsage) {
  for (const char* size : {"", "x", "-1M", "1X", "1MM", "0", "nan", "1e3", "M", "99999999999T"}) {
    const Ran ran = RunLanewise({"prepare", in_, out_, "--target", "gfx942", "--memory", size});
    EXPECT_EQ(ran.status, 2) << Text(ran);
  }
  for (const char* size : {"1G", "0.5GiB", "600MB", "1073741824", "700m"}) {
    const Ran ran =
        RunLanewise({"prepare", in_, out_, "--target", "gfx942", "--dry-run", "--memory", size});
    EXPECT_EQ(ran.status, 0) << Text(ran);
  }
}

}  // namespace
}  // namespace lanewise
