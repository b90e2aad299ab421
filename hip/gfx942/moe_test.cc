// The routed experts on the emulated gfx942, what the differential operations gfx942/moe_up_gate
// and gfx942/moe_down do not say: both halves in a row with more experts than a workgroup has
// work-items, how weights are read, and what the launchers refuse.

#include "reference/gfx942/moe.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulator/hip_api/control.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/gfx942/moe_layer.h"
#include "reference/gemm/routed_moe.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/gfx942/pad_experts.h"

namespace lanewise::hip::gfx942 {
namespace {

namespace judge = reference::gfx942;
using testing::HasSubstr;

std::vector<uint8_t> BytesOf(const Tensor<uint8_t, 3>& tensor) {
  return std::vector<uint8_t>(tensor.data(), tensor.data() + tensor.size());
}

// A problem's data.
struct Data {
  Tensor<Bf16, 2> x;  // [tokens, hidden]
  Tensor<int32_t, 2> experts;
  Tensor<float, 2> weights;
  judge::Experts padded;
  judge::Experts copies;  // as prepared
};

Data DrawData(const MoeProblem& p, std::mt19937* random) {
  Data data;
  data.x = reference::RandomBf16(p.tokens, p.hidden, 3, random);
  data.experts.resize(p.tokens, p.top_k);
  data.weights.resize(p.tokens, p.top_k);
  for (int64_t i = 0; i < p.picks(); ++i) {
    data.experts.data()[i] = static_cast<int32_t>((*random)() % static_cast<uint64_t>(p.experts));
    data.weights.data()[i] = static_cast<float>((*random)() % 1000) / 1000.0f;
  }
  judge::Experts plain = {Tensor<uint8_t, 3>(p.experts, 2 * p.inter, p.hidden / 2),
                          Tensor<uint8_t, 3>(p.experts, 2 * p.inter, p.hidden / 32),
                          Tensor<uint8_t, 3>(p.experts, p.hidden, p.inter / 2),
                          Tensor<uint8_t, 3>(p.experts, p.hidden, p.inter / 32)};
  for (Tensor<uint8_t, 3>* bytes : {&plain.w13, &plain.w2}) {
    for (int64_t i = 0; i < bytes->size(); ++i) {
      bytes->data()[i] = static_cast<uint8_t>((*random)());
    }
  }
  for (Tensor<uint8_t, 3>* codes : {&plain.w13_codes, &plain.w2_codes}) {
    for (int64_t i = 0; i < codes->size(); ++i) {
      codes->data()[i] = static_cast<uint8_t>(115 + (*random)() % 11);
    }
  }
  const auto padded = judge::PadExperts(plain);
  EXPECT_TRUE(padded.ok()) << padded.status();
  const auto copied = judge::MoeCopies(*padded, p.padded_inter());
  EXPECT_TRUE(copied.ok()) << copied.status();
  data.copies = copied->experts;
  data.padded = *padded;
  return data;
}

class MoeTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    auto layer = MoeLayer::Load(device());
    ASSERT_TRUE(layer.ok()) << layer.status();
    layer_.emplace(*std::move(layer));
  }

  // Buffers are exactly as large as they must be, and poisoned.
  void Run(const MoeProblem& p, const Data& data, Tensor<Bf16, 2>* out) {
    const auto cost = MoeLayer::Cost({p});
    ASSERT_TRUE(cost.ok()) << cost.status();
    const Buffer x = In(std::vector<Bf16>(data.x.data(), data.x.data() + data.x.size()), "x");
    const Buffer experts =
        In(std::vector<int32_t>(data.experts.data(), data.experts.data() + data.experts.size()),
           "experts");
    const Buffer weights =
        In(std::vector<float>(data.weights.data(), data.weights.data() + data.weights.size()),
           "routing weights");
    const Buffer w13 = In(BytesOf(data.copies.w13), "w13");
    const Buffer w13_codes = In(BytesOf(data.copies.w13_codes), "w13 codes");
    const Buffer w2 = In(BytesOf(data.copies.w2), "w2");
    const Buffer w2_codes = In(BytesOf(data.copies.w2_codes), "w2 codes");
    const Buffer workspace = Out(cost->workspace_bytes, "workspace");
    const Buffer result = Out(p.tokens * p.hidden * 2, "out");
    MoeLayer::Operands operands;
    operands.x = x.data();
    operands.experts = experts.data();
    operands.weights = weights.data();
    operands.out = result.data();
    operands.workspace = workspace.data();
    const absl::Status status = layer_->Launch(
        {p}, {{w13.data(), w13_codes.data(), w2.data(), w2_codes.data()}}, operands, stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(stream().Synchronize().ok());
    const std::vector<Bf16> values = Read<Bf16>(result);
    out->resize(p.tokens, p.hidden);
    std::copy(values.begin(), values.end(), out->data());
  }

  std::optional<MoeLayer> layer_;
};

MoeProblem Small(int64_t tokens, int64_t top_k, int64_t experts, int64_t hidden = 256,
                 int64_t inter = 64) {
  MoeProblem p;
  p.tokens = tokens;
  p.top_k = top_k;
  p.experts = experts;
  p.hidden = hidden;
  p.inter = inter;
  return p;
}

// More experts, and more picks, than a workgroup has work-items.
TEST_P(MoeTest, ManyExperts) {
  const auto seed = static_cast<uint32_t>(NewSeed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const MoeProblem p = Small(30, 10, 300, 256, 64);
  const Data data = DrawData(p, &random);
  Tensor<Bf16, 2> got;
  ASSERT_NO_FATAL_FAILURE(Run(p, data, &got));
  const auto expected = judge::RoutedExperts(
      data.x, {data.padded.w13, data.padded.w13_codes, data.padded.w2, data.padded.w2_codes},
      {data.experts, data.weights}, nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_TRUE(reference::SameNumbers(expected->out, got));
}

// Weights once, in loads of 8 lines for 1 KiB; no bank conflicts.
TEST_P(MoeTest, ReadsWeightsOnceAndWithoutGaps) {
  const MoeProblem p = Small(5, 2, 3, 1280, 576);
  std::mt19937 random(1);
  Data data = DrawData(p, &random);
  data.experts.setConstant(1);  // 10 picks of one expert
  Tensor<Bf16, 2> out;
  emulator::StartRecording();
  Run(p, data, &out);
  const emulator::Recording recording = emulator::StopRecording();
  for (const char* name : {"w13", "w2"}) {
    const emulator::AllocationTraffic traffic = recording.Named(name);
    const uint64_t needed = traffic.size / 3;
    EXPECT_EQ(traffic.loads.bytes, needed) << name;
    EXPECT_EQ(traffic.loads.lines, needed / 128) << name;
    EXPECT_EQ(traffic.distinct_lines, needed / 128) << name;
    if (std::string(name) == "w13") {
      EXPECT_EQ(traffic.load_instructions, needed / 1024) << name;
    }
  }
  for (const emulator::LaunchRecord& launch : recording.launches) {
    EXPECT_EQ(launch.counters.lds_bank_conflicts, 0u) << launch.kernel;
    EXPECT_EQ(launch.counters.scratch_bytes, 0u) << launch.kernel;
  }
}

TEST_P(MoeTest, RefusesWhatItCannotRead) {
  const auto refusal = [](const MoeProblem& p) {
    return std::string(MoeUpGate::Cost(p).status().message());
  };
  MoeProblem p = Small(1, 2, 3);
  p.w13_layout = "gfx942/fp4_lane_major";
  EXPECT_THAT(refusal(p), HasSubstr("w13 is in layout \"gfx942/fp4_lane_major\""));
  p = Small(1, 2, 3);
  p.w13_codes_layout = "gfx942/row_codes";
  EXPECT_THAT(refusal(p), HasSubstr("w13_codes is in layout"));
  p = Small(1, 2, 3);
  p.w2_layout = "plain";
  EXPECT_THAT(refusal(p), HasSubstr("w2 is in layout \"plain\""));
  p = Small(1, 2, 3);
  p.w2_codes_layout = "gfx942/codes_tile_rounds";
  EXPECT_THAT(refusal(p), HasSubstr("w2_codes is in layout"));
  EXPECT_THAT(refusal(Small(1, 17, 3)), HasSubstr("top_k is 17, expected 1 to 16"));
  EXPECT_THAT(refusal(Small(1, 2, 0)), HasSubstr("experts is 0"));
  EXPECT_THAT(refusal(Small(1, 2, 3, 48)), HasSubstr("hidden is 48"));
  EXPECT_THAT(refusal(Small(1, 2, 3, 256, 40)), HasSubstr("inter is 40"));
  p = Small(1, 2, 3);
  p.first_expert = 1;
  EXPECT_THAT(refusal(p), HasSubstr("first_expert is 1, expected 0 to 0"));
  p.all_experts = 2;
  EXPECT_THAT(refusal(p),
              HasSubstr("all_experts is 2, expected 0, or from the 3 that are held to 2^24"));
  p = Small(1, 2, 3);
  p.w13_bias_stride = 129;
  EXPECT_THAT(refusal(p), HasSubstr("w13_bias_stride is 129, expected an even number of at least"));
  p = Small(1, 2, 3);
  p.w2_bias_stride = 128;
  EXPECT_THAT(refusal(p), HasSubstr("w2_bias_stride is 128, expected a multiple of 4 of at least"));
  p = Small(1, 2, 3);
  p.swiglu.limit = -1.0f;
  EXPECT_THAT(refusal(p), HasSubstr("swiglu.limit is -1"));
  MoeUpGate::Operands operands = {};
  operands.x = reinterpret_cast<const void*>(2);
  const absl::Status unaligned = MoeUpGate::Check(Small(1, 2, 3), operands);
  EXPECT_THAT(std::string(unaligned.message()), HasSubstr("moe_up_gate: x"));

  p = Small(2, 2, 3);
  p.all_experts = 4;
  const Buffer experts = In(std::vector<int32_t>{0, 1, 3, 4}, "experts");
  const absl::Status outside = CheckExperts(p, experts.data(), stream());
  EXPECT_THAT(std::string(outside.message()), HasSubstr("experts[1, 1] is 4, expected 0 to 3"));
}

INSTANTIATE_TEST_SUITE_P(Chips, MoeTest, testing::Values("gfx942"), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip::gfx942
