// What prepare and restore refuse: the message says what is wrong, and nothing is left behind.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

using tools::CheckpointMaker;

class RefusalsTest : public testing::Test {
 protected:
  // Runs and expects exit status 1, the words in the message, and an unchanged directory.
  void ExpectRefused(const std::vector<std::string>& arguments,
                     const std::vector<std::string>& words) {
    const std::vector<std::string> before = Tree(directory_.path());
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 1) << Text(ran);
    for (const std::string& word : words) {
      EXPECT_NE(ran.err.find(word), std::string::npos) << "no \"" << word << "\" in\n" << Text(ran);
    }
    EXPECT_EQ(ran.err.rfind("lanewise " + arguments[0] + ": ", 0), 0u) << Text(ran);
    EXPECT_EQ(Tree(directory_.path()), before) << Text(ran);
  }

  void Write(const CheckpointMaker& maker) const {
    const absl::Status status = maker.Write(in_);
    ASSERT_TRUE(status.ok()) << status;
  }

  std::vector<std::string> Prepare(const std::string& target) const {
    return {"prepare", in_, out_, "--target", target};
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model.safetensors");
  const std::string out_ = directory_.File("prepared.safetensors");
};

TEST_F(RefusalsTest, PreparedFilePreparedAgain) {
  Write(FamilyNamed("generic_mxfp8_blocks").make());
  ASSERT_EQ(RunLanewise(Prepare("gfx942")).status, 0);
  ExpectRefused({"prepare", out_, directory_.File("twice"), "--target", "gfx942"},
                {"is prepared already", out_});
  ExpectRefused({"restore", in_, directory_.File("back")}, {in_});
  ExpectRefused({"verify", in_}, {in_});
}

// Before anything is said of shapes, which are a layout's.
TEST_F(RefusalsTest, PreparedFileIsNoSourceOfElements) {
  Write(FamilyNamed("gpt_oss").make());
  ASSERT_EQ(RunLanewise(Prepare("gfx942")).status, 0);
  for (const char* command : {"quantize", "dequantize"}) {
    ExpectRefused({command, out_, directory_.File("twice")},
                  {"is a prepared file: restore it first", out_});
  }
}

TEST_F(RefusalsTest, NanBytesForGfx942) {
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
  maker.tensors()[2].bytes[128 * 33 + 77] = 0xFF;  // net.k128.q_proj.weight[33, 77]
  Write(maker);
  ExpectRefused(Prepare("gfx942"),
                {"net.k128.q_proj.weight", "0xFF", "row 33", "column 77", "NaN"});
  // Where bytes stay as they are, a NaN is one.
  EXPECT_EQ(RunLanewise(Prepare("gfx950")).status, 0);
}

TEST_F(RefusalsTest, LargeCodesForGfx942) {
  for (const int code : {250, 255}) {
    SCOPED_TRACE(code);
    CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
    maker.tensors()[5].bytes[6 + 2] = static_cast<std::uint8_t>(code);  // k192's scales [1, 2]
    Write(maker);
    ExpectRefused(Prepare("gfx942"), {"net.k192.q_proj.weight_scale_inv", std::to_string(code),
                                      "row 1", "column 2", "250"});
  }
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
  maker.tensors()[5].bytes[6 + 2] = 249;
  Write(maker);
  const Ran ran = RunLanewise(Prepare("gfx942"));
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

TEST_F(RefusalsTest, LargeCodesOfExpertsForGfx942) {
  CheckpointMaker maker = FamilyNamed("gpt_oss").make();
  maker.tensors()[2].bytes[7] = 250;
  Write(maker);
  ExpectRefused(Prepare("gfx942"), {"model.layers.0.mlp.experts.gate_up_proj_scales", "250"});
}

TEST_F(RefusalsTest, RowCodesThatDoNotFoldForGfx942) {
  Write(FamilyNamed("generic_mxfp8_rows").make());
  ExpectRefused(Prepare("gfx942"), {"net.k96.q_proj", "are not 32 x 32 blocks"});
}

// A value between those that e4m3 has under its code.
TEST_F(RefusalsTest, Bf16ThatWasNotDequantized) {
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_dequantized").make();
  std::vector<std::uint8_t>& bytes = maker.tensors()[1].bytes;
  bytes[2 * 5] = 0x81;  // 1.0078125 x 2^..: eight bits of mantissa, e4m3 has four
  bytes[2 * 5 + 1] = 0x3F;
  Write(maker);
  ExpectRefused(Prepare("gfx942"),
                {"net.a.q_proj.weight", "1 of 10240 values are not e4m3 x scale"});
}

TEST_F(RefusalsTest, MissingScales) {
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
  maker.tensors().erase(maker.tensors().begin() + 3);
  Write(maker);
  ExpectRefused(Prepare("gfx942"), {"net.k128.q_proj.weight"});
  std::vector<std::string> passing = Prepare("gfx942");
  passing.push_back("--pass-through");
  const Ran ran = RunLanewise(passing);
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("1 passed through unprepared"), std::string::npos) << Text(ran);
  const Ran verified = RunLanewise({"verify", out_, "--against", in_});
  EXPECT_EQ(verified.status, 0) << Text(verified);
}

TEST_F(RefusalsTest, ExistingOutput) {
  Write(FamilyNamed("generic_mxfp8_blocks").make());
  directory_.Write("prepared.safetensors", "precious");
  ExpectRefused(Prepare("gfx942"), {out_, "exists", "--overwrite"});
  EXPECT_EQ(ReadAll(out_), "precious");
  std::vector<std::string> overwriting = Prepare("gfx942");
  overwriting.push_back("--overwrite");
  EXPECT_EQ(RunLanewise(overwriting).status, 0);
  EXPECT_EQ(RunLanewise({"verify", out_, "--against", in_}).status, 0);

  const std::string back = directory_.Write("back.safetensors", "precious too");
  ExpectRefused({"restore", out_, back}, {back, "exists", "--overwrite"});
  EXPECT_EQ(ReadAll(back), "precious too");
}

TEST_F(RefusalsTest, OutputOverTheInput) {
  Write(FamilyNamed("generic_mxfp8_blocks").make());
  const std::string source = ReadAll(in_);
  ExpectRefused({"prepare", in_, in_, "--target", "gfx942", "--overwrite"}, {in_});
  // The same file by another name.
  std::filesystem::create_symlink(in_, directory_.File("link.safetensors"));
  ExpectRefused(
      {"prepare", in_, directory_.File("./link.safetensors"), "--target", "gfx942", "--overwrite"},
      {"link.safetensors"});
  EXPECT_TRUE(ReadAll(in_) == source);
}

TEST_F(RefusalsTest, OutputInsideTheInput) {
  const std::string in = directory_.File("model");
  std::filesystem::create_directory(in);
  ASSERT_TRUE(FamilyNamed("generic_mxfp8_blocks").make().WriteSharded(in, 2).ok());
  for (const std::string& out : {in, in + "/prepared", in + "/a/../b"}) {
    ExpectRefused({"prepare", in, out, "--target", "gfx942", "--overwrite"}, {out});
  }
  // A neighbour whose name only begins alike.
  const Ran ran = RunLanewise({"prepare", in, in + "-gfx942", "--target", "gfx942"});
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

TEST_F(RefusalsTest, DirectoryThatHoldsAnotherCheckpoint) {
  const std::string in = directory_.File("model");
  std::filesystem::create_directory(in);
  ASSERT_TRUE(FamilyNamed("generic_mxfp8_blocks").make().WriteSharded(in, 2).ok());
  directory_.Write("out/other.safetensors", "x");
  ExpectRefused({"prepare", in, directory_.File("out"), "--target", "gfx942"},
                {"other.safetensors"});
}

TEST_F(RefusalsTest, DryRunWritesNothing) {
  Write(FamilyNamed("deepseek_v4").make());
  const std::vector<std::string> before = Tree(directory_.path());
  std::vector<std::string> dry = Prepare("gfx942");
  dry.push_back("--dry-run");
  const Ran ran = RunLanewise(dry);
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_EQ(Tree(directory_.path()), before);
  for (const char* expected :
       {"would write", "gfx942/fp4_tile_major", "layers.0.ffn.experts.w13"}) {
    EXPECT_NE(ran.out.find(expected), std::string::npos) << expected << "\n" << Text(ran);
  }
}

// Files whose bytes are not what they say.
struct Damage {
  const char* name;
  std::function<std::string(std::string)> of;
  const char* word;  // in the message
};

std::string WithHeader(const std::string& header, const std::string& data) {
  return RawSafetensors(header, data);
}

const Damage kDamages[] = {
    {"empty", [](std::string) { return std::string(); }, ""},
    {"last byte missing", [](std::string file) { return file.substr(0, file.size() - 1); }, ""},
    {"half missing", [](std::string file) { return file.substr(0, file.size() / 2); }, ""},
    {"header missing", [](std::string file) { return file.substr(0, 100); }, ""},
    {"one byte more", [](std::string file) { return file + "x"; }, ""},
    {"header length of 2^63", [](std::string file) { return file.replace(7, 1, "\x80"); }, ""},
    {"overlap",
     [](std::string) {
       return WithHeader(R"({"a.weight":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
                         R"("b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
                         std::string(12, 'x'));
     },
     "b"},
    {"hole",
     [](std::string) {
       return WithHeader(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("b":{"dtype":"U8","shape":[4],"data_offsets":[8,12]}})",
                         std::string(12, 'x'));
     },
     "b"},
    {"lying shape",
     [](std::string) {
       return WithHeader(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}})",
                         std::string(12, 'x'));
     },
     "a"},
    {"overflowing shape",
     [](std::string) {
       return WithHeader(
           R"({"a":{"dtype":"U8","shape":[4294967296,4294967296,16],"data_offsets":[0,12]}})",
           std::string(12, 'x'));
     },
     "a"},
    {"name twice",
     [](std::string) {
       return WithHeader(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                         R"("a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
                         std::string(8, 'x'));
     },
     "a"},
    {"unknown dtype",
     [](std::string) {
       return WithHeader(R"({"a":{"dtype":"F7","shape":[4],"data_offsets":[0,4]}})",
                         std::string(4, 'x'));
     },
     "F7"},
    {"no JSON", [](std::string) { return WithHeader("{\"a\":", "x"); }, ""},
    {"deep JSON",
     [](std::string) { return WithHeader("{\"a\":" + std::string(1 << 20, '['), "x"); }, ""},
};

TEST_F(RefusalsTest, DamagedSources) {
  Write(FamilyNamed("generic_mxfp8_blocks").make());
  const std::string whole = ReadAll(in_);
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.name);
    directory_.Write("model.safetensors", damage.of(whole));
    ExpectRefused(Prepare("gfx942"), {in_, damage.word});
    ExpectRefused({"inspect", in_}, {in_, damage.word});
    ExpectRefused({"verify", in_}, {in_, damage.word});
    ExpectRefused({"restore", in_, directory_.File("back")}, {in_, damage.word});
  }
}

// Any one byte of a prepared file changed: nothing crashes, and whatever the change hits, no wrong
// checkpoint is restored.
TEST_F(RefusalsTest, DamagedPreparedFile) {
  Write(FamilyNamed("generic_mxfp8_folding_rows").make());
  std::vector<std::string> prepare = Prepare("gfx942");
  prepare.push_back("--lossless");
  ASSERT_EQ(RunLanewise(prepare).status, 0);
  const std::string whole = ReadAll(out_);
  const std::string back = directory_.File("back.safetensors");
  // Every 97th byte, header and data.
  for (std::size_t at = 0; at < whole.size(); at += 997) {
    SCOPED_TRACE(at);
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    directory_.Write("prepared.safetensors", damaged);
    const Ran verified = RunLanewise({"verify", out_});
    EXPECT_EQ(verified.status, 1) << Text(verified);
    ExpectRefused({"restore", out_, back}, {});
  }
}

TEST_F(RefusalsTest, MissingInput) {
  ExpectRefused(Prepare("gfx942"), {in_});
  ExpectRefused({"inspect", in_}, {in_});
  ExpectRefused({"prepare", directory_.path(), out_, "--target", "gfx942"}, {directory_.path()});
}

}  // namespace
}  // namespace lanewise
