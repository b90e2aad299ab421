#include "reference/decode/hyper_connection.h"

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference {
namespace {

constexpr float kUlp = 0x1p-23f;

std::vector<Bf16> Bf16s(const std::vector<float>& values) {
  std::vector<Bf16> result;
  for (const float value : values) result.push_back(Bf16::FromFloat(value));
  return result;
}

TEST(HyperConnection, StreamsTakeTheOutputAndEachOther) {
  StreamMixes mixes = {};
  mixes.post = {1, 2, 3, 4};
  // Into stream 0 all four, into the others one each.
  mixes.comb = {1, 1, 0, 0,  //
                2, 0, 1, 0,  //
                4, 0, 0, 1,  //
                8, 0, 0, 0};
  const std::vector<Bf16> streams = Bf16s({1, 10, 100, 1000});
  const std::vector<Bf16> sums = *AddToStreams(streams, Bf16s({3}), mixes);
  EXPECT_EQ(sums[0].ToFloat(), Bf16::FromFloat(3 + 1 + 20 + 400 + 8000).ToFloat());
  EXPECT_EQ(sums[1].ToFloat(), 6 + 1);
  EXPECT_EQ(sums[2].ToFloat(), 9 + 10);
  EXPECT_EQ(sums[3].ToFloat(), 12 + 100);
  EXPECT_FALSE(AddToStreams(streams, Bf16s({3, 4}), mixes).ok());
}

// The fourth stream's product is fused, the others' are rounded: of a product 1 + 2^-7 + 2^-23 + ..
// and a sum of -(1 + 2^-7) only what the rounding leaves is left.
TEST(HyperConnection, OnlyTheLastProductIsFused) {
  StreamMixes mixes = {};
  const float x = 1 + 0x1p-7f, c = 1 + kUlp;  // x c = 1 + 2^-7 + 2^-23 + 2^-30
  mixes.comb[4 * 3] = c;
  mixes.post[0] = -1;
  std::vector<Bf16> streams = Bf16s({0, 0, 0, x});
  const float fused = AddToStreams(streams, Bf16s({x}), mixes)->at(0).ToFloat();
  EXPECT_EQ(fused, Bf16::FromFloat(kUlp * x).ToFloat());
  mixes.comb[4 * 3] = 0;
  mixes.comb[4 * 2] = c;
  streams = Bf16s({0, 0, x, 0});
  EXPECT_EQ(AddToStreams(streams, Bf16s({x}), mixes)->at(0).ToFloat(), kUlp) << "rounded";
}

TEST(HyperConnection, InputIsTheStreamsByPre) {
  const std::vector<Bf16> input =
      *CollapseStreams(Bf16s({1, 2, 3, 4, 5, 6, 7, 8}), {1, 10, 100, 1000});
  EXPECT_EQ(input[0].ToFloat(), Bf16::FromFloat(1 + 30 + 500 + 7000).ToFloat());
  EXPECT_EQ(input[1].ToFloat(), Bf16::FromFloat(2 + 40 + 600 + 8000).ToFloat());
  EXPECT_FALSE(CollapseStreams(Bf16s({1, 2, 3}), {1, 1, 1, 1}).ok());
}

// A weight and streams of n columns.
struct Problem {
  std::size_t n;
  std::vector<Bf16> streams;
  std::vector<float> weight, bias;

  explicit Problem(std::size_t columns)
      : n(columns), streams(4 * n, Bf16::FromFloat(0)), weight(24 * 4 * n, 0.0f), bias(24, 0.0f) {}
  MixGate gate() const { return {weight, {1, 1, 1}, bias}; }
};

TEST(HyperConnection, MixesOfNoProjection) {
  Problem problem(256);
  problem.bias[1] = 2;
  problem.bias[6] = -1;
  const StreamMixes mixes = *ComputeMixes(problem.streams, problem.gate());
  EXPECT_EQ(mixes.pre[0], 0.5f + 1e-6f);
  EXPECT_NEAR(mixes.pre[1], 1 / (1 + std::exp(-2.0)) + 1e-6, 1e-7);
  EXPECT_EQ(mixes.post[0], 1.0f);
  EXPECT_NEAR(mixes.post[2], 2 / (1 + std::exp(1.0)), 2e-7);
  for (const float e : mixes.comb) EXPECT_NEAR(e, 0.25, 1e-5);
}

// Against the formula in binary64: it does not hold the order, but every index.
TEST(HyperConnection, MixesAreTheFormula) {
  std::mt19937 random(31);
  std::normal_distribution<float> normal;
  Problem problem(512);
  for (Bf16& value : problem.streams) value = Bf16::FromFloat(normal(random));
  for (float& value : problem.weight) value = 0.1f * normal(random);
  for (float& value : problem.bias) value = normal(random);
  MixGate gate = problem.gate();
  gate.scale = {0.5f, 0.25f, 0.75f};
  const StreamMixes mixes = *ComputeMixes(problem.streams, gate);

  const std::size_t k = 4 * problem.n;
  double squares = 0;
  for (const Bf16 x : problem.streams) squares += static_cast<double>(x.ToFloat()) * x.ToFloat();
  std::vector<double> z(24);
  for (std::size_t j = 0; j < 24; ++j) {
    double mix = 0;
    for (std::size_t i = 0; i < k; ++i) {
      mix += static_cast<double>(problem.weight[j * k + i]) * problem.streams[i].ToFloat();
    }
    const double scale = j < 4 ? 0.5 : j < 8 ? 0.25 : 0.75;
    z[j] = mix / std::sqrt(squares / static_cast<double>(k)) * scale + problem.bias[j];
  }
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NEAR(mixes.pre[j], sigmoid(z[j]) + 1e-6, 2e-5) << j;
    EXPECT_NEAR(mixes.post[j], 2 * sigmoid(z[4 + j]), 4e-5) << j;
  }
  double e[4][4];
  for (std::size_t r = 0; r < 4; ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) sum += std::exp(z[8 + 4 * r + c]);
    for (std::size_t c = 0; c < 4; ++c) e[r][c] = std::exp(z[8 + 4 * r + c]) / sum + 1e-6;
  }
  for (int half = 1; half < 40; ++half) {  // columns, then 19 times rows and columns
    for (std::size_t line = 0; line < 4; ++line) {
      double sum = 1e-6;
      for (std::size_t i = 0; i < 4; ++i) sum += half % 2 == 1 ? e[i][line] : e[line][i];
      for (std::size_t i = 0; i < 4; ++i) (half % 2 == 1 ? e[i][line] : e[line][i]) /= sum;
    }
  }
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(mixes.comb[i], e[i / 4][i % 4], 2e-4) << i;
}

// 2^24, 1 and -2^24 in three slices: in one group of 8 the 1 is lost, in a group of its own it is
// not. All in one stream, so that the squares are the same.
TEST(HyperConnection, SlicesAreAddedInGroupsOf8) {
  const auto post = [](std::size_t slice_of_one) {
    Problem problem(512);  // 16 slices
    for (const auto& [slice, weight] : {std::pair<std::size_t, float>{0, 0x1p24f},
                                        {slice_of_one, 1.0f},
                                        {slice_of_one == 1 ? 2 : 1, -0x1p24f}}) {
      problem.streams[32 * slice] = Bf16::FromFloat(1);
      problem.weight[4 * 4 * problem.n + 32 * slice] = weight;
    }
    // rstd is sqrt(2048 / 3); a sum of 1 becomes 26.1 by it, of which this is a small part.
    MixGate gate = problem.gate();
    gate.scale = {0, 0.01f, 0};
    return ComputeMixes(problem.streams, gate)->post[0];
  };
  EXPECT_EQ(post(1), 1.0f);
  EXPECT_NEAR(post(8), 2 / (1 + std::exp(-0.01 * std::sqrt(2048.0 / 3))), 1e-5);
}

// The kernel keeps a weight as two bf16 numbers: 16 significant bits and more.
TEST(HyperConnection, WeightsAreTwoBf16) {
  Problem problem(256);
  problem.streams[0] = Bf16::FromFloat(1);
  const float kept = 1 + 0x1p-9f, lost = 1 + 0x1p-9f + 0x1p-22f;  // 2^-9 (1 + 2^-13): 13 bits
  MixGate gate = problem.gate();
  gate.scale = {0, 0.01f, 0};
  problem.weight[4 * 4 * problem.n] = kept;
  const float of_kept = ComputeMixes(problem.streams, gate)->post[0];
  problem.weight[4 * 4 * problem.n] = lost;
  EXPECT_EQ(ComputeMixes(problem.streams, gate)->post[0], of_kept);
}

TEST(HyperConnection, BadSizesAreRefused) {
  const Problem problem(224);
  EXPECT_EQ(ComputeMixes(problem.streams, problem.gate()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace lanewise::reference
