#include "checkpoint/synthesize/synthesize.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

// A tensor of more than one piece, ones of odd sizes, an empty one and a scalar.
SynthesizeRequest Request(const std::string& out) {
  SynthesizeRequest request;
  request.out = out;
  request.tensors = {
      {{"w", DType::kF8E4m3, {1100, 1030}}, SyntheticValues::kE4m3},
      {{"w.scale", DType::kU8, {1100, 33}}, SyntheticValues::kFoldingCodes},
      {{"experts", DType::kI8, {3, 5, 7}}, SyntheticValues::kE2m1},
      {{"norm", DType::kBf16, {1031}}, SyntheticValues::kBf16},
      {{"none", DType::kBf16, {0, 4}}, SyntheticValues::kBf16},
      {{"one", DType::kF32, {}}, SyntheticValues::kF32},
  };
  request.metadata = {{"format", "pt"}};
  request.seed = 3;
  request.threads = 1;
  return request;
}

std::map<std::string, std::string> Contents(const std::string& directory) {
  std::map<std::string, std::string> contents;
  const auto set = TensorSet::Open(directory);
  EXPECT_TRUE(set.ok()) << set.status();
  if (!set.ok()) return contents;
  for (const auto& tensor : set->tensors()) {
    const auto bytes = set->Bytes(tensor);
    contents[tensor.name()] = std::string(bytes.begin(), bytes.end());
  }
  return contents;
}

TEST(SynthesizeTest, BytesAreFillSynthetics) {
  const TestDirectory directory;
  const SynthesizeRequest request = Request(directory.File("out"));
  const auto files = SynthesizeCheckpoint(request, nullptr);
  ASSERT_TRUE(files.ok()) << files.status();
  const auto contents = Contents(request.out);
  ASSERT_EQ(contents.size(), request.tensors.size());
  for (const SyntheticTensor& tensor : request.tensors) {
    const TensorSpec& spec = tensor.spec;
    std::string expected(*ByteCount(spec.dtype, spec.shape), '\xA5');
    FillSynthetic(tensor.values, SyntheticKey(3, spec.name),
                  spec.shape.empty() ? 1 : spec.shape.back(), 0,
                  {reinterpret_cast<std::uint8_t*>(expected.data()), expected.size()});
    EXPECT_TRUE(contents.at(spec.name) == expected) << spec.name;
  }
}

TEST(SynthesizeTest, ThreadsDoNotMatter) {
  const TestDirectory directory;
  SynthesizeRequest request = Request(directory.File("one"));
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  request.out = directory.File("seven");
  request.threads = 7;
  std::int64_t last = 0;
  const auto files = SynthesizeCheckpoint(request, [&](std::int64_t done, std::int64_t total) {
    EXPECT_GT(done, last);
    EXPECT_LE(done, total);
    last = done;
  });
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 1u);
  EXPECT_EQ(last, files->front().bytes);
  EXPECT_EQ(files->front().tensors, 6);
  for (const char* name : {"model-00001-of-00001.safetensors", "model.safetensors.index.json"}) {
    EXPECT_TRUE(ReadAll(directory.File(std::string("one/") + name)) ==
                ReadAll(directory.File(std::string("seven/") + name)))
        << name;
  }
}

TEST(SynthesizeTest, ShardsHoldTheSameTensors) {
  const TestDirectory directory;
  SynthesizeRequest request = Request(directory.File("whole"));
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  request.out = directory.File("shards");
  request.shard_bytes = 36405;  // w.scale and experts
  const auto planned = PlanSynthesis(request);
  ASSERT_TRUE(planned.ok());
  const auto files = SynthesizeCheckpoint(request, nullptr);
  ASSERT_TRUE(files.ok()) << files.status();
  ASSERT_EQ(files->size(), 3u);
  ASSERT_EQ(planned->size(), 3u);
  const std::int64_t tensors[] = {1, 2, 3}, bytes[] = {1100 * 1030, 36405, 2 * 1031 + 4};
  for (int i = 0; i < 3; ++i) {
    const SynthesizedFile& file = (*files)[i];
    EXPECT_EQ(file.name, "model-0000" + std::to_string(i + 1) + "-of-00003.safetensors");
    EXPECT_EQ(file.tensors, tensors[i]) << file.name;
    EXPECT_EQ(file.bytes, bytes[i]) << file.name;
    EXPECT_EQ((*planned)[i].name, file.name);
  }
  EXPECT_TRUE(Contents(directory.File("whole")) == Contents(directory.File("shards")));
  const auto index = ReadSafetensorsIndex(directory.File("shards/model.safetensors.index.json"));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->weight_map.size(), 6u);
  EXPECT_EQ(index->weight_map.at("experts"), (*files)[1].name);
  EXPECT_EQ(index->total_size, 1100 * 1030 + 36405 + 2 * 1031 + 4);
}

TEST(SynthesizeTest, SeedsDiffer) {
  const TestDirectory directory;
  SynthesizeRequest request = Request(directory.File("a"));
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  request.out = directory.File("b");
  request.seed = 4;
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  const auto a = Contents(directory.File("a")), b = Contents(directory.File("b"));
  for (const auto& [name, bytes] : a) {
    if (!bytes.empty()) {
      EXPECT_NE(bytes, b.at(name)) << name;
    }
  }
}

TEST(SynthesizeTest, ReplacesOnlyWhenTold) {
  const TestDirectory directory;
  SynthesizeRequest request = Request(directory.File("out"));
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  request.seed = 5;
  const auto refused = SynthesizeCheckpoint(request, nullptr);
  EXPECT_NE(refused.status().ToString().find("is there already"), std::string::npos)
      << refused.status();
  request.seed = 3;
  const auto before = Contents(request.out);
  request.seed = 5;
  request.overwrite = true;
  ASSERT_TRUE(SynthesizeCheckpoint(request, nullptr).ok());
  EXPECT_FALSE(Contents(request.out) == before);
}

// The second file cannot be made: its name is taken by a directory.
TEST(SynthesizeTest, FailureLeavesNothing) {
  const TestDirectory directory;
  SynthesizeRequest request = Request(directory.File("out"));
  request.shard_bytes = 1;
  directory.Write("out/model-00002-of-00006.safetensors/inside", "");
  request.overwrite = true;
  const auto files = SynthesizeCheckpoint(request, nullptr);
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.status().ToString().find("is a directory"), std::string::npos) << files.status();
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(request.out)) {
    EXPECT_TRUE(entry.is_directory()) << entry.path();
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST(SynthesizeTest, RefusesNoTensors) {
  const TestDirectory directory;
  SynthesizeRequest request;
  request.out = directory.File("out");
  EXPECT_FALSE(SynthesizeCheckpoint(request, nullptr).ok());
  EXPECT_TRUE(directory.Names().empty());
}

}  // namespace
}  // namespace lanewise
