#include "checkpoint/safetensors/tensor_set.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A file of U8 tensors of one byte each, the byte being the name's last letter.
std::string FileOf(const std::vector<std::string>& names) {
  std::string header = "{";
  std::string data;
  for (const std::string& name : names) {
    if (!data.empty()) header += ",";
    header += "\"" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" +
              std::to_string(data.size()) + "," + std::to_string(data.size() + 1) + "]}";
    data += name.back();
  }
  return RawSafetensors(header + "}", data);
}

std::string Message(const absl::StatusOr<TensorSet>& set) {
  EXPECT_FALSE(set.ok());
  return std::string(set.status().message());
}

std::vector<std::string> Names(const TensorSet& set) {
  std::vector<std::string> names;
  for (const TensorSet::Tensor& tensor : set.tensors()) names.push_back(tensor.name());
  return names;
}

TEST(TensorSet, OneFile) {
  const TestDirectory directory;
  const std::string path = directory.Write("m.safetensors", FileOf({"wb", "wa"}));
  absl::StatusOr<TensorSet> opened = TensorSet::Open(path);
  ASSERT_TRUE(opened.ok()) << opened.status();
  const TensorSet set = *std::move(opened);
  EXPECT_EQ(set.source(), TensorSet::Source::kFile);
  EXPECT_THAT(Names(set), ElementsAre("wb", "wa"));
  EXPECT_EQ(set.Bytes(*set.Find("wa"))[0], 'a');
  EXPECT_EQ(set.Find("w"), nullptr);
  EXPECT_EQ(set.directory(), directory.path());
  EXPECT_EQ(set.shards()[0].name, "m.safetensors");
  EXPECT_EQ(set.total_bytes(), 2);
  EXPECT_TRUE(set.CheckUnchanged().ok());
}

// Three shards with an index whose total_size is right.
void WriteSharded(const TestDirectory& directory, const std::string& index_name) {
  directory.Write("m-00001-of-00002.safetensors", FileOf({"d", "b"}));
  directory.Write("m-00002-of-00002.safetensors", FileOf({"a", "c"}));
  SafetensorsIndex index;
  index.weight_map = {{"a", "m-00002-of-00002.safetensors"},
                      {"b", "m-00001-of-00002.safetensors"},
                      {"c", "m-00002-of-00002.safetensors"},
                      {"d", "m-00001-of-00002.safetensors"}};
  index.total_size = 4;
  ASSERT_TRUE(WriteSafetensorsIndex(directory.File(index_name), index).ok());
}

TEST(TensorSet, AnIndexOrItsDirectory) {
  const TestDirectory directory;
  WriteSharded(directory, "model.safetensors.index.json");
  directory.Write("config.json", "{}");
  for (const std::string& path :
       {directory.path(), directory.File("model.safetensors.index.json")}) {
    const absl::StatusOr<TensorSet> set = TensorSet::Open(path);
    ASSERT_TRUE(set.ok()) << set.status();
    EXPECT_THAT(Names(*set), ElementsAre("d", "b", "a", "c"));
    EXPECT_EQ(set->Bytes(*set->Find("c"))[0], 'c');
    EXPECT_EQ(set->shards()[set->Find("c")->shard].name, "m-00002-of-00002.safetensors");
    EXPECT_EQ(set->index_name(), "model.safetensors.index.json");
    EXPECT_EQ(set->total_bytes(), 4);
    EXPECT_THAT(set->notes(), IsEmpty());
  }
}

TEST(TensorSet, ADirectoryWithoutAnIndex) {
  const TestDirectory directory;
  WriteSharded(directory, "gone.json");
  std::filesystem::remove(directory.File("gone.json"));
  directory.Write(".hidden.safetensors", "not one");
  const absl::StatusOr<TensorSet> set = TensorSet::Open(directory.path());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(Names(*set), ElementsAre("d", "b", "a", "c"));
  EXPECT_EQ(set->index_name(), "");
}

TEST(TensorSet, ADirectoryWithoutAnIndexMissesAShard) {
  const TestDirectory directory;
  directory.Write("m-00001-of-00003.safetensors", FileOf({"a"}));
  directory.Write("m-00003-of-00003.safetensors", FileOf({"c"}));
  EXPECT_THAT(Message(TensorSet::Open(directory.path())),
              HasSubstr("m-*-of-00003.safetensors number 2 is missing"));
  directory.Write("m-00002-of-00003.safetensors", FileOf({"b"}));
  EXPECT_TRUE(TensorSet::Open(directory.path()).ok());
}

TEST(TensorSet, ShardsCountedFromZeroAreWhole) {
  const TestDirectory directory;
  directory.Write("m--00000-of-00002.safetensors", FileOf({"a"}));
  directory.Write("m--00001-of-00002.safetensors", FileOf({"c"}));
  EXPECT_TRUE(TensorSet::Open(directory.path()).ok());
}

TEST(TensorSet, RefusesWhatIsNotThere) {
  const TestDirectory directory;
  EXPECT_THAT(Message(TensorSet::Open(directory.path())), HasSubstr("no *.safetensors"));
  EXPECT_TRUE(absl::IsNotFound(TensorSet::Open(directory.File("x.safetensors")).status()));
  EXPECT_TRUE(absl::IsNotFound(TensorSet::Open(directory.File("x.index.json")).status()));
}

TEST(TensorSet, RefusesSeveralIndexes) {
  const TestDirectory directory;
  WriteSharded(directory, "a.safetensors.index.json");
  WriteSharded(directory, "b.safetensors.index.json");
  EXPECT_THAT(Message(TensorSet::Open(directory.path())),
              HasSubstr("a.safetensors.index.json, b.safetensors.index.json"));
  EXPECT_TRUE(TensorSet::Open(directory.File("b.safetensors.index.json")).ok());
}

TEST(TensorSet, RefusesATensorInTwoFiles) {
  const TestDirectory directory;
  directory.Write("a.safetensors", FileOf({"w", "x"}));
  directory.Write("b.safetensors", FileOf({"y", "w"}));
  EXPECT_THAT(Message(TensorSet::Open(directory.path())),
              HasSubstr("tensor 'w' is also in 'a.safetensors'"));
}

TEST(TensorSet, RefusesAnIndexThatLies) {
  const TestDirectory directory;
  directory.Write("a.safetensors", FileOf({"w", "x"}));
  directory.Write("b.safetensors", FileOf({"y"}));
  const auto message = [&](const std::string& weight_map) {
    return Message(TensorSet::Open(
        directory.Write("i.safetensors.index.json", R"({"weight_map":)" + weight_map + "}")));
  };
  EXPECT_THAT(message(R"({"w":"a.safetensors","x":"a.safetensors","y":"a.safetensors"})"),
              HasSubstr("puts 'y' into 'a.safetensors', which does not hold it"));
  EXPECT_THAT(message(R"({"w":"a.safetensors","x":"b.safetensors","y":"b.safetensors"})"),
              HasSubstr("puts 'x' into 'b.safetensors', which does not hold it ('a.safetensors' "
                        "does)"));
  EXPECT_THAT(message(R"({"w":"a.safetensors","y":"b.safetensors"})"),
              HasSubstr("does not name 'x', which 'a.safetensors' holds"));
  EXPECT_THAT(message(R"({"w":"a.safetensors","x":"a.safetensors","z":"c.safetensors"})"),
              HasSubstr("puts 'z' into 'c.safetensors', which is not there"));
  EXPECT_THAT(message(R"({"w":"a.safetensors","w":"a.safetensors","x":"a.safetensors"})"),
              HasSubstr("'w' stands twice"));
  for (const char* name : {"../a.safetensors", "/a.safetensors", "x/../a.safetensors", "", ".",
                           "..", "./a.safetensors", "x//a.safetensors", "a/", "a\\u0000b"}) {
    EXPECT_THAT(message(std::string(R"({"w":")") + name + R"(","x":"a.safetensors"})"),
                HasSubstr("below the index's own directory"))
        << name;
  }
  EXPECT_THAT(message(R"({"w":1})"), HasSubstr("gives 'w' no file name"));
  EXPECT_THAT(message("[]"), HasSubstr("not an object"));
  EXPECT_THAT(Message(TensorSet::Open(directory.Write("i.json", "{}"))),
              HasSubstr("has no weight_map"));
  EXPECT_THAT(Message(TensorSet::Open(directory.Write("i.json", ""))), HasSubstr("not JSON"));
}

TEST(TensorSet, OddButHarmlessIsNoted) {
  const TestDirectory directory;
  directory.Write("a.safetensors", FileOf({"w"}));
  directory.Write("consolidated.safetensors", FileOf({"w"}));
  directory.Write("i.safetensors.index.json",
                  R"({"weight_map":{"w":"a.safetensors"},"metadata":{"total_size":77}})");
  const absl::StatusOr<TensorSet> set = TensorSet::Open(directory.path());
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("says total_size 77, the tensors are 1 bytes"),
                                        HasSubstr("consolidated.safetensors is left out")));
}

TEST(TensorSet, ShardsMayLieInSubdirectories) {
  const TestDirectory directory;
  directory.Write("sub/a.safetensors", FileOf({"w"}));
  directory.Write("i.json", R"({"weight_map":{"w":"sub/a.safetensors"},"metadata":{}})");
  EXPECT_TRUE(TensorSet::Open(directory.File("i.json")).ok());
}

TEST(Index, WritesTheseBytes) {
  const TestDirectory directory;
  const std::string path = directory.File("i.json");
  ASSERT_TRUE(WriteSafetensorsIndex(path, {{{"b", "y"}, {"a\"", "x/z"}}, 12}).ok());
  EXPECT_EQ(ReadAll(path), R"({
  "metadata": {
    "total_size": 12
  },
  "weight_map": {
    "a\"": "x/z",
    "b": "y"
  }
}
)");
  const absl::StatusOr<SafetensorsIndex> back = ReadSafetensorsIndex(path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->weight_map.at("a\""), "x/z");
  EXPECT_EQ(back->total_size, 12);
  ASSERT_TRUE(WriteSafetensorsIndex(path, {}).ok());
  EXPECT_TRUE(ReadSafetensorsIndex(path)->weight_map.empty());
  EXPECT_FALSE(WriteSafetensorsIndex(path, {{{"a", "../x"}}, 1}).ok());
  EXPECT_THAT(directory.Names(), ElementsAre("i.json"));
}

}  // namespace
}  // namespace lanewise
