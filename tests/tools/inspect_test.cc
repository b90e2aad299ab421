// inspect, against counts taken from the bytes that were written.

#include <algorithm>
#include <cstdint>
#include <string>

#include "checkpoint/files/test_files.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/tools/command.h"
#include "tests/tools/families.h"

namespace lanewise {
namespace {

using nlohmann::json;
using tools::CheckpointMaker;

json TensorNamed(const json& inspection, const std::string& name) {
  for (const json& tensor : inspection["tensors"]) {
    if (tensor["name"] == name) return tensor;
  }
  return nullptr;
}

class InspectTest : public testing::Test {
 protected:
  json Inspect(const std::string& path, bool values = true) const {
    std::vector<std::string> arguments = {"inspect", path, "--json"};
    if (!values) arguments.push_back("--no-values");
    const Ran ran = RunLanewise(arguments);
    EXPECT_EQ(ran.status, 0) << Text(ran);
    return json::parse(ran.out, nullptr, false);
  }

  const TestDirectory directory_;
  const std::string in_ = directory_.File("model.safetensors");
};

TEST_F(InspectTest, Source) {
  CheckpointMaker maker = FamilyNamed("deepseek_v4").make();
  std::vector<CheckpointMaker::Tensor>& tensors = maker.tensors();
  tensors[0].bytes[3] = 0x7F;
  tensors[0].bytes[5] = 0xFF;
  tensors[1].bytes = std::vector<std::uint8_t>(tensors[1].bytes.size(), 130);
  tensors[1].bytes[1] = 90;
  tensors[1].bytes[2] = 255;
  ASSERT_TRUE(maker.Write(in_).ok());
  const json inspection = Inspect(in_);
  EXPECT_EQ(inspection["recipe"], "deepseek-v4");
  EXPECT_FALSE(inspection.contains("target"));
  EXPECT_EQ(inspection["tensors"].size(), tensors.size());
  for (const CheckpointMaker::Tensor& made : tensors) {
    const json found = TensorNamed(inspection, made.spec.name);
    ASSERT_TRUE(found.is_object()) << made.spec.name;
    EXPECT_EQ(found["dtype"], DTypeName(made.spec.dtype));
    EXPECT_EQ(found["shape"], json(made.spec.shape));
    EXPECT_EQ(found["bytes"], made.bytes.size());
  }
  const json e4m3 = TensorNamed(inspection, tensors[0].spec.name);
  EXPECT_EQ(e4m3["elements"], "F8_E4M3");
  EXPECT_EQ(e4m3["counts"]["nan"], 2);
  EXPECT_EQ(e4m3["counts"]["negative_zero"],
            std::count(tensors[0].bytes.begin(), tensors[0].bytes.end(), 0x80));
  const json codes = TensorNamed(inspection, tensors[1].spec.name)["counts"]["codes"];
  EXPECT_EQ(codes, (json{{"min", 90}, {"max", 130}, {"nan", 1}}));
  // I8 nibbles: the recipe knows what they are.
  for (const CheckpointMaker::Tensor& made : tensors) {
    if (made.spec.dtype != DType::kI8) continue;
    std::int64_t negative_zeros = 0;
    for (const std::uint8_t byte : made.bytes) {
      negative_zeros += ((byte & 15) == 8) + (byte >> 4 == 8);
    }
    const json found = TensorNamed(inspection, made.spec.name);
    EXPECT_EQ(found["elements"], "F4") << made.spec.name;
    EXPECT_EQ(found["counts"]["negative_zero"], negative_zeros) << made.spec.name;
  }
}

// U8 scales, which no dtype tells.
TEST_F(InspectTest, U8Codes) {
  ASSERT_TRUE(FamilyNamed("gpt_oss").make().Write(in_).ok());
  const json inspection = Inspect(in_);
  const json codes = TensorNamed(inspection, "model.layers.0.mlp.experts.down_proj_scales");
  EXPECT_EQ(codes["dtype"], "U8");
  EXPECT_EQ(codes["elements"], "F8_E8M0");
  EXPECT_GE(codes["counts"]["codes"]["min"], 110);
  EXPECT_LE(codes["counts"]["codes"]["max"], 140);
  EXPECT_EQ(TensorNamed(inspection, "model.layers.0.mlp.experts.down_proj_blocks")["elements"],
            "F4");
}

TEST_F(InspectTest, Prepared) {
  ASSERT_TRUE(FamilyNamed("deepseek_v4").make().Write(in_).ok());
  const std::string out = directory_.File("prepared.safetensors");
  ASSERT_EQ(RunLanewise({"prepare", in_, out, "--target", "gfx942"}).status, 0);
  const json inspection = Inspect(out);
  EXPECT_EQ(inspection["target"], "gfx942");
  EXPECT_EQ(inspection["sources"][0]["file"], "model.safetensors");
  const json w13 = TensorNamed(inspection, "layers.0.ffn.experts.w13.weight");
  ASSERT_TRUE(w13.is_object());
  EXPECT_EQ(w13["layout"], "gfx942/fp4_tile_major");
  EXPECT_EQ(w13["logical"], (json{{"dtype", "F4"}, {"shape", {11, 384, 320}}}));
  EXPECT_EQ(w13["shape"], (json{11, 384, 256}));
  EXPECT_EQ(w13["counts"]["negative_zero"], 0) << "the layout holds none";
  EXPECT_GT(w13["params"]["negative_zeros"], 0);
  const json dense = TensorNamed(inspection, "layers.0.attn.wq_a.weight");
  EXPECT_EQ(dense["elements"], "F8_E4M3FNUZ");
  EXPECT_EQ(dense["counts"]["nan"], 0);
}

TEST_F(InspectTest, NoValuesReadsHeadersAlone) {
  ASSERT_TRUE(FamilyNamed("gpt_oss").make().Write(in_).ok());
  for (const json& tensor : Inspect(in_, false)["tensors"]) {
    EXPECT_FALSE(tensor.contains("counts")) << tensor;
  }
}

// Escape sequences in a name are shown, not sent to the terminal.
TEST_F(InspectTest, NamesThatActOnATerminal) {
  directory_.Write("model.safetensors",
                   RawSafetensors("{\"a\\u001b[2J\\u009b1m\":{\"dtype\":\"U8\",\"shape\":[1],"
                                  "\"data_offsets\":[0,1]}}",
                                  "x"));
  const Ran ran = RunLanewise({"inspect", in_});
  ASSERT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("a\\x1B[2J\\u009B1m"), std::string::npos) << Text(ran);
  EXPECT_EQ(ran.out.find('\x1b'), std::string::npos);
}

TEST_F(InspectTest, NoTensors) {
  directory_.Write("model.safetensors", RawSafetensors("{}", ""));
  const Ran ran = RunLanewise({"inspect", in_});
  EXPECT_EQ(ran.status, 0) << Text(ran);
  EXPECT_NE(ran.out.find("0 tensors"), std::string::npos) << Text(ran);
}

}  // namespace
}  // namespace lanewise
