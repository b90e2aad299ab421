// verify: what it finds, and how it says it.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/files/test_files.h"
#include "checkpoint/safetensors/safetensors.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"
#include "tests/tools/forge.h"

namespace lanewise {
namespace {

using tools::CheckpointMaker;

class VerifyTest : public testing::Test {
 protected:
  void Make(const CheckpointMaker& maker, const std::string& target, bool lossless = true) const {
    ASSERT_TRUE(maker.Write(in_).ok());
    std::vector<std::string> arguments = {"prepare", in_, out_, "--target", target, "--overwrite"};
    if (lossless) arguments.push_back("--lossless");
    const Ran ran = RunLanewise(arguments);
    ASSERT_EQ(ran.status, 0) << Text(ran);
  }

  void ExpectFound(const Ran& ran, const std::vector<std::string>& words) const {
    EXPECT_EQ(ran.status, 1) << Text(ran);
    for (const std::string& word : words) {
      EXPECT_NE(ran.err.find(word), std::string::npos) << "no \"" << word << "\" in\n" << Text(ran);
    }
  }

  Ran Against() const { return RunLanewise({"verify", out_, "--against", in_}); }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model.safetensors");
  const std::string out_ = directory_.File("prepared.safetensors");
};

TEST_F(VerifyTest, TableOfLayouts) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  const Ran ran = Against();
  ASSERT_EQ(ran.status, 0) << Text(ran);
  for (const char* layout : {"gfx942/dense ", "gfx942/dense_codes", "gfx942/fp4_tile_major",
                             "gfx942/codes_tile_rounds", "gfx942/row_codes", "plain"}) {
    EXPECT_NE(ran.out.find(layout), std::string::npos) << layout << "\n" << Text(ran);
  }
}

// What belongs to a directory of files beside the files.
TEST_F(VerifyTest, IndexAndFilesBesideIt) {
  const std::string in = directory_.File("model"), out = directory_.File("out");
  std::filesystem::create_directory(in);
  ASSERT_TRUE(DividingDeepseek().WriteSharded(in, 3).ok());
  ASSERT_EQ(RunLanewise({"prepare", in, out, "--target", "gfx942"}).status, 0);
  ASSERT_EQ(RunLanewise({"verify", out}).status, 0);
  const std::string index = out + "/model.safetensors.index.json";
  const std::string text = ReadAll(index);
  const std::string key = "\"total_size\": ";
  std::string wrong = text;
  wrong.insert(wrong.find(key) + key.size(), "1");
  ASSERT_NE(wrong.find(key), std::string::npos);
  directory_.Write("out/model.safetensors.index.json", wrong);
  ExpectFound(RunLanewise({"verify", out}), {"total_size"});
  directory_.Write("out/model.safetensors.index.json", text);
  std::filesystem::copy(out + "/model-00001-of-00003.safetensors", out + "/other.safetensors");
  ExpectFound(RunLanewise({"verify", out}), {"other.safetensors"});
  std::filesystem::remove(out + "/other.safetensors");
  std::filesystem::remove(index);
  ExpectFound(RunLanewise({"verify", out}), {"has no model.safetensors.index.json"});
}

// Of a directory with ranks, files beside them would be looked at by nobody.
TEST_F(VerifyTest, FilesBesideRanks) {
  const std::string in = directory_.File("model"), out = directory_.File("out");
  std::filesystem::create_directory(in);
  ASSERT_TRUE(DividingDeepseek().WriteSharded(in, 3).ok());
  ASSERT_EQ(RunLanewise({"prepare", in, out, "--target", "gfx942", "--tp", "2"}).status, 0);
  ASSERT_EQ(RunLanewise({"verify", out}).status, 0);
  directory_.Write("out/stray.safetensors", "junk");
  ExpectFound(RunLanewise({"verify", out}), {"stray.safetensors beside its ranks"});
}

// A flipped bit anywhere in any tensor's bytes.
TEST_F(VerifyTest, FlippedBit) {
  Make(FamilyNamed("generic_mxfp4").make(), "gfx942");
  const std::string whole = ReadAll(out_);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(out_);
  ASSERT_TRUE(file.ok());
  for (const TensorInfo& tensor : file->tensors()) {
    if (tensor.byte_count() == 0) continue;
    std::string damaged = whole;
    damaged[file->data_begin() + tensor.begin + tensor.byte_count() / 2] ^= 1;
    const std::string path = directory_.Write("damaged.safetensors", damaged);
    ExpectFound(RunLanewise({"verify", path}), {tensor.name, "1 problem"});
  }
}

// The digests are right, and the bytes are another checkpoint's.
TEST_F(VerifyTest, ChangedSourceOfLinear) {
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
  Make(maker, "gfx942");
  // net.k128.q_proj.weight[3, 77]: by the seed's formula, tile 0, step 0, half 1, group 1, byte 5,
  // at 1024 + 256 + 16 * 3 + 5.
  std::uint8_t& byte = maker.tensors()[2].bytes[128 * 3 + 77];
  byte = byte == 0x11 ? 0x12 : 0x11;
  ASSERT_TRUE(maker.Write(in_).ok());
  ExpectFound(Against(), {"net.k128.q_proj.weight: byte 1333 ",
                          "tile=0 step=0 half=1 group=1 r=3 block=0 byte=5", "row 3, k 77",
                          "1 of 12288 bytes differ", "is not the file that was prepared"});
}

TEST_F(VerifyTest, ChangedSourceOfEachKind) {
  const struct {
    const char* family;
    const char* target;
    const char* tensor;    // to change
    const char* reported;  // prepared
  } kCases[] = {
      {"gpt_oss", "gfx942", "model.layers.1.mlp.experts.down_proj_blocks",
       "model.layers.1.mlp.experts.down_proj_blocks: byte"},
      {"gpt_oss", "gfx950", "model.layers.1.mlp.experts.gate_up_proj_scales",
       "model.layers.1.mlp.experts.gate_up_proj_scales: byte"},
      {"deepseek_v4", "gfx942", "layers.0.ffn.experts.10.w3.weight",
       "layers.0.ffn.experts.w13.weight: byte"},
      {"deepseek_v4", "gfx950", "layers.0.ffn.experts.10.w2.scale",
       "layers.0.ffn.experts.w2.scale: byte"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wq_b.scale", "layers.0.attn.wq_b.scale: byte"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wo_a.weight", "layers.0.attn.wo_a.weight: byte"},
      {"deepseek_v4", "flashmla", "layers.0.attn_norm.weight", "layers.0.attn_norm.weight: byte"},
      {"minimax_m3", "gfx950", "model.layers.0.self_attn.q_proj.weight",
       "lanewise.original/model.layers.0.self_attn.q_proj.weight: byte"},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.tensor);
    CheckpointMaker maker = FamilyNamed(one.family).make();
    Make(maker, one.target);
    for (CheckpointMaker::Tensor& tensor : maker.tensors()) {
      // 0x01 in place of any other; of codes a change by one.
      if (tensor.spec.name != one.tensor) continue;
      std::uint8_t& byte = tensor.bytes[tensor.bytes.size() / 2];
      byte = static_cast<std::uint8_t>(byte ^ 1);
    }
    ASSERT_TRUE(maker.Write(in_).ok());
    ExpectFound(Against(), {one.reported, "expected 0x"});
  }
}

// A sign of zero that gfx942 drops: the prepared weight is the same, what --lossless stores is not.
TEST_F(VerifyTest, ChangedSignOfZero) {
  for (const bool lossless : {true, false}) {
    CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
    maker.tensors()[0].bytes[40] = 0x80;
    Make(maker, "gfx942", lossless);
    maker.tensors()[0].bytes[40] = 0x00;
    ASSERT_TRUE(maker.Write(in_).ok());
    const Ran ran = Against();
    ExpectFound(ran, {"negative_zeros", "is not the file that was prepared"});
    EXPECT_EQ(ran.err.find("lanewise.zero_signs/net.k32.q_proj.weight: byte") != std::string::npos,
              lossless)
        << Text(ran);
  }
}

TEST_F(VerifyTest, TensorsAddedAndLost) {
  CheckpointMaker maker = FamilyNamed("generic_mxfp8_blocks").make();
  Make(maker, "gfx950");
  CheckpointMaker more = FamilyNamed("generic_mxfp8_blocks").make();
  more.AddBf16("net.late.weight", {4});
  ASSERT_TRUE(more.Write(in_).ok());
  ExpectFound(Against(), {"net.late.weight is missing",
                          "net.late.weight of the source is in no prepared tensor"});
  maker.tensors().erase(maker.tensors().begin() + 6);  // net.norm.weight
  ASSERT_TRUE(maker.Write(in_).ok());
  ExpectFound(Against(), {"net.norm.weight is in the prepared checkpoint, and nothing"});
}

// Files whose digests are right and whose bytes are wrong.
class ForgedTest : public VerifyTest {
 protected:
  // Changes one tensor.
  void ForgeTensor(const std::string& name, const std::function<void(ForgedTensor&)>& change) {
    bool found = false;
    const absl::Status status = Forge(out_, forged_, [&](ForgedTensor& tensor) {
      if (tensor.plan.stored.name != name) return;
      found = true;
      change(tensor);
    });
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(found) << name;
  }

  Ran Alone() const { return RunLanewise({"verify", forged_}); }
  Ran AgainstSource() const { return RunLanewise({"verify", forged_, "--against", in_}); }

  const std::string forged_ = directory_.File("forged.safetensors");
};

TEST_F(ForgedTest, UnchangedIsRight) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  ASSERT_TRUE(Forge(out_, forged_, [](ForgedTensor&) {}).ok());
  const Ran ran = AgainstSource();
  EXPECT_EQ(ran.status, 0) << Text(ran);
}

// Seen without the source.
TEST_F(ForgedTest, BytesThatTheLayoutNeverHolds) {
  const struct {
    const char* family;
    const char* tensor;
    std::size_t byte;
    std::uint8_t value;
    const char* why;
  } kCases[] = {
      {"deepseek_v4", "layers.0.attn.wq_a.weight", 700, 0x80, "byte 700 is 0x80: the FNUZ NaN"},
      {"deepseek_v4", "layers.0.attn.wq_a.scale", 3, 0, "byte 3 is 0x00: expected a raised code"},
      {"deepseek_v4", "layers.0.attn.wq_a.scale", 3, 251, "byte 3 is 0xFB"},
      {"deepseek_v4", "layers.0.ffn.experts.w13.weight", 5, 0x18, "byte 5 is 0x18: a -0 nibble"},
      {"deepseek_v4", "layers.0.ffn.experts.w2.weight", 5, 0x81, "byte 5 is 0x81: a -0 nibble"},
      {"deepseek_v4", "layers.0.ffn.experts.w13.scale", 9, 250, "byte 9 is 0xFA"},
      {"deepseek_v4", "layers.0.ffn.experts.w2.scale", 9, 255, "byte 9 is 0xFF"},
  };
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.why);
    ForgeTensor(one.tensor, [&](ForgedTensor& tensor) { tensor.bytes[one.byte] = one.value; });
    ExpectFound(Alone(), {one.tensor, one.why, "1 problem"});
  }
}

TEST_F(ForgedTest, SizesThatDoNotBelongToTheShape) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  ForgeTensor("layers.0.attn.wq_a.weight",
              [](ForgedTensor& tensor) { tensor.plan.what.shape = {64, 288}; });
  EXPECT_EQ(Alone().status, 0) << "288 pads to 384 as 320 does";
  ForgeTensor("layers.0.attn.wq_a.weight",
              [](ForgedTensor& tensor) { tensor.plan.what.shape = {64, 512}; });
  ExpectFound(Alone(), {"layers.0.attn.wq_a.weight", "padded_k = 384 is less than"});
  ForgeTensor("layers.0.ffn.experts.w13.weight",
              [](ForgedTensor& tensor) { tensor.plan.what.shape = {12, 384, 320}; });
  ExpectFound(Alone(), {"layers.0.ffn.experts.w13.weight", "bytes, expected"});
}

// Wrong in a way that only the source and the reference tell: a byte beside its place.
TEST_F(ForgedTest, SwappedBytes) {
  const struct {
    const char* family;
    const char* target;
    const char* tensor;
  } kCases[] = {
      {"deepseek_v4", "gfx942", "layers.0.attn.wkv.weight"},
      {"deepseek_v4", "gfx942", "layers.0.attn.wkv.scale"},
      {"deepseek_v4", "gfx942", "layers.0.ffn.experts.w13.weight"},
      {"deepseek_v4", "gfx942", "layers.0.ffn.experts.w13.scale"},
      {"deepseek_v4", "gfx942", "layers.0.ffn.experts.w2.weight"},
      {"deepseek_v4", "gfx942", "layers.0.ffn.experts.w2.scale"},
      {"deepseek_v4", "gfx942", "lanewise.zero_signs/layers.0.ffn.experts.w2.weight"},
      {"deepseek_v4", "gfx950", "layers.0.attn.wkv.weight"},
      {"deepseek_v4", "gfx950", "layers.0.ffn.experts.w13.weight"},
      {"deepseek_v4", "gfx950", "layers.0.ffn.experts.w2.scale"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wq_b.weight"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wq_b.scale"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wo_a.weight"},
      {"deepseek_v4", "flashmla", "layers.0.attn.wo_a.scale"},
      {"deepseek_v4", "flashmla", "layers.0.ffn.experts.3.w1.weight"},
      {"minimax_m3", "gfx950", "model.layers.0.self_attn.q_proj.weight"},
      {"minimax_m3", "gfx950", "lanewise.original/model.layers.0.self_attn.q_proj.weight"},
  };
  std::string made;
  for (const auto& one : kCases) {
    SCOPED_TRACE(std::string(one.target) + " " + one.tensor);
    if (made != std::string(one.family) + one.target) {
      Make(FamilyNamed(one.family).make(), one.target);
      made = std::string(one.family) + one.target;
    }
    ForgeTensor(one.tensor, [](ForgedTensor& tensor) {
      // The first two neighbours that differ.
      for (std::size_t i = tensor.bytes.size() / 3; i + 1 < tensor.bytes.size(); ++i) {
        if (tensor.bytes[i] == tensor.bytes[i + 1]) continue;
        std::swap(tensor.bytes[i], tensor.bytes[i + 1]);
        return;
      }
    });
    EXPECT_EQ(Alone().status, 0);
    ExpectFound(AgainstSource(), {std::string(one.tensor) + ": byte ", "2 of ", "1 problem"});
  }
}

TEST_F(ForgedTest, AnotherLayoutOrDescription) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  const std::string name = "layers.0.attn.wq_a.weight";
  ForgeTensor(name, [](ForgedTensor& tensor) { tensor.plan.what.layout = "gfx942/dense_chunk_q"; });
  EXPECT_EQ(Alone().status, 0);
  ExpectFound(AgainstSource(),
              {name + " has the layout gfx942/dense_chunk_q, expected gfx942/dense"});
  ForgeTensor(name, [](ForgedTensor& tensor) { tensor.plan.what.shape = {64, 288}; });
  ExpectFound(AgainstSource(), {name + ": its description is", "[64,288]", "[64,320]"});
  ForgeTensor(name, [](ForgedTensor& tensor) { tensor.plan.what.params["padded_k"] = 512L; });
  EXPECT_EQ(Alone().status, 1);
  ExpectFound(AgainstSource(), {name, "padded_k"});
}

TEST_F(ForgedTest, TensorsLeftOut) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  for (const std::string name : {"layers.0.attn_norm.weight", "layers.0.attn.wq_a.scale",
                                 "lanewise.zero_signs/layers.0.attn.wq_a.weight"}) {
    ForgeTensor(name, [](ForgedTensor& tensor) { tensor.drop = true; });
    EXPECT_EQ(Alone().status, 0) << name;
    ExpectFound(AgainstSource(), {name + " is missing"});
  }
}

}  // namespace
}  // namespace lanewise
