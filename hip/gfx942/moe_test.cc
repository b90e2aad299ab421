// The routed experts on the emulated gfx942 against their Planned reference: bit for bit before the
// activation and after it, the activation itself within its bound (and bit for bit where its
// instructions are exactly rounded, as the emulator's are but for subnormal results).

#include "reference/gfx942/moe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "hip/emulator/control.h"
#include "hip/gfx942/moe_down.h"
#include "hip/gfx942/moe_up_gate.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/output.h"
#include "reference/gemm/routed_moe.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/moe_semantics.h"
#include "reference/gfx942/pad_experts.h"
#include "reference/quantize/mx.h"

namespace lanewise::hip::gfx942 {
namespace {

namespace judge = reference::gfx942;
using reference::Mx;
using reference::Quantized;
using testing::HasSubstr;

template <int kRank>
std::vector<uint8_t> BytesOf(const Tensor<uint8_t, kRank>& tensor) {
  return std::vector<uint8_t>(tensor.data(), tensor.data() + tensor.size());
}

// A problem's data. Experts are padded, of w2 also the rows, so that the reference takes them.
struct Data {
  Tensor<Bf16, 2> x;  // [tokens, hidden]
  Tensor<int32_t, 2> experts;
  Tensor<float, 2> weights;
  std::optional<Tensor<Bf16, 2>> shared;
  judge::Experts padded;
  judge::Experts copies;  // as prepared
};

// Widens columns with zeros.
Tensor<Bf16, 2> Widened(const Tensor<Bf16, 2>& x, int64_t columns) {
  Tensor<Bf16, 2> wide(x.dimension(0), columns);
  for (int64_t r = 0; r < x.dimension(0); ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      wide(r, c) = c < x.dimension(1) ? x(r, c) : Bf16::FromFloat(0.0f);
    }
  }
  return wide;
}

Tensor<uint8_t, 3> WithRows(const Tensor<uint8_t, 3>& t, int64_t rows, uint8_t filling) {
  Tensor<uint8_t, 3> more(t.dimension(0), rows, t.dimension(2));
  more.setConstant(filling);
  for (int64_t e = 0; e < t.dimension(0); ++e) {
    for (int64_t r = 0; r < t.dimension(1); ++r) {
      for (int64_t c = 0; c < t.dimension(2); ++c) more(e, r, c) = t(e, r, c);
    }
  }
  return more;
}

struct Draw {
  int lowest_code = 115, highest_code = 125;
  int spread = 3;  // of x's exponents
  bool shared = true;
  std::function<void(judge::Experts*)> change_experts = {};  // before they are padded and prepared
  std::function<void(Data*)> change = {};
};

Data DrawData(const MoeProblem& p, const Draw& draw, std::mt19937* random) {
  Data data;
  data.x = reference::RandomBf16(p.tokens, p.hidden, draw.spread, random);
  data.experts.resize(p.tokens, p.top_k);
  data.weights.resize(p.tokens, p.top_k);
  for (int64_t i = 0; i < p.picks(); ++i) {
    data.experts.data()[i] = static_cast<int32_t>((*random)() % static_cast<uint64_t>(p.experts));
    data.weights.data()[i] = static_cast<float>((*random)() % 1000) / 1000.0f;
  }
  if (draw.shared) data.shared = reference::RandomBf16(p.tokens, p.hidden, draw.spread, random);
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
    const int range = draw.highest_code - draw.lowest_code + 1;
    for (int64_t i = 0; i < codes->size(); ++i) {
      codes->data()[i] =
          static_cast<uint8_t>(draw.lowest_code + static_cast<int>((*random)() % 1024) % range);
    }
  }
  if (draw.change_experts) draw.change_experts(&plain);
  const auto padded = judge::PadExperts(plain);
  EXPECT_TRUE(padded.ok()) << padded.status();
  reference::Checks checks;
  checks.large_codes = false;
  const auto copied = judge::MoeCopies(*padded, p.padded_inter(), checks);
  EXPECT_TRUE(copied.ok()) << copied.status();
  data.copies = copied->experts;
  data.padded = *padded;
  data.padded.w2 = WithRows(padded->w2, p.padded_hidden(), 0);
  data.padded.w2_codes = WithRows(padded->w2_codes, p.padded_hidden(), 127);
  if (draw.change) draw.change(&data);
  return data;
}

// What the kernels left.
struct Result {
  Quantized mid;  // [picks, Ip] in logical order, [picks, Ip / 32]
  Tensor<Bf16, 2> out;
  uint32_t status;
};

reference::Swiglu JudgeSwiglu(const Swiglu& swiglu) {
  return {swiglu.limit, swiglu.alpha, swiglu.up_offset};
}

// Rows of an expert's matrix.
Mx ExpertMatrix(const Tensor<uint8_t, 3>& bytes, const Tensor<uint8_t, 3>& codes, int64_t expert) {
  return {reference::ElementFormat::kE2m1, bytes.chip(expert, 0), codes.chip(expert, 0)};
}

bool Exists(const MoeProblem& p, const Data& data, int64_t pick) {
  return data.experts.data()[pick] >= 0 && data.experts.data()[pick] < p.experts;
}

std::vector<int64_t> PicksOf(const MoeProblem& p, const Data& data, int64_t expert) {
  std::vector<int64_t> picks;
  for (int64_t pick = 0; pick < p.picks(); ++pick) {
    if (data.experts.data()[pick] == expert) picks.push_back(pick);
  }
  return picks;
}

class MoeTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto up_gate = MoeUpGate::Load(device());
    ASSERT_TRUE(up_gate.ok()) << up_gate.status();
    up_gate_.emplace(*std::move(up_gate));
    auto down = MoeDown::Load(device());
    ASSERT_TRUE(down.ok()) << down.status();
    down_.emplace(*std::move(down));
  }

  // Runs both halves; buffers are exactly as large as they must be, and poisoned.
  void Run(const MoeProblem& p, const Data& data, Result* result) {
    const auto up_cost = MoeUpGate::Cost(p);
    const auto down_cost = MoeDown::Cost(p);
    ASSERT_TRUE(up_cost.ok()) << up_cost.status();
    ASSERT_TRUE(down_cost.ok()) << down_cost.status();
    const MoeBetween between = BytesBetween(p);
    const std::vector<Bf16> x_values(data.x.data(), data.x.data() + data.x.size());
    const Buffer x = In(x_values, "x");
    const std::vector<int32_t> indices(data.experts.data(),
                                       data.experts.data() + data.experts.size());
    const Buffer experts = In(indices, "experts");
    const std::vector<float> weight_values(data.weights.data(),
                                           data.weights.data() + data.weights.size());
    const Buffer weights = In(weight_values, "routing weights");
    const Buffer w13 = In(BytesOf(data.copies.w13), "w13");
    const Buffer w13_codes = In(BytesOf(data.copies.w13_codes), "w13 codes");
    const Buffer w2 = In(BytesOf(data.copies.w2), "w2");
    const Buffer w2_codes = In(BytesOf(data.copies.w2_codes), "w2 codes");
    const Buffer grouping = Out(between.grouping, "grouping");
    const Buffer mid = Out(between.mid, "mid");
    const Buffer mid_codes = Out(between.mid_codes, "mid codes");
    const Buffer status_word = In(std::vector<uint32_t>{1000}, "status");
    const Buffer up_workspace = Out(up_cost->workspace_bytes, "up/gate workspace");
    const Buffer down_workspace = Out(down_cost->workspace_bytes, "down workspace");
    const Buffer out = Out(p.tokens * p.hidden * 2, "out");
    std::optional<Buffer> shared;
    if (data.shared.has_value()) {
      shared = In(std::vector<Bf16>(data.shared->data(), data.shared->data() + data.shared->size()),
                  "shared");
    }
    absl::Status status =
        up_gate_->Launch(p,
                         {x.data(), experts.data(), w13.data(), w13_codes.data(), grouping.data(),
                          mid.data(), mid_codes.data(), status_word.data(), up_workspace.data()},
                         stream());
    ASSERT_TRUE(status.ok()) << status;
    status = down_->Launch(
        p,
        {grouping.data(), mid.data(), mid_codes.data(), experts.data(), weights.data(), w2.data(),
         w2_codes.data(), shared.has_value() ? shared->data() : nullptr, out.data(),
         down_workspace.data()},
        stream());
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(stream().Synchronize().ok());

    const int64_t inter = p.padded_inter();
    const int64_t row_bytes = between.mid / p.picks();
    const std::vector<uint8_t> bytes = Read(mid);
    const std::vector<uint8_t> codes = Read(mid_codes);
    result->mid.elements.resize(p.picks(), inter);
    result->mid.codes.resize(p.picks(), inter / 32);
    for (int64_t pick = 0; pick < p.picks(); ++pick) {
      for (int64_t i = 0; i < inter; ++i) {
        // KERNELS: block `part`, column `in` of it, even columns of 8 first.
        const int64_t part = i / 32, in = i % 32;
        const int64_t place = in % 2 * 4 + in % 8 / 2;
        const int64_t at = 128 * (part / 4) + 32 * (in / 8) + 8 * (part % 4) + place;
        result->mid.elements(pick, i) = bytes[static_cast<size_t>(pick * row_bytes + at)];
      }
      for (int64_t part = 0; part < inter / 32; ++part) {
        result->mid.codes(pick, part) = codes[static_cast<size_t>(pick * (row_bytes / 32) + part)];
      }
    }
    const std::vector<Bf16> values = Read<Bf16>(out);
    result->out.resize(p.tokens, p.hidden);
    std::copy(values.begin(), values.end(), result->out.data());
    result->status = Read<uint32_t>(status_word)[0] - 1000;
  }

  // One pick's activated row against the reference's sums.
  static void CheckMid(const MoeProblem& p, const Tensor<float, 2>& sums, int64_t row,
                       const Result& result, int64_t pick, int64_t* inexact) {
    const int64_t inter = p.padded_inter();
    const reference::Swiglu swiglu = JudgeSwiglu(p.swiglu);
    Tensor<Bf16, 2> y(3, inter);  // the nearest, the lowest, the highest
    for (int64_t i = 0; i < inter; ++i) {
      const float gate = sums(row, i), up = sums(row, inter + i);
      const reference::Bf16Range range = reference::ActivationRange(swiglu, gate, up);
      y(0, i) = reference::Activate(swiglu, gate, up);
      y(1, i) = range.low;
      y(2, i) = range.high;
    }
    const auto quantized = reference::Quantize(y, judge::RoutedActivationOptions());
    ASSERT_TRUE(quantized.ok()) << quantized.status();
    for (int64_t part = 0; part < inter / 32; ++part) {
      const int code = result.mid.codes(pick, part);
      bool same = code == quantized->codes(0, part);
      for (int64_t i = 32 * part; i < 32 * part + 32; ++i) {
        same = same && result.mid.elements(pick, i) == quantized->elements(0, i);
      }
      if (same) continue;
      ++*inexact;
      ASSERT_TRUE(code == quantized->codes(0, part) || code == quantized->codes(1, part) ||
                  code == quantized->codes(2, part))
          << "pick " << pick << ", columns from " << 32 * part << ": code " << code << ", expected "
          << int{quantized->codes(0, part)};
      for (int64_t i = 32 * part; i < 32 * part + 32; ++i) {
        const auto element = [&](Bf16 value) {
          const float scaled = std::ldexp(value.ToFloat(), 127 - code);
          return E4m3Fnuz::FromFloat(std::clamp(scaled, -224.0f, 224.0f)).ToFloat();
        };
        const float got = E4m3Fnuz::FromBits(result.mid.elements(pick, i)).ToFloat();
        ASSERT_TRUE(element(y(1, i)) <= got && got <= element(y(2, i)))
            << "pick " << pick << ", column " << i << ": " << got << ", expected "
            << element(y(1, i)) << " to " << element(y(2, i)) << " of gate " << sums(row, i)
            << ", up " << sums(row, inter + i);
      }
    }
  }

  // Both halves against the reference, the second from the first's own rows. `inexact`: blocks that
  // were within the activation's bound, but not its nearest value.
  void Check(const MoeProblem& p, const Data& data, const Result& result, int64_t* inexact) {
    const Tensor<Bf16, 2> x = Widened(data.x, p.padded_hidden());
    const auto q = reference::Quantize(x, judge::RoutedActivationOptions());
    ASSERT_TRUE(q.ok()) << q.status();
    uint32_t skipped = 0;
    for (int64_t pick = 0; pick < p.picks(); ++pick) skipped += Exists(p, data, pick) ? 0 : 1;
    EXPECT_EQ(result.status, skipped) << "picks of no expert";

    Tensor<float, 2> contributions(p.picks(), p.hidden);
    for (int64_t expert = 0; expert < p.experts; ++expert) {
      const std::vector<int64_t> picks = PicksOf(p, data, expert);
      if (picks.empty()) continue;
      const auto count = static_cast<int64_t>(picks.size());
      Mx rows = {reference::ElementFormat::kE4m3Fnuz, Tensor<uint8_t, 2>(count, p.padded_hidden()),
                 Tensor<uint8_t, 2>(count, p.padded_hidden() / 32)};
      Mx mid = {reference::ElementFormat::kE4m3Fnuz, Tensor<uint8_t, 2>(count, p.padded_inter()),
                Tensor<uint8_t, 2>(count, p.padded_inter() / 32)};
      for (int64_t i = 0; i < count; ++i) {
        const int64_t pick = picks[static_cast<size_t>(i)];
        rows.elements.chip(i, 0) = q->elements.chip(pick / p.top_k, 0);
        rows.codes.chip(i, 0) = q->codes.chip(pick / p.top_k, 0);
        mid.elements.chip(i, 0) = result.mid.elements.chip(pick, 0);
        mid.codes.chip(i, 0) = result.mid.codes.chip(pick, 0);
      }
      const Mx w13 = ExpertMatrix(data.padded.w13, data.padded.w13_codes, expert);
      const auto sums = judge::UpGateGemv(rows.view(), w13.view());
      ASSERT_TRUE(sums.ok()) << sums.status();
      const Mx w2 = ExpertMatrix(data.padded.w2, data.padded.w2_codes, expert);
      const auto down = judge::DownGemv(mid.view(), w2.view());
      ASSERT_TRUE(down.ok()) << down.status();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t pick = picks[static_cast<size_t>(i)];
        SCOPED_TRACE("expert " + std::to_string(expert));
        CheckMid(p, *sums, i, result, pick, inexact);
        if (HasFatalFailure()) return;
        for (int64_t h = 0; h < p.hidden; ++h) {
          contributions(pick, h) =
              reference::RoundToBf16((*down)(i, h) * data.weights.data()[pick]).ToFloat();
        }
      }
    }
    Tensor<Bf16, 2> expected(p.tokens, p.hidden);
    for (int64_t token = 0; token < p.tokens; ++token) {
      for (int64_t h = 0; h < p.hidden; ++h) {
        float sum = 0;
        for (int64_t slot = 0; slot < p.top_k; ++slot) {
          const int64_t pick = token * p.top_k + slot;
          if (!Exists(p, data, pick)) continue;
          sum = reference::RoundToBf16(sum + contributions(pick, h)).ToFloat();
        }
        if (data.shared.has_value()) sum += (*data.shared)(token, h).ToFloat();
        expected(token, h) = reference::RoundToBf16(sum);
      }
    }
    EXPECT_TRUE(reference::SameNumbers(expected, result.out));
  }

  // Draws, runs and checks.
  void Test(const MoeProblem& p, const Draw& draw = {}, bool exact = true) {
    const auto seed = static_cast<uint32_t>(NewSeed());
    SCOPED_TRACE("seed " + std::to_string(seed) + ", tokens " + std::to_string(p.tokens) +
                 ", top " + std::to_string(p.top_k) + " of " + std::to_string(p.experts) +
                 ", hidden " + std::to_string(p.hidden) + ", inter " + std::to_string(p.inter));
    std::mt19937 random(seed);
    const Data data = DrawData(p, draw, &random);
    Result result;
    Run(p, data, &result);
    if (HasFatalFailure()) return;
    int64_t inexact = 0;
    Check(p, data, result, &inexact);
    if (exact) {
      EXPECT_EQ(inexact, 0) << "blocks whose activation is not the nearest";
    }
    Result again;
    Run(p, data, &again);
    EXPECT_TRUE(reference::SameNumbers(result.out, again.out)) << "a second run";
  }

  std::optional<MoeUpGate> up_gate_;
  std::optional<MoeDown> down_;
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

// The experts of real models, a rank's part: hidden and intermediate sizes. Each with all of K in
// one of its two GEMVs at a time, few rows.
TEST_P(MoeTest, ShapesOfModels) {
  const struct {
    int64_t hidden, inter;
    Swiglu swiglu;
  } shapes[] = {
      {5120, 576, kDeepSeekSwiglu},   // DeepSeek V4.1-Flash by 4
      {5120, 1152, kDeepSeekSwiglu},  // by 2
      {4096, 512, kDeepSeekSwiglu},   // DeepSeek V4-Flash
      {7168, 384, kDeepSeekSwiglu},   // DeepSeek V4-Pro
      {6144, 768, kGptOssSwiglu},     // MiniMax M3 by 4
      {6144, 384, kGptOssSwiglu},     // by 8
      {2880, 2880, kGptOssSwiglu},    // gpt-oss
      {2880, 1440, kGptOssSwiglu},    // by 2
      {2880, 736, kGptOssSwiglu},     // by 4
      {2880, 384, kGptOssSwiglu},     // by 8
  };
  // Sums of this many products of bytes of any size: codes that leave them near 1.
  const Draw draw = {.lowest_code = 110, .highest_code = 118};
  for (const auto& shape : shapes) {
    for (const auto& [hidden, inter] :
         {std::pair<int64_t, int64_t>{shape.hidden, 64}, {64, shape.inter}}) {
      MoeProblem p = Small(2, 1, 2, hidden, inter);
      p.swiglu = shape.swiglu;
      Test(p, draw);
    }
  }
  Test(Small(1, 1, 1, 5120, 576), draw);
}

TEST_P(MoeTest, AnyNumberOfTokens) {
  for (int64_t tokens = 1; tokens <= 17; ++tokens) Test(Small(tokens, 2, 5, 256, 32));
  Test(Small(40, 3, 2, 256, 32));  // more than 16 picks of an expert
}

TEST_P(MoeTest, RandomShapes) {
  std::mt19937 random(static_cast<uint32_t>(NewSeed()));
  for (int i = 0; i < 8; ++i) {
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    MoeProblem p = Small(1 + below(6), 1 + below(16), 1 + below(20), 32 * (1 + below(16)),
                         32 * (1 + below(8)));
    if (i % 2 == 1) p.swiglu = kGptOssSwiglu;
    Test(p, {.shared = i % 3 != 0});
  }
}

TEST_P(MoeTest, HostileRoutings) {
  const auto all_one = [](Data* data) { data->experts.setConstant(2); };
  Test(Small(9, 16, 4), {.change = all_one});
  const auto all_different = [](Data* data) {
    for (int64_t i = 0; i < data->experts.size(); ++i) {
      data->experts.data()[i] = static_cast<int32_t>(data->experts.size() - 1 - i);
    }
  };
  Test(Small(4, 6, 24), {.change = all_different});
  const auto outside = [](Data* data) {
    const int32_t bad[] = {-1, 4, 5, INT32_MIN, INT32_MAX, 256};
    for (int64_t i = 0; i < data->experts.size(); i += 3) data->experts.data()[i] = bad[i / 3 % 6];
    for (int64_t slot = 0; slot < 6; ++slot) data->experts(1, slot) = bad[slot];  // none at all
  };
  Test(Small(4, 6, 4), {.change = outside});
  Test(Small(4, 6, 4), {.shared = false, .change = outside});
  const auto odd_weights = [](Data* data) {
    const float odd[] = {0.0f, -0.0f, 1e30f, -2.0f, INFINITY, NAN};
    for (int64_t i = 0; i < data->weights.size(); ++i) data->weights.data()[i] = odd[i % 6];
  };
  Test(Small(3, 6, 4), {.change = odd_weights});
  // More experts, and more picks, than a workgroup has work-items.
  Test(Small(30, 10, 300, 32, 32));
}

TEST_P(MoeTest, ExtremeCodesAndValues) {
  // Sums below, within and beyond the codes that go the short way, and weights that are not
  // numbers.
  Test(Small(3, 4, 4), {.lowest_code = 0, .highest_code = 255, .spread = 100}, false);
  Test(Small(3, 4, 4, 544, 160), {.lowest_code = 180, .highest_code = 254, .spread = 30}, false);
  Test(Small(3, 4, 4, 512, 128), {.lowest_code = 0, .highest_code = 64, .spread = 20}, false);
  Test(Small(3, 4, 4, 512, 192), {.lowest_code = 60, .highest_code = 66, .spread = 60}, false);
  const auto one_nan = [](judge::Experts* experts) {
    experts->w13_codes(1, 5, 2) = 255;
    experts->w2_codes(0, 7, 1) = 255;
  };
  Test(Small(4, 3, 3), {.change_experts = one_nan});
  const auto odd_x = [](Data* data) {
    data->x(0, 3) = Bf16::Nan();
    data->x(1, 200) = Bf16::FromFloat(INFINITY);
    for (int64_t k = 0; k < 256; ++k) data->x(2, k) = Bf16::FromFloat(-0.0f);
  };
  Test(Small(4, 3, 3), {.change = odd_x});
}

// Weights once, in loads of 8 lines for 1 KiB; no bank conflicts.
TEST_P(MoeTest, ReadsWeightsOnceAndWithoutGaps) {
  const MoeProblem p = Small(5, 2, 3, 1280, 576);
  std::mt19937 random(1);
  Data data = DrawData(p, {}, &random);
  data.experts.setConstant(1);  // 10 picks of one expert
  Result result;
  emulator::StartRecording();
  Run(p, data, &result);
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
  EXPECT_THAT(refusal(Small(1, 17, 3)), HasSubstr("top_k is 17, expected 1 to 16"));
  EXPECT_THAT(refusal(Small(1, 2, 0)), HasSubstr("experts is 0"));
  EXPECT_THAT(refusal(Small(1, 2, 3, 48)), HasSubstr("hidden is 48"));
  EXPECT_THAT(refusal(Small(1, 2, 3, 256, 40)), HasSubstr("inter is 40"));
  MoeUpGate::Operands operands = {};
  operands.x = reinterpret_cast<const void*>(2);
  const absl::Status unaligned = up_gate_->Launch(Small(1, 2, 3), operands, stream());
  EXPECT_THAT(std::string(unaligned.message()), HasSubstr("moe_up_gate: x"));

  p = Small(2, 2, 3);
  const Buffer experts = In(std::vector<int32_t>{0, 1, 2, 3}, "experts");
  const absl::Status outside = CheckExperts(p, experts.data(), stream());
  EXPECT_THAT(std::string(outside.message()), HasSubstr("experts[1, 1] is 3, expected 0 to 2"));
}

INSTANTIATE_TEST_SUITE_P(Chips, MoeTest, testing::Values("gfx942"), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip::gfx942
