#include "reference/decode/router.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference {
namespace {

std::vector<Bf16> Draw(std::size_t n, std::mt19937* random) {
  std::vector<Bf16> values;
  std::normal_distribution<float> normal;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(Bf16::FromFloat(std::ldexp(normal(*random), static_cast<int>(i % 7))));
  }
  return values;
}

// acc of 16 experts after an instruction of K `columns`, for one token in column 0.
template <class Execute>
void Multiply(const MatrixInstruction* instruction, Execute execute, const std::vector<Bf16>& gate,
              const std::vector<Bf16>& x, const std::vector<std::size_t>& columns,
              std::vector<std::uint32_t>* acc) {
  std::vector<std::uint16_t> a(16 * columns.size()), b(columns.size() * 16, 0);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t e = 0; e < 16; ++e) {
      a[e * columns.size() + i] = gate[e * x.size() + columns[i]].bits();
    }
    b[i * 16] = x[columns[i]].bits();
  }
  execute(*instruction, a.data(), b.data(), acc->data(), acc->data());
}

TEST(Router, DeepSeekLogitsAreTheKernelsInstructions) {
  std::mt19937 random(21);
  constexpr std::size_t kK = 2048, kSteps = kK / 32;
  const std::vector<Bf16> x = Draw(kK, &random), gate = Draw(16 * kK, &random);
  for (const RouterChip chip : {RouterChip::kGfx942, RouterChip::kGfx950}) {
    std::vector<float> expected(16, 0);
    for (std::size_t part = 0; part < 4; ++part) {
      std::vector<float> waves(16, 0);
      for (std::size_t wave = 0; wave < 8; ++wave) {
        std::vector<std::uint32_t> acc(256, 0);
        for (std::size_t i = wave; i < kSteps / 4; i += 8) {
          const std::size_t first = 32 * (part * kSteps / 4 + i);
          std::vector<std::size_t> all, low, high;
          for (std::size_t k = 0; k < 32; ++k) {
            all.push_back(first + k);
            (k % 8 < 4 ? low : high).push_back(first + k);
          }
          if (chip == RouterChip::kGfx950) {
            Multiply(cdna4::FindInstruction("v_mfma_f32_16x16x32_bf16"), cdna4::Execute, gate, x,
                     all, &acc);
          } else {
            const auto* instruction = cdna3::FindInstruction("v_mfma_f32_16x16x16_bf16");
            Multiply(instruction, cdna3::Execute, gate, x, low, &acc);
            Multiply(instruction, cdna3::Execute, gate, x, high, &acc);
          }
        }
        for (std::size_t e = 0; e < 16; ++e) waves[e] += std::bit_cast<float>(acc[16 * e]);
      }
      for (std::size_t e = 0; e < 16; ++e) expected[e] += waves[e];
    }
    const absl::StatusOr<std::vector<float>> logits = DeepSeekLogits(x, gate, 16, chip);
    ASSERT_TRUE(logits.ok()) << logits.status();
    EXPECT_EQ(*logits, expected);
  }
}

using Ids = std::vector<std::int32_t>;

TEST(Router, DeepSeekPicksTheLargestAndOfEqualOnesTheLowestLane) {
  std::vector<float> logits(384, 1.0f), bias(384, 0.0f);
  bias[7] = 3;
  bias[65] = bias[2] = 2;  // lanes 1 and 2
  const Picks picks = *DeepSeekRoute(logits, bias, 4);
  EXPECT_EQ(picks.experts, (Ids{7, 65, 2, 0}));
  // The bias picks and does not weigh: equal scores share 1.5.
  const auto score = static_cast<float>(std::sqrt(std::log1p(std::exp(1.0))));
  const float total = ((score + score) + score) + score;
  EXPECT_NEAR(picks.weights[0], score * (1.5f / total), 1e-6);
  for (const float weight : picks.weights) EXPECT_EQ(weight, picks.weights[0]);
}

// Six experts of a lane, all but the last equal: the network leaves them 5, 0, 2, 3, 1, 4.
TEST(Router, DeepSeekEqualExpertsOfALaneComeAsTheNetworkLeavesThem) {
  std::vector<float> logits(384, -30.0f), bias(384, 0.0f);
  for (std::size_t i = 0; i < 6; ++i) logits[64 * i] = 1.0f;
  bias[320] = 1;
  EXPECT_EQ(DeepSeekRoute(logits, bias, 6)->experts, (Ids{320, 0, 128, 192, 64, 256}));
}

TEST(Router, DeepSeekScores) {
  std::vector<float> logits(128, -100.0f), bias(128, 0.0f);
  logits[3] = 64;  // above 20: the square root of itself
  logits[5] = 0;   // sqrt(ln 2)
  const Picks picks = *DeepSeekRoute(logits, bias, 2);
  EXPECT_EQ(picks.experts, (Ids{3, 5}));
  const double low = std::sqrt(std::log(2.0));
  EXPECT_NEAR(picks.weights[0], 8 * 1.5 / (8 + low), 1e-6);
  EXPECT_NEAR(picks.weights[1], low * 1.5 / (8 + low), 1e-6);
}

TEST(Router, DeepSeekNanMakesAllPicksLane0s) {
  std::vector<float> logits(384, 1.0f), bias(384, 0.0f);
  for (std::size_t i = 0; i < 6; ++i) bias[64 * i] = -static_cast<float>(i);
  bias[200] = 50;
  logits[77] = std::nanf("");
  // In its lane the NaN never gives way, so it is not the first of it unless it stands first.
  logits[13] = std::nanf("");
  const Picks picks = *DeepSeekRoute(logits, bias, 7);
  EXPECT_EQ(picks.experts, (Ids{0, 64, 128, 192, 256, 320, 0}));
  EXPECT_EQ(picks.weights[6], 0.0f);
  EXPECT_EQ(picks.weights[0], picks.weights[5]);
}

TEST(Router, MiniMaxLogitsAreTheKernelsOrder) {
  std::mt19937 random(22);
  const std::vector<Bf16> x = Draw(6144, &random);
  std::vector<float> gate(128 * 6144);
  std::normal_distribution<float> normal;
  for (float& value : gate) value = normal(random);
  const std::vector<float> logits = *MiniMaxLogits(x, gate);
  const MatrixInstruction* instruction = cdna4::FindInstruction("v_mfma_f32_16x16x4_f32");
  for (std::size_t e0 : {0, 112}) {
    std::vector<float> expected(16, 0), four(16, 0);
    for (std::size_t part = 0; part < 16; ++part) {
      std::vector<float> waves(16, 0);
      for (std::size_t wave = 0; wave < 8; ++wave) {
        std::vector<std::uint32_t> acc(256, 0);
        for (std::size_t c = 0; c < 3; ++c) {
          for (std::size_t i = 0; i < 4; ++i) {
            std::vector<float> a(16 * 4), b(4 * 16, 0);
            for (std::size_t j = 0; j < 4; ++j) {
              const std::size_t k = 384 * part + 48 * wave + 16 * c + 4 * j + i;
              for (std::size_t e = 0; e < 16; ++e) a[4 * e + j] = gate[(e0 + e) * 6144 + k];
              b[16 * j] = x[k].ToFloat();
            }
            cdna4::Execute(*instruction, a.data(), b.data(), acc.data(), acc.data());
          }
        }
        for (std::size_t e = 0; e < 16; ++e) waves[e] += std::bit_cast<float>(acc[16 * e]);
      }
      for (std::size_t e = 0; e < 16; ++e) {
        four[e] = part % 4 == 0 ? 0.0f + waves[e] : four[e] + waves[e];
        if (part % 4 == 3) expected[e] += four[e];
      }
    }
    for (std::size_t e = 0; e < 16; ++e) EXPECT_EQ(logits[e0 + e], expected[e]) << e0 + e;
  }
}

TEST(Router, MiniMaxPicksTheLowerOfEqualExpertsAndNoNan) {
  std::vector<float> logits(128, 0.0f), bias(128, 0.0f);
  bias[66] = bias[3] = 1;
  bias[100] = 2;
  logits[1] = std::nanf("");
  const Picks picks = *MiniMaxRoute(logits, bias, 4);
  EXPECT_EQ(picks.experts, (Ids{100, 3, 66, 0}));
  EXPECT_EQ(picks.weights, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(MiniMaxRoute(logits, bias, 4)->experts, picks.experts);
  bias[1] = 100;
  EXPECT_EQ(MiniMaxRoute(logits, bias, 4)->experts, picks.experts) << "NaN is -infinity";
}

TEST(Router, BadSizesAreRefused) {
  const std::vector<Bf16> x(1024), gate(1024);
  EXPECT_FALSE(DeepSeekLogits(x, gate, 2, RouterChip::kGfx950).ok());
  const std::vector<float> few(64), many(128);
  EXPECT_FALSE(DeepSeekRoute(few, few, 1).ok());
  EXPECT_FALSE(DeepSeekRoute(many, few, 1).ok());
  EXPECT_FALSE(DeepSeekRoute(many, many, 0).ok());
  EXPECT_FALSE(MiniMaxLogits(x, many).ok());
  EXPECT_FALSE(MiniMaxRoute(few, few, 1).ok());
}

}  // namespace
}  // namespace lanewise::reference
