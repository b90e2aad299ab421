// verify: what it finds, and how it says it.

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "checkpoint/test_files.h"
#include "gtest/gtest.h"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

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

// A flipped bit anywhere in any tensor's bytes.
TEST_F(VerifyTest, FlippedBit) {
  Make(FamilyNamed("deepseek_v4").make(), "gfx942");
  const std::string whole = ReadAll(out_);
  const absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(out_);
  ASSERT_TRUE(file.ok());
  for (const TensorInfo& tensor : file->tensors()) {
    if (tensor.byte_count() == 0) continue;
    std::string damaged = whole;
    damaged[file->data_begin() + tensor.begin + tensor.byte_count() / 2] ^= 1;
    const std::string path = directory_.Write("damaged.safetensors", damaged);
    ExpectFound(RunLanewise({"verify", path}), {tensor.name, "1 problem"});
    ExpectFound(RunLanewise({"verify", path, "--against", in_}), {tensor.name});
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

}  // namespace
}  // namespace lanewise
