// From a checkpoint's file to a layer's output: what prepare writes is what the kernels read.

#include "hip/gfx942/moe_layer.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/test_files.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/engine/gfx942/moe_weights.h"
#include "reference/gemm/routed_moe.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/dense_gemv.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/quantize/mx.h"

namespace lanewise::hip::gfx942 {
namespace {

namespace judge = reference::gfx942;
using reference::Mx;
using testing::HasSubstr;

// Sizes that the preparation has to pad: 512 by 128 in memory.
constexpr int64_t kExperts = 5, kHidden = 416, kInter = 96, kTokens = 3, kTopK = 4;
constexpr char kPrefix[] = "layers.1.ffn.experts";
constexpr int64_t kSharedInter = 160;
constexpr char kSharedPrefix[] = "layers.1.ffn.shared_experts";
constexpr char kW13Bias[] = "layers.1.ffn.experts.gate_up_proj_bias";
constexpr char kW2Bias[] = "layers.1.ffn.experts.down_proj_bias";

// Plain experts, padded with zeros as the reference computes with them, and the shared one, in
// FNUZ.
struct Plain {
  Tensor<uint8_t, 3> w13, w13_codes, w2, w2_codes;
  Mx gate_up, down;
  Tensor<Bf16, 2> w13_bias, w2_bias;  // gates, then ups
};

std::span<const uint8_t> Bytes(const Tensor<uint8_t, 2>& tensor) {
  return {tensor.data(), static_cast<size_t>(tensor.size())};
}

// Writes w1, w2 and w3 of each expert; `plain` gets them in matrices of Kp by Ip.
void WriteCheckpoint(const std::string& path, Plain* plain) {
  constexpr int64_t kKp = 512, kIp = 128;
  plain->w13 = Tensor<uint8_t, 3>(kExperts, 2 * kIp, kKp / 2);
  plain->w13_codes = Tensor<uint8_t, 3>(kExperts, 2 * kIp, kKp / 32);
  plain->w2 = Tensor<uint8_t, 3>(kExperts, kKp, kIp / 2);
  plain->w2_codes = Tensor<uint8_t, 3>(kExperts, kKp, kIp / 32);
  plain->w13.setZero();
  plain->w2.setZero();
  plain->w13_codes.setConstant(127);
  plain->w2_codes.setConstant(127);

  std::mt19937 random(17);
  std::vector<TensorSpec> specs;
  std::vector<Mx> matrices;
  for (int64_t e = 0; e < kExperts; ++e) {
    for (const char* name : {"w1", "w2", "w3"}) {
      const bool down = name == std::string("w2");
      const int64_t rows = down ? kHidden : kInter, k = down ? kInter : kHidden;
      const Mx w = reference::RandomMx(ElementFormat::kE2m1, rows, k, rows, 118, 124, &random);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t row = r + (name == std::string("w3") ? kIp : 0);
        for (int64_t c = 0; c < k / 2; ++c) {
          (down ? plain->w2 : plain->w13)(e, row, c) = w.elements(r, c);
        }
        for (int64_t c = 0; c < k / 32; ++c) {
          (down ? plain->w2_codes : plain->w13_codes)(e, row, c) = w.codes(r, c);
        }
      }
      const std::string full = absl::StrCat(kPrefix, ".", e, ".", name);
      specs.push_back({full + ".weight", DType::kI8, {rows, k / 2}});
      specs.push_back({full + ".scale", DType::kF8E8m0, {rows, k / 32}});
      matrices.push_back(w);
    }
  }
  Mx gate_up = {ElementFormat::kE4m3Fn, Tensor<uint8_t, 2>(2 * kSharedInter, kHidden),
                Tensor<uint8_t, 2>(2 * kSharedInter / 32, kHidden / 32)};
  for (const char* name : {"w1", "w2", "w3"}) {
    const bool down = name == std::string("w2");
    const int64_t rows = down ? kHidden : kSharedInter, k = down ? kSharedInter : kHidden;
    const Mx w = reference::RandomMx(ElementFormat::kE4m3Fn, rows, k, rows / 32, 112, 118, &random);
    if (down) {
      plain->down = reference::OwnedMx(ElementFormat::kE4m3Fnuz, *judge::FnuzWeight(w.view()));
    } else {
      const int64_t first = name == std::string("w3") ? kSharedInter : 0;
      std::copy_n(w.elements.data(), w.elements.size(), &gate_up.elements(first, 0));
      std::copy_n(w.codes.data(), w.codes.size(), &gate_up.codes(first / 32, 0));
    }
    const std::string full = absl::StrCat(kSharedPrefix, ".", name);
    specs.push_back({full + ".weight", DType::kF8E4m3, {rows, k}});
    specs.push_back({full + ".scale", DType::kF8E8m0, {rows / 32, k / 32}});
    matrices.push_back(w);
  }
  plain->gate_up = reference::OwnedMx(ElementFormat::kE4m3Fnuz, *judge::FnuzWeight(gate_up.view()));
  // As gpt-oss has them, gate and up in turn.
  const Tensor<Bf16, 2> w13_bias = reference::RandomBf16(kExperts, 2 * kInter, 2, &random);
  const Tensor<Bf16, 2> w2_bias = reference::RandomBf16(kExperts, kHidden, 2, &random);
  plain->w13_bias = Tensor<Bf16, 2>(kExperts, 2 * kIp);
  plain->w2_bias = Tensor<Bf16, 2>(kExperts, kKp);
  plain->w13_bias.setConstant(Bf16::FromFloat(0.0f));
  plain->w2_bias.setConstant(Bf16::FromFloat(0.0f));
  for (int64_t e = 0; e < kExperts; ++e) {
    for (int64_t i = 0; i < kInter; ++i) {
      plain->w13_bias(e, i) = w13_bias(e, 2 * i);
      plain->w13_bias(e, kIp + i) = w13_bias(e, 2 * i + 1);
    }
    for (int64_t h = 0; h < kHidden; ++h) plain->w2_bias(e, h) = w2_bias(e, h);
  }
  specs.push_back({kW13Bias, DType::kBf16, {kExperts, 2 * kInter}});
  specs.push_back({kW2Bias, DType::kBf16, {kExperts, kHidden}});
  auto writer = SafetensorsWriter::Create(path, specs, {});
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (size_t i = 0; i < matrices.size(); ++i) {
    ASSERT_TRUE(writer->Write(2 * i, 0, Bytes(matrices[i].elements)).ok());
    ASSERT_TRUE(writer->Write(2 * i + 1, 0, Bytes(matrices[i].codes)).ok());
  }
  const auto write_bias = [&](size_t index, const Tensor<Bf16, 2>& bias) {
    return writer->Write(index, 0,
                         {reinterpret_cast<const uint8_t*>(bias.data()),
                          static_cast<size_t>(bias.size()) * sizeof(Bf16)});
  };
  ASSERT_TRUE(write_bias(2 * matrices.size(), w13_bias).ok());
  ASSERT_TRUE(write_bias(2 * matrices.size() + 1, w2_bias).ok());
  const absl::Status finished = writer->Finish();
  ASSERT_TRUE(finished.ok()) << finished;
}

// x with zeros up to Kp.
Tensor<Bf16, 2> Padded(const Tensor<Bf16, 2>& x) {
  Tensor<Bf16, 2> wide(x.dimension(0), 512);
  for (int64_t t = 0; t < x.dimension(0); ++t) {
    for (int64_t k = 0; k < 512; ++k) wide(t, k) = k < kHidden ? x(t, k) : Bf16::FromFloat(0.0f);
  }
  return wide;
}

template <class T>
Buffer Upload(const Tensor<T, 2>& tensor, const char* name) {
  auto buffer =
      Buffer::Of(std::span<const T>(tensor.data(), static_cast<size_t>(tensor.size())), name);
  EXPECT_TRUE(buffer.ok()) << buffer.status();
  return *std::move(buffer);
}

TEST(MoeLayer, ReadsWhatPrepareWrites) {
  const TestDirectory directory;
  Plain plain;
  ASSERT_NO_FATAL_FAILURE(WriteCheckpoint(directory.File("in.safetensors"), &plain));
  PrepareRequest request;
  request.in = directory.File("in.safetensors");
  request.out = directory.File("out.safetensors");
  request.options.target = Target::kGfx942;
  const auto prepared = PrepareCheckpoint(request, nullptr);
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const auto file = PreparedCheckpoint::Open(request.out, "gfx942");
  ASSERT_TRUE(file.ok()) << file.status();

  const Device device = *Device::OfArch("gfx942");
  ASSERT_TRUE(device.MakeCurrent().ok());
  const auto weights = MoeWeights::Upload(*file, ExpertNames(kPrefix));
  ASSERT_TRUE(weights.ok()) << weights.status();
  EXPECT_EQ(weights->experts(), kExperts);
  EXPECT_EQ(weights->hidden(), kHidden);
  EXPECT_EQ(weights->inter(), kInter);
  const auto layer = MoeLayer::Load(device);
  ASSERT_TRUE(layer.ok()) << layer.status();

  std::mt19937 random(18);
  const Tensor<Bf16, 2> x = reference::RandomBf16(kTokens, kHidden, 2, &random);
  const Tensor<Bf16, 2> shared = reference::RandomBf16(kTokens, kHidden, 2, &random);
  Tensor<int32_t, 2> picks(kTokens, kTopK);
  picks.setValues({{0, 4, 2, 3}, {4, 1, 0, 2}, {3, 7, 1, 4}});
  Tensor<float, 2> pick_weights(kTokens, kTopK);
  for (int64_t i = 0; i < pick_weights.size(); ++i) {
    pick_weights.data()[i] = static_cast<float>(1 + i) / 16.0f;
  }

  MoeLayer::Problem problem = {weights->Problem(kTokens, kTopK, kDeepSeekSwiglu)};
  const auto cost = MoeLayer::Cost(problem);
  ASSERT_TRUE(cost.ok()) << cost.status();
  const Buffer x_buffer = Upload(x, "x");
  const Buffer picks_buffer = Upload(picks, "picks");
  const Buffer pick_weights_buffer = Upload(pick_weights, "pick weights");
  // The output replaces the shared expert's.
  const Buffer out = Upload(shared, "shared and out");
  const Buffer status_word = *Buffer::Of(std::span<const uint32_t>(std::vector<uint32_t>{0}), "s");
  const Buffer workspace = *Buffer::Of(std::span<const uint8_t>(std::vector<uint8_t>(
                                           static_cast<size_t>(cost->workspace_bytes), 0xa5)),
                                       "workspace");
  MoeLayer::Operands operands;
  operands.x = x_buffer.data();
  operands.experts = picks_buffer.data();
  operands.weights = pick_weights_buffer.data();
  operands.shared = out.data();
  operands.out = out.data();
  operands.status = status_word.data();
  operands.workspace = workspace.data();
  // On a stream that is the engine's.
  const Stream engine = *Stream::Create();
  const Stream stream = Stream::Borrow(engine.handle());
  const absl::Status launched = layer->Launch(problem, {weights->pointers()}, operands, stream);
  ASSERT_TRUE(launched.ok()) << launched;
  ASSERT_TRUE(engine.Synchronize().ok());
  EXPECT_EQ((*status_word.Read<uint32_t>())[0], 1u);  // expert 7

  const Tensor<Bf16, 2> padded_x = Padded(x), padded_shared = Padded(shared);
  const auto expected =
      judge::RoutedExperts(padded_x, {plain.w13, plain.w13_codes, plain.w2, plain.w2_codes},
                           {picks, pick_weights}, &padded_shared);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const std::vector<Bf16> values = *out.Read<Bf16>();
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t h = 0; h < kHidden; ++h) {
      ASSERT_EQ(values[static_cast<size_t>(t * kHidden + h)].bits(), expected->out(t, h).bits())
          << "token " << t << ", column " << h;
    }
  }

  // The shared expert computed with the layer.
  const auto shared_weights = SharedWeights::Upload(*file, SharedExpertNames(kSharedPrefix));
  ASSERT_TRUE(shared_weights.ok()) << shared_weights.status();
  EXPECT_EQ(shared_weights->hidden(), kHidden);
  EXPECT_EQ(shared_weights->inter(), kSharedInter);
  MoeLayer::Problem both = problem;
  both.shared = shared_weights->Problem(kTokens, kDeepSeekSwiglu);
  const MoeLayer::Weights both_weights = {weights->pointers(), shared_weights->pointers()};
  EXPECT_THAT(std::string(layer->Launch(both, both_weights, operands, stream).message()),
              HasSubstr("shared is given"));
  const auto both_cost = MoeLayer::Cost(both);
  ASSERT_TRUE(both_cost.ok()) << both_cost.status();
  EXPECT_EQ(both_cost->launches, 8);
  const Buffer both_workspace =
      *Buffer::Of(std::span<const uint8_t>(
                      std::vector<uint8_t>(static_cast<size_t>(both_cost->workspace_bytes), 0xa5)),
                  "workspace of both");
  MoeLayer::Operands both_operands = operands;
  both_operands.shared = nullptr;
  both_operands.workspace = both_workspace.data();
  const absl::Status both_launched = layer->Launch(both, both_weights, both_operands, stream);
  ASSERT_TRUE(both_launched.ok()) << both_launched;
  ASSERT_TRUE(engine.Synchronize().ok());
  const auto expected_shared = judge::SharedExpert(x, plain.gate_up.view(), plain.down.view());
  ASSERT_TRUE(expected_shared.ok()) << expected_shared.status();
  const Tensor<Bf16, 2> padded_expected = Padded(*expected_shared);
  const auto expected_both =
      judge::RoutedExperts(padded_x, {plain.w13, plain.w13_codes, plain.w2, plain.w2_codes},
                           {picks, pick_weights}, &padded_expected);
  ASSERT_TRUE(expected_both.ok()) << expected_both.status();
  const std::vector<Bf16> both_values = *out.Read<Bf16>();
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t h = 0; h < kHidden; ++h) {
      ASSERT_EQ(both_values[static_cast<size_t>(t * kHidden + h)].bits(),
                expected_both->out(t, h).bits())
          << "token " << t << ", column " << h;
    }
  }
  // x is read after the shared expert has written.
  both_operands.out = x_buffer.data();
  EXPECT_THAT(std::string(layer->Launch(both, both_weights, both_operands, stream).message()),
              testing::AllOf(HasSubstr("moe_layer: out"), HasSubstr("overlaps x")));
  both_operands.out = static_cast<uint8_t*>(x_buffer.data()) + 2 * kTokens * kHidden - 16;
  EXPECT_THAT(std::string(layer->Launch(both, both_weights, both_operands, stream).message()),
              HasSubstr("overlaps x"));
  both.shared->tokens = kTokens + 1;
  EXPECT_THAT(std::string(MoeLayer::Cost(both).status().message()),
              HasSubstr("the shared expert is of 4 tokens by 416 columns"));
  SharedTensorNames swapped = SharedExpertNames(kSharedPrefix);
  std::swap(swapped.up, swapped.down);
  EXPECT_THAT(std::string(SharedWeights::Upload(*file, swapped).status().message()),
              HasSubstr("w2.weight is [416, 160], expected [160, 416]"));

  // Biases, which the file has as they were; without a shared expert the output may replace x.
  const auto biased = MoeWeights::Upload(*file, GptOssExpertNames(kPrefix));
  ASSERT_TRUE(biased.ok()) << biased.status();
  MoeLayer::Operands in_place = operands;
  in_place.shared = nullptr;
  in_place.out = x_buffer.data();
  MoeLayer::Problem gpt_oss = {biased->Problem(kTokens, kTopK, kDeepSeekSwiglu)};
  const absl::Status biased_launched =
      layer->Launch(gpt_oss, {biased->pointers()}, in_place, stream);
  ASSERT_TRUE(biased_launched.ok()) << biased_launched;
  ASSERT_TRUE(engine.Synchronize().ok());
  const auto expected_biased = judge::RoutedExperts(
      padded_x,
      {plain.w13, plain.w13_codes, plain.w2, plain.w2_codes, &plain.w13_bias, &plain.w2_bias},
      {picks, pick_weights}, nullptr);
  ASSERT_TRUE(expected_biased.ok()) << expected_biased.status();
  const std::vector<Bf16> biased_values = *x_buffer.Read<Bf16>();
  for (int64_t t = 0; t < kTokens; ++t) {
    for (int64_t h = 0; h < kHidden; ++h) {
      ASSERT_EQ(biased_values[static_cast<size_t>(t * kHidden + h)].bits(),
                expected_biased->out(t, h).bits())
          << "token " << t << ", column " << h;
    }
  }
  MoeTensorNames crossed = GptOssExpertNames(kPrefix);
  std::swap(crossed.w13_bias, crossed.w2_bias);
  EXPECT_THAT(std::string(MoeWeights::Upload(*file, crossed).status().message()),
              HasSubstr("down_proj_bias is [5, 416], expected [5, 192]"));

  // Checked before, an expert that does not exist is refused.
  MoeLayer::Problem checked = problem;
  checked.routed.check_experts = true;
  EXPECT_THAT(
      std::string(layer->Launch(checked, {weights->pointers()}, operands, stream).message()),
      HasSubstr("experts[2, 1] is 7, expected 0 to 4"));

  // Tensors in another layout, or not there, are refused by name.
  MoeTensorNames wrong = ExpertNames(kPrefix);
  std::swap(wrong.w13_codes, wrong.w2_codes);
  EXPECT_THAT(std::string(MoeWeights::Upload(*file, wrong).status().message()),
              testing::AllOf(HasSubstr("w2.scale"), HasSubstr("gfx942/row_codes"),
                             HasSubstr("gfx942/codes_tile_rounds")));
  wrong = ExpertNames(kPrefix);
  std::swap(wrong.w13, wrong.w2);
  EXPECT_THAT(std::string(MoeWeights::Upload(*file, wrong).status().message()),
              testing::AllOf(HasSubstr("w2.weight is [5, 416, 96]"), HasSubstr("inter is 208")));
  EXPECT_THAT(std::string(MoeWeights::Upload(*file, ExpertNames("layers.9")).status().message()),
              HasSubstr("layers.9.w13.weight"));
}

}  // namespace
}  // namespace lanewise::hip::gfx942
