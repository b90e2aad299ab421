#include "tests/tools/families.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace lanewise {
namespace {

using tools::CheckpointMaker;

constexpr std::int64_t kHidden = 320, kInter = 192, kExperts = 3;
constexpr DType kE8m0 = DType::kF8E8m0;

CheckpointMaker GptOssOf(std::int64_t hidden, std::int64_t inter) {
  CheckpointMaker maker(120);
  maker.metadata()["format"] = "pt";
  maker.AddBf16("model.embed_tokens.weight", {33, hidden});
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = absl::StrCat("model.layers.", layer, ".mlp.");
    const std::string experts = prefix + "experts.";
    maker.AddE2m1(experts + "gate_up_proj_blocks", DType::kU8,
                  {kExperts, 2 * inter, hidden / 32, 16});
    maker.AddCodes(experts + "gate_up_proj_scales", DType::kU8, {kExperts, 2 * inter, hidden / 32});
    maker.AddBf16(experts + "gate_up_proj_bias", {kExperts, 2 * inter});
    maker.AddE2m1(experts + "down_proj_blocks", DType::kU8, {kExperts, hidden, inter / 32, 16});
    maker.AddCodes(experts + "down_proj_scales", DType::kU8, {kExperts, hidden, inter / 32});
    maker.AddBf16(prefix + "router.weight", {kExperts, hidden});
  }
  return maker;
}

CheckpointMaker DeepseekOf(std::int64_t hidden, std::int64_t inter, std::int64_t heads,
                           std::int64_t rank) {
  CheckpointMaker maker(4);
  const auto linear = [&](const std::string& name, std::int64_t n, std::int64_t k) {
    maker.AddE4m3(name + ".weight", n, k);
    maker.AddCodes(name + ".scale", kE8m0, {n / 32, k / 32});
  };
  const std::string prefix = "layers.0.";
  linear(prefix + "attn.wq_a", rank, hidden);
  linear(prefix + "attn.wq_b", heads * 512, rank);
  linear(prefix + "attn.wkv", 64, hidden);
  linear(prefix + "attn.wo_a", rank, 8 * 64);
  linear(prefix + "attn.wo_b", hidden, rank);
  linear(prefix + "ffn.shared_experts.w1", inter, hidden);
  linear(prefix + "ffn.shared_experts.w2", hidden, inter);
  linear(prefix + "ffn.shared_experts.w3", inter, hidden);
  maker.AddBf16(prefix + "attn_norm.weight", {hidden});
  // Experts in the order of a sorted list of names, where 10 stands before 2.
  for (const int e : {0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9}) {
    const auto expert = [&](const char* name, std::int64_t n, std::int64_t k) {
      const std::string full = absl::StrCat(prefix, "ffn.experts.", e, ".", name);
      maker.AddE2m1(full + ".weight", DType::kI8, {n, k / 2});
      maker.AddCodes(full + ".scale", kE8m0, {n, k / 32});
    };
    expert("w1", inter, hidden);
    expert("w2", hidden, inter);
    expert("w3", inter, hidden);
  }
  return maker;
}

// MXFP8 everywhere, with codes a row: of whole blocks, or any.
CheckpointMaker MinimaxOf(bool folding) {
  CheckpointMaker maker(3);
  const auto linear = [&](const std::string& name, std::int64_t n, std::int64_t k) {
    maker.AddE4m3(name + ".weight", n, k);
    if (folding) {
      maker.AddFoldingRowCodes(name + ".weight_scale_inv", DType::kU8, n, k / 32);
    } else {
      maker.AddCodes(name + ".weight_scale_inv", DType::kU8, {n, k / 32});
    }
  };
  const std::string prefix = "model.layers.0.";
  maker.AddBf16(prefix + "input_layernorm.weight", {kHidden});
  linear(prefix + "self_attn.q_proj", 256,
         kHidden);  // K % 128 != 0: bf16 on gfx950 if it does not fold
  linear(prefix + "self_attn.o_proj", kHidden, 256);
  for (int e = 0; e < 2; ++e) {
    const std::string expert = absl::StrCat(prefix, "block_sparse_moe.experts.", e, ".");
    linear(expert + "w1", kInter, kHidden);
    linear(expert + "w2", kHidden, kInter);
    linear(expert + "w3", kInter, kHidden);
  }
  return maker;
}

// MXFP4 experts in tensors of their own, under the ends `weight` and `scale`.
void AddExperts(const std::string& prefix, const char* weight, const char* scale, DType dtype,
                DType code_dtype, CheckpointMaker* maker) {
  for (int e = 0; e < static_cast<int>(kExperts); ++e) {
    const auto expert = [&](const char* name, std::int64_t n, std::int64_t k) {
      const std::string full = absl::StrCat(prefix, e, ".", name);
      maker->AddE2m1(full + weight, dtype, {n, dtype == DType::kF4 ? k : k / 2});
      maker->AddCodes(full + scale, code_dtype, {n, k / 32});
    };
    expert("gate_proj", kInter, kHidden);
    expert("up_proj", kInter, kHidden);
    expert("down_proj", kHidden, kInter);
  }
}

CheckpointMaker Quark() {
  CheckpointMaker maker(5);
  AddExperts("model.layers.0.mlp.experts.", ".weight", ".weight_scale", DType::kU8, DType::kU8,
             &maker);
  maker.AddBf16("model.norm.weight", {kHidden});
  return maker;
}

CheckpointMaker CompressedTensors() {
  CheckpointMaker maker(6);
  AddExperts("model.layers.0.mlp.experts.", ".weight_packed", ".weight_scale", DType::kU8,
             DType::kU8, &maker);
  maker.AddBf16("model.norm.weight", {kHidden});
  return maker;
}

CheckpointMaker GenericFp4() {
  CheckpointMaker maker(7);
  AddExperts("blocks.0.experts.", ".weight", ".scale", DType::kF4, kE8m0, &maker);
  maker.AddE4m3("blocks.0.q_proj.weight", 64, 96);
  maker.AddCodes("blocks.0.q_proj.scale", kE8m0, {2, 3});
  return maker;
}

// Block codes; K of one block, of a whole K step, and of one and a half.
CheckpointMaker GenericFp8Blocks() {
  CheckpointMaker maker(8);
  for (const std::int64_t k : {32, 128, 192}) {
    const std::string name = absl::StrCat("net.k", k, ".q_proj");
    maker.AddE4m3(name + ".weight", 96, k);
    maker.AddCodes(name + ".weight_scale_inv", kE8m0, {3, k / 32});
  }
  maker.AddBf16("net.norm.weight", {32});
  maker.Add("net.step", DType::kI64, {}, {1, 2, 3, 4, 5, 6, 7, 8});
  maker.Add("net.empty", DType::kF32, {0, 4}, {});
  return maker;
}

CheckpointMaker GenericFp8Rows() {
  CheckpointMaker maker(9);
  for (const std::int64_t k : {96, 256}) {
    const std::string name = absl::StrCat("net.k", k, ".q_proj");
    maker.AddE4m3(name + ".weight", 96, k);
    maker.AddCodes(name + ".weight_scale", DType::kU8, {96, k / 32});
  }
  return maker;
}

CheckpointMaker GenericFp8FoldingRows() {
  CheckpointMaker maker(10);
  maker.AddE4m3("net.q_proj.weight", 96, 160);
  maker.AddFoldingRowCodes("net.q_proj.weight_scale", DType::kU8, 96, 5);
  return maker;
}

// BF16 that a loader dequantized, with block codes and with codes a row.
CheckpointMaker GenericFp8Dequantized() {
  CheckpointMaker maker(11);
  maker.AddCodes("net.a.q_proj.weight_scale_inv", kE8m0, {2, 5});
  maker.AddDequantized("net.a.q_proj.weight", 64, 160);
  maker.AddFoldingRowCodes("net.b.q_proj.weight_scale_inv", DType::kU8, 64, 4);
  maker.AddDequantized("net.b.q_proj.weight", 64, 128);
  return maker;
}

// One code for 128 x 128.
CheckpointMaker GenericFp8LargeBlocks() {
  CheckpointMaker maker(12);
  maker.AddE4m3("net.q_proj.weight", 384, 320);
  maker.AddCodes("net.q_proj.weight_scale_inv", kE8m0, {3, 3});
  return maker;
}

}  // namespace

const std::vector<Family>& Families() {
  const std::vector<std::string> all = {"gfx942", "gfx950", "flashmla"};
  const std::vector<std::string> no_gfx942 = {"gfx950", "flashmla"};
  static const std::vector<Family> families = {
      {"gpt_oss", "gpt-oss", all, [] { return GptOssOf(kHidden, kInter); }},
      {"deepseek_v4", "deepseek-v4", all, [] { return DeepseekOf(kHidden, kInter, 2, 64); }},
      {"minimax_m3", "minimax-m3", no_gfx942, [] { return MinimaxOf(false); }},
      {"minimax_m3_folding", "minimax-m3", all, [] { return MinimaxOf(true); }},
      {"quark", "quark-mxfp4", all, Quark},
      {"compressed_tensors", "compressed-tensors-mxfp4", all, CompressedTensors},
      {"generic_mxfp4", "generic-mxfp4", all, GenericFp4},
      {"generic_mxfp8_blocks", "generic-mxfp8", all, GenericFp8Blocks},
      {"generic_mxfp8_rows", "generic-mxfp8", no_gfx942, GenericFp8Rows},
      {"generic_mxfp8_folding_rows", "generic-mxfp8", all, GenericFp8FoldingRows},
      {"generic_mxfp8_dequantized", "generic-mxfp8", all, GenericFp8Dequantized},
      {"generic_mxfp8_large_blocks", "generic-mxfp8", all, GenericFp8LargeBlocks},
  };
  return families;
}

const Family& FamilyNamed(const std::string& name) {
  for (const Family& family : Families()) {
    if (family.name == name) return family;
  }
  std::abort();
}

CheckpointMaker DividingDeepseek() { return DeepseekOf(256, 256, 4, 128); }
CheckpointMaker DividingGptOss() { return GptOssOf(320, 256); }

}  // namespace lanewise
