#include "tests/golden/manifest.h"

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace lanewise::golden {
namespace {

// A manifest of that text beside a safetensors file with one tensor, t: U8 [2] = 5, 6.
std::string WriteManifest(const std::string& name, const std::string& json) {
  const std::string stem = testing::TempDir() + "/" + name;
  std::ofstream(stem + ".json") << json;
  std::string header = R"({"t":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  std::ofstream(stem + ".safetensors", std::ios::binary) << file << header << "\x05\x06";
  return stem + ".json";
}

TEST(Manifest, GivesCasesWithTheirTensors) {
  const auto manifest = Manifest::Open(WriteManifest("good", R"({"cases": [
      {"op": "a", "args": {"n": 3, "flag": true, "text": "x"}, "in": {"w": "t"}, "out": {}},
      {"op": "b"}]})"));
  ASSERT_TRUE(manifest.ok()) << manifest.status();
  EXPECT_EQ(manifest->name(), "good");
  ASSERT_EQ(manifest->cases().size(), 2u);
  const Case& a = manifest->cases()[0];
  EXPECT_EQ(a.op(), "a");
  EXPECT_EQ(*a.IntArg("n"), 3);
  EXPECT_TRUE(*a.BoolArg("flag"));
  EXPECT_EQ(*a.TextArg("text"), "x");
  EXPECT_EQ(*a.IntArg("m", 8), 8);
  EXPECT_FALSE(a.IntArg("m").ok());
  EXPECT_FALSE(a.IntArg("text", 8).ok());
  EXPECT_FALSE(a.BoolArg("n", true).ok());
  const auto w = a.Input("w");
  ASSERT_TRUE(w.ok());
  EXPECT_EQ(w->dtype, DType::kU8);
  EXPECT_EQ(w->shape, std::vector<std::int64_t>{2});
  ASSERT_EQ(w->bytes.size(), 2u);
  EXPECT_EQ(w->bytes[1], 6);
  EXPECT_EQ(a.Input("x").status().message(), "the case has no input 'x'");
  EXPECT_TRUE(manifest->cases()[1].inputs().empty());
  EXPECT_EQ(manifest->cases()[1].index(), 1);
}

TEST(Manifest, RefusesWhatIsNone) {
  const auto refusal = [](const std::string& json) {
    return std::string(Manifest::Open(WriteManifest("bad", json)).status().message());
  };
  EXPECT_TRUE(absl::StrContains(refusal("{"), "bad.json: not JSON"));
  EXPECT_TRUE(absl::StrContains(refusal("[]"), "expected an object with a list 'cases'"));
  EXPECT_TRUE(absl::StrContains(refusal(R"({"cases": {}})"), "expected an object with a list"));
  EXPECT_TRUE(absl::StrContains(refusal(R"({"cases": [3]})"), "bad.json: case 0: not an object"));
  EXPECT_TRUE(
      absl::StrContains(refusal(R"({"cases": [{"op": "a"}, {}]})"), "case 1: no text 'op'"));
  EXPECT_TRUE(absl::StrContains(refusal(R"({"cases": [{"op": "a", "args": 1}]})"),
                                "'args' is not an object"));
  EXPECT_TRUE(absl::StrContains(refusal(R"({"cases": [{"op": "a", "in": {"w": "u"}}]})"),
                                "no tensor \"u\""));
  EXPECT_TRUE(absl::StrContains(refusal(R"({"cases": [{"op": "a", "out": {"w": 1}}]})"),
                                "'out' names no tensor for w"));
  EXPECT_FALSE(Manifest::Open(testing::TempDir() + "/none.json").ok());
  EXPECT_FALSE(Manifest::Open(testing::TempDir() + "/good.safetensors").ok());
}

}  // namespace
}  // namespace lanewise::golden
