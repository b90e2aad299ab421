#include "checkpoint/prepared.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/files/test_files.h"
#include "checkpoint/prepared_writer.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Message(const absl::Status& status) {
  EXPECT_FALSE(status.ok());
  return std::string(status.message());
}

PreparedWriter::About Gfx942() {
  return {.target = "gfx942",
          .recipe = "generic-mxfp8",
          .sources = {{"in.safetensors", 1234, "0123456789abcdef"}},
          .more = {}};
}

// A dense weight and a norm.
std::vector<PreparedTensorPlan> TwoTensors() {
  return {{.stored = {"w", DType::kU8, {2, 4}},
           .what = {.layout = "gfx942/dense",
                    .shape = {2, 3},
                    .dtype = DType::kF8E4m3Fnuz,
                    .from = {"w", "w_scale"},
                    .params = {{"padded_k", int64_t{4}}, {"note", "text \"x\""}},
                    .xxh3 = ""},
           .late = {"negative_zeros"}},
          {.stored = {"norm", DType::kBf16, {2}},
           .what = {.layout = "plain",
                    .shape = {2},
                    .dtype = DType::kBf16,
                    .from = {"norm"},
                    .params = {},
                    .xxh3 = ""},
           .late = {}}};
}

absl::Status WriteTwoTensors(const std::string& path, const PreparedWriter::About& about) {
  absl::StatusOr<PreparedWriter> writer = PreparedWriter::Create(path, about, TwoTensors());
  if (!writer.ok()) return writer.status();
  absl::Status status = writer->Write(0, 0, AsBytes("abcd"));
  status.Update(writer->Write(0, 4, AsBytes("efgh")));
  status.Update(writer->Write(1, 2, AsBytes("no")));  // out of order
  status.Update(writer->Write(1, 0, AsBytes("lm")));
  status.Update(writer->SetParam(0, "negative_zeros", 17));
  status.Update(writer->Finish());
  return status;
}

TEST(Prepared, GivesBytesAgainstTheirLayout) {
  const TestDirectory directory;
  const std::string path = directory.File("p.safetensors");
  ASSERT_TRUE(WriteTwoTensors(path, Gfx942()).ok());
  absl::StatusOr<PreparedCheckpoint> opened = PreparedCheckpoint::Open(path, "gfx942");
  ASSERT_TRUE(opened.ok()) << opened.status();
  const PreparedCheckpoint checkpoint = *std::move(opened);
  EXPECT_EQ(checkpoint.target(), "gfx942");
  EXPECT_EQ(checkpoint.recipe(), "generic-mxfp8");
  EXPECT_THAT(checkpoint.sources(),
              ElementsAre(PreparedSource{"in.safetensors", 1234, "0123456789abcdef"}));
  const absl::StatusOr<PreparedCheckpoint::View> w = checkpoint.Get("w", layout_tag::kGfx942Dense);
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_EQ(std::string(w->bytes.begin(), w->bytes.end()), "abcdefgh");
  EXPECT_THAT(w->what->shape, ElementsAre(2, 3));
  EXPECT_EQ(w->what->dtype, DType::kF8E4m3Fnuz);
  EXPECT_THAT(w->what->from, ElementsAre("w", "w_scale"));
  EXPECT_EQ(*w->what->IntParam("padded_k"), 4);
  EXPECT_EQ(*w->what->IntParam("negative_zeros"), 17);
  EXPECT_EQ(*w->what->TextParam("note"), "text \"x\"");
  EXPECT_THAT(Message(w->what->IntParam("note").status()), HasSubstr("'note' is text"));
  EXPECT_THAT(Message(w->what->TextParam("padded_k").status()), HasSubstr("is an integer"));
  EXPECT_THAT(Message(w->what->IntParam("none").status()), HasSubstr("'none'"));
  EXPECT_EQ(w->what->xxh3, DigestHex(AsBytes("abcdefgh")));
  const absl::StatusOr<PreparedCheckpoint::View> norm = checkpoint.Get("norm", layout_tag::kPlain);
  ASSERT_TRUE(norm.ok());
  EXPECT_EQ(std::string(norm->bytes.begin(), norm->bytes.end()), "lmno");
  EXPECT_TRUE(checkpoint.Verify("w").ok());
  EXPECT_TRUE(checkpoint.Verify("norm").ok());

  EXPECT_THAT(Message(checkpoint.Get("w", layout_tag::kGfx942DenseChunkQ).status()),
              HasSubstr("tensor 'w' has layout 'gfx942/dense', expected 'gfx942/dense_chunk_q'"));
  EXPECT_THAT(Message(checkpoint.Get("norm", "").status()), HasSubstr("has layout 'plain'"));
  EXPECT_EQ(checkpoint.Get("v", "plain").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(checkpoint.Describe("v"), nullptr);
  EXPECT_FALSE(checkpoint.Verify("v").ok());
  EXPECT_TRUE(IsPrepared(checkpoint.set()));
}

TEST(Prepared, EqualCallsGiveEqualBytes) {
  const TestDirectory directory;
  ASSERT_TRUE(WriteTwoTensors(directory.File("a"), Gfx942()).ok());
  ASSERT_TRUE(WriteTwoTensors(directory.File("b"), Gfx942()).ok());
  EXPECT_EQ(ReadAll(directory.File("a")), ReadAll(directory.File("b")));
}

// The digest of the header, by the letter of its definition.
TEST(Prepared, TheHeaderDigestIsWhatItsDefinitionSays) {
  const TestDirectory directory;
  const std::string path = directory.File("p.safetensors");
  ASSERT_TRUE(WriteTwoTensors(path, Gfx942()).ok());
  const std::string file = ReadAll(path);
  size_t length = 0;
  for (size_t i = 0; i < 8; ++i)
    length |= static_cast<size_t>(static_cast<uint8_t>(file[i])) << 8 * i;
  std::string text = file.substr(8, length);
  while (text.back() == ' ') text.pop_back();
  const size_t at = text.find("\"lanewise.header_xxh3\":\"") + 24;
  const std::string digits = text.substr(at, 16);
  EXPECT_EQ(digits, DigestHex(AsBytes(text.substr(0, at) + text.substr(at + 16))));
}

// Every single flipped bit of header or data is noticed, by the header's digest or a tensor's.
TEST(Prepared, NoChangedBitPassesUnnoticed) {
  const TestDirectory directory;
  const std::string path = directory.File("p.safetensors");
  ASSERT_TRUE(WriteTwoTensors(path, Gfx942()).ok());
  const std::string file = ReadAll(path);
  for (size_t byte = 0; byte < file.size(); ++byte) {
    std::string changed = file;
    changed[byte] = static_cast<char>(changed[byte] ^ (1 << (byte % 8)));
    directory.Write("q.safetensors", changed);
    const absl::StatusOr<PreparedCheckpoint> checkpoint =
        PreparedCheckpoint::Open(directory.File("q.safetensors"), "gfx942");
    if (!checkpoint.ok()) continue;
    EXPECT_FALSE(checkpoint->Verify("w").ok() && checkpoint->Verify("norm").ok())
        << "byte " << byte << " of " << file.size();
  }
  for (size_t size = 0; size < file.size(); size += 7) {
    directory.Write("q.safetensors", file.substr(0, size));
    EXPECT_FALSE(PreparedCheckpoint::Open(directory.File("q.safetensors"), "").ok()) << size;
  }
}

// A safetensors file with that metadata and one U8 tensor "w" of one byte, its header digest right.
std::string Forged(std::map<std::string, std::string> metadata) {
  metadata["lanewise.header_xxh3"] = "0000000000000000";
  TensorInfo w;
  w.name = "w";
  w.shape = {1};
  w.end = 1;
  std::string text = *SafetensorsHeaderText(std::vector<TensorInfo>{w}, metadata);
  metadata["lanewise.header_xxh3"] = *HeaderDigest(text);
  return RawSafetensors(*SafetensorsHeaderText(std::vector<TensorInfo>{w}, metadata), "x");
}

const std::map<std::string, std::string>& GoodMetadata() {
  static const std::map<std::string, std::string> kMetadata = {
      {"lanewise.format", "1"},
      {"lanewise.target", "gfx950"},
      {"lanewise.recipe", "r"},
      {"lanewise.source", "[]"},
      {"lanewise.tensor.w", R"({"layout":"plain","shape":[1],"dtype":"U8","from":[],"params":{},)"
                            R"("xxh3":"0000000000000000","of a later version":1})"}};
  return kMetadata;
}

TEST(Prepared, ReadsPastWhatItDoesNotKnow) {
  const TestDirectory directory;
  std::map<std::string, std::string> metadata = GoodMetadata();
  metadata["lanewise.later"] = "?";
  const auto checkpoint = PreparedCheckpoint::Open(directory.Write("f", Forged(metadata)), "");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_THAT(Message(checkpoint->Verify("w")), HasSubstr("the file says 0000000000000000"));
}

TEST(Prepared, RefusesWhatIsNotAsItSays) {
  const TestDirectory directory;
  const auto with = [&](const std::string& key, const std::string& value,
                        std::string_view target = "gfx950") {
    std::map<std::string, std::string> metadata = GoodMetadata();
    metadata[key] = value;
    return Message(
        PreparedCheckpoint::Open(directory.Write("f", Forged(metadata)), target).status());
  };
  const auto without = [&](const std::string& key) {
    std::map<std::string, std::string> metadata = GoodMetadata();
    metadata.erase(key);
    return Message(PreparedCheckpoint::Open(directory.Write("f", Forged(metadata)), "").status());
  };
  ASSERT_TRUE(
      PreparedCheckpoint::Open(directory.Write("f", Forged(GoodMetadata())), "gfx950").ok());
  EXPECT_THAT(with("lanewise.format", "2"), HasSubstr("format '2', this reads format '1'"));
  EXPECT_THAT(with("x", "y", "gfx942"), HasSubstr("prepared for 'gfx950', expected 'gfx942'"));
  EXPECT_THAT(without("lanewise.format"), HasSubstr("is not a prepared file"));
  EXPECT_THAT(without("lanewise.target"), HasSubstr("has no lanewise.target"));
  EXPECT_THAT(without("lanewise.recipe"), HasSubstr("has no lanewise.recipe"));
  EXPECT_THAT(without("lanewise.source"), HasSubstr("has no lanewise.source"));
  EXPECT_THAT(without("lanewise.tensor.w"), HasSubstr("holds tensor 'w' without"));
  const std::string w = GoodMetadata().at("lanewise.tensor.w");
  EXPECT_THAT(with("lanewise.tensor.v", w), HasSubstr("describes a tensor 'v'"));
  EXPECT_THAT(with("lanewise.source", "{}"), HasSubstr("not a JSON array"));
  EXPECT_THAT(with("lanewise.source", R"([{"file":"a","size":-1,"xxh3":"0000000000000000"}])"),
              HasSubstr("integer from 0"));
  const auto tensor = [&](std::string_view part, std::string_view other) {
    std::string json = w;
    json.replace(json.find(part), part.size(), other);
    return with("lanewise.tensor.w", json);
  };
  EXPECT_THAT(tensor("[1]", "[2]"), HasSubstr("stored as U8 [1], expected U8 [2]"));
  EXPECT_THAT(tensor("U8", "I8"), HasSubstr("expected I8 [1]"));
  EXPECT_THAT(tensor("U8", "U9"), HasSubstr("unknown dtype 'U9'"));
  EXPECT_THAT(tensor("[1]", "[-1]"), HasSubstr("integer from 0"));
  EXPECT_THAT(tensor("[1]", "[4294967296,4294967296]"), HasSubstr("2^63"));
  EXPECT_THAT(tensor("[1]", "1"), HasSubstr("not an array"));
  EXPECT_THAT(tensor("\"plain\"", "1"), HasSubstr("not a string"));
  EXPECT_THAT(tensor("\"layout\"", "\"order\""), HasSubstr("has no \"layout\""));
  EXPECT_THAT(tensor("0000000000000000", "000000000000000G"), HasSubstr("hexadecimal"));
  EXPECT_THAT(tensor("\"params\":{}", "\"params\":{\"a\":1.5}"), HasSubstr("'a' is neither"));
  EXPECT_THAT(tensor("\"params\":{}", "\"params\":{\"a\":18446744073709551615}"),
              HasSubstr("'a' is neither"));
  EXPECT_THAT(tensor("\"from\":[]", "\"from\":[1]"), HasSubstr("not a string"));
  EXPECT_THAT(tensor("{", "[{"), HasSubstr("not JSON"));
  EXPECT_THAT(with("lanewise.tensor.w", "[]"), HasSubstr("not a JSON object"));
}

TEST(Prepared, RefusesASafetensorsFileOfAnyOtherKind) {
  const TestDirectory directory;
  const std::string path = directory.Write("f", RawSafetensors("{}", ""));
  EXPECT_THAT(Message(PreparedCheckpoint::Open(path, "").status()),
              HasSubstr("is not a prepared file"));
  EXPECT_FALSE(IsPrepared(*TensorSet::Open(path)));
}

TEST(Prepared, ShardsAreOfOneKind) {
  const TestDirectory directory;
  ASSERT_TRUE(WriteTwoTensors(directory.File("a.safetensors"), Gfx942()).ok());
  directory.Write("b.safetensors", Forged(GoodMetadata()));
  // "w" is in both.
  EXPECT_THAT(Message(PreparedCheckpoint::Open(directory.path(), "").status()),
              HasSubstr("also in"));
  PreparedWriter::About about = Gfx942();
  about.target = "gfx950";
  auto other = PreparedWriter::Create(directory.File("b.safetensors"), about, {});
  ASSERT_TRUE(other.ok() && other->Finish().ok());
  EXPECT_THAT(Message(PreparedCheckpoint::Open(directory.path(), "").status()),
              HasSubstr("prepared for 'gfx950' by recipe 'generic-mxfp8', but a.safetensors for "
                        "'gfx942'"));
  about = Gfx942();
  about.sources.push_back({"second", 1, "fedcba9876543210"});
  other = PreparedWriter::Create(directory.File("b.safetensors"), about, {});
  ASSERT_TRUE(other.ok() && other->Finish().ok());
  const auto checkpoint = PreparedCheckpoint::Open(directory.path(), "gfx942");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->sources().size(), 2u);
}

TEST(PreparedWriter, NothingMayBeMissing) {
  const TestDirectory directory;
  PreparedWriter::About about = Gfx942();
  about.sources.push_back({"second", 5, ""});
  absl::StatusOr<PreparedWriter> writer =
      PreparedWriter::Create(directory.File("p"), about, TwoTensors());
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("source 'second' was never given its digest"));
  EXPECT_FALSE(writer->SetSourceDigest(0, "0123456789abcdef").ok());
  EXPECT_FALSE(writer->SetSourceDigest(2, "0123456789abcdef").ok());
  EXPECT_FALSE(writer->SetSourceDigest(1, "0123").ok());
  EXPECT_TRUE(writer->SetSourceDigest(1, "0123456789abcdef").ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("'w': byte 0 of 8"));
  EXPECT_TRUE(writer->Write(0, 0, AsBytes("01234567")).ok());
  EXPECT_TRUE(writer->Write(1, 0, AsBytes("0123")).ok());
  EXPECT_THAT(Message(writer->Finish()), HasSubstr("'negative_zeros' was never given its value"));
  EXPECT_FALSE(writer->SetParam(0, "padded_k", 1).ok());
  EXPECT_FALSE(writer->SetParam(2, "padded_k", 1).ok());
  EXPECT_TRUE(writer->SetParam(0, "negative_zeros", std::numeric_limits<int64_t>::min()).ok());
  EXPECT_FALSE(writer->SetParam(0, "negative_zeros", 1).ok());
  EXPECT_TRUE(writer->Finish().ok());
  const auto checkpoint = PreparedCheckpoint::Open(directory.File("p"), "");
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(*checkpoint->Describe("w")->IntParam("negative_zeros"),
            std::numeric_limits<int64_t>::min());
}

TEST(PreparedWriter, RefusesWhatTheReaderWouldRefuse) {
  const TestDirectory directory;
  const auto refusal = [&](auto change) {
    PreparedWriter::About about = Gfx942();
    std::vector<PreparedTensorPlan> plans = TwoTensors();
    change(about, plans);
    return Message(PreparedWriter::Create(directory.File("p"), about, plans).status());
  };
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[0].what.layout = "gfx942/dence"; }),
              HasSubstr("unknown layout 'gfx942/dence'"));
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[0].stored.dtype = DType::kI8; }),
              HasSubstr("stores U8"));
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[1].what.shape = {3}; }),
              HasSubstr("its own shape"));
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[0].what.shape = {-3}; }),
              HasSubstr("negative"));
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[0].late = {"note"}; }),
              HasSubstr("'note' is text"));
  EXPECT_THAT(refusal([](auto& about, auto&) { about.more["lanewise.format"] = "2"; }),
              HasSubstr("not the caller's"));
  EXPECT_THAT(refusal([](auto& about, auto&) { about.sources[0].file = "\xff"; }),
              HasSubstr("UTF-8"));
  EXPECT_THAT(refusal([](auto&, auto& plans) { plans[0].what.from = {"\xff"}; }),
              HasSubstr("UTF-8"));
  EXPECT_THAT(directory.Names(), IsEmpty());
}

TEST(PreparedMetadata, TextGoesThereAndBack) {
  PreparedTensor tensor = TwoTensors()[0].what;
  tensor.xxh3 = "00000000deadbeef";
  tensor.params["late"] = int64_t{-5};
  const std::vector<std::string> late = {"late"};
  const absl::StatusOr<std::string> json = PreparedTensorJson(tensor, late);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(
      *json,
      R"({"layout":"gfx942/dense","shape":[2,3],"dtype":"F8_E4M3FNUZ","from":["w","w_scale"],)"
      R"("params":{"late":-5                  ,"note":"text \"x\"","padded_k":4},)"
      R"("xxh3":"00000000deadbeef"})");
  EXPECT_EQ(*ParsePreparedTensor(*json, "x"), tensor);
  const std::vector<PreparedSource> sources = {{"a\"b", 7, "00000000deadbeef"},
                                               {"c", 0, "1234567812345678"}};
  EXPECT_EQ(*ParsePreparedSources(*PreparedSourcesJson(sources), "x"), sources);
}

TEST(PreparedMetadata, EveryLayoutTagOfFormat1IsKnown) {
  EXPECT_THAT(
      AllLayoutTags(),
      testing::UnorderedElementsAre("plain", "gfx942/dense", "gfx942/dense_chunk_q", "gfx942/dense_codes",
                  "gfx942/fp4_lane_major", "gfx942/fp4_tile_major", "gfx942/codes_tile_rounds",
                  "gfx942/row_codes", "aiter/shuffle_weight_16x16", "aiter/e8m0_shuffle",
                  "flashmla/q_fused", "flashmla/o_fused", "flashmla/o_fused_chunk"));
}

}  // namespace
}  // namespace lanewise
