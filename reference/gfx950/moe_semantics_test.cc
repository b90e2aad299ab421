#include "reference/gfx950/moe_semantics.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/output.h"
#include "reference/gemm/test_matrices.h"
#include "reference/quantize/mx.h"

namespace lanewise::reference::gfx950 {
namespace {

std::vector<std::int64_t> Steps(std::initializer_list<std::int64_t> steps, std::int64_t blocks) {
  std::vector<std::int64_t> list;
  for (const std::int64_t step : steps) {
    for (std::int64_t block = 4 * step; block < 4 * step + 4 && block < blocks; ++block) {
      list.push_back(block);
    }
  }
  return list;
}

// 40 steps, 5 groups: the last group is shared.
TEST(MoeSemantics, UpGateDealsGroupsOfSteps) {
  const absl::StatusOr<Reduction> reduction = UpGateReduction(5120);
  ASSERT_TRUE(reduction.ok());
  ASSERT_EQ(reduction->parts.size(), 2u);
  EXPECT_EQ(reduction->parts[0].blocks,
            Steps({0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 32, 33, 34, 35}, 160));
  EXPECT_EQ(
      reduction->parts[1].blocks,
      Steps({8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31, 36, 37, 38, 39}, 160));
  // 4 groups: none is.
  const absl::StatusOr<Reduction> even = UpGateReduction(4096);
  ASSERT_TRUE(even.ok());
  EXPECT_EQ(even->parts[1].blocks,
            Steps({8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31}, 128));
}

TEST(MoeSemantics, FourSlicesTakePairsOfSteps) {
  const absl::StatusOr<Reduction> reduction = UpGateReduction(2048, 4);  // 16 steps.
  ASSERT_TRUE(reduction.ok());
  ASSERT_EQ(reduction->parts.size(), 2u);
  ASSERT_EQ(reduction->parts[0].parts.size(), 2u);
  EXPECT_EQ(reduction->parts[0].parts[0].blocks, Steps({0, 1, 8, 9}, 64));
  EXPECT_EQ(reduction->parts[0].parts[1].blocks, Steps({2, 3, 10, 11}, 64));
  EXPECT_EQ(reduction->parts[1].parts[0].blocks, Steps({4, 5, 12, 13}, 64));
  EXPECT_EQ(reduction->parts[1].parts[1].blocks, Steps({6, 7, 14, 15}, 64));
  EXPECT_TRUE(Refused(UpGateReduction(2176, 4).status(), "K = 2176 is not a multiple of 1024"));
  EXPECT_TRUE(Refused(UpGateReduction(2048, 3).status(), "3 slices"));
}

TEST(MoeSemantics, DownAlternatesSteps) {
  const absl::StatusOr<Reduction> reduction = DownReduction(576);  // 4.5 steps.
  ASSERT_TRUE(reduction.ok());
  EXPECT_EQ(reduction->parts[0].blocks, Steps({0, 2, 4}, 18));
  EXPECT_EQ(reduction->parts[1].blocks, Steps({1, 3}, 18));
  EXPECT_TRUE(Refused(DownReduction(40).status(), "K = 40"));
}

TEST(MoeSemantics, GemvsEvaluateTheirReductions) {
  std::mt19937 random(81);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 5, 576, 5, 118, 126, &random);
  const Mx w = RandomMx(ElementFormat::kE2m1, 64, 576, 64, 118, 126, &random);
  const std::unique_ptr<BlockProducts> products = *ExactBlockProducts(x.view(), w.view());
  EXPECT_TRUE(SameNumbers(EvaluateReduction(*DownReduction(576), *products, x.view(), w.view()),
                          *DownGemv(x.view(), w.view())));
  EXPECT_TRUE(SameNumbers(EvaluateReduction(*UpGateReduction(576), *products, x.view(), w.view()),
                          *UpGateGemv(x.view(), w.view())));
  EXPECT_TRUE(Refused(DownGemv(x.view(), x.view()).status(), "w is of e4m3fn, expected e2m1"));
  EXPECT_TRUE(Refused(DownGemv(w.view(), x.view()).status(), "w is of e4m3fn"));
}

TEST(MoeSemantics, RoutedExpertsIsTheStages) {
  std::mt19937 random(82);
  constexpr std::int64_t kK = 256, kInter = 64;
  const Mx up = RandomMx(ElementFormat::kE2m1, 2 * kInter, kK, 2 * kInter, 115, 122, &random);
  const Mx down = RandomMx(ElementFormat::kE2m1, kK, kInter, kK, 115, 122, &random);
  Tensor<std::uint8_t, 3> w13(1, 2 * kInter, kK / 2), w13_codes(1, 2 * kInter, kK / 32);
  Tensor<std::uint8_t, 3> w2(1, kK, kInter / 2), w2_codes(1, kK, kInter / 32);
  w13.chip(0, 0) = up.elements;
  w13_codes.chip(0, 0) = up.codes;
  w2.chip(0, 0) = down.elements;
  w2_codes.chip(0, 0) = down.codes;
  const Tensor<Bf16, 2> x = RandomBf16(3, kK, 2, &random);
  Tensor<std::int32_t, 2> ids(3, 1);
  Tensor<float, 2> weights(3, 1);
  ids.setZero();
  weights.setConstant(0.75f);
  const absl::StatusOr<MoeOutput> output =
      RoutedExperts(x, {w13, w13_codes, w2, w2_codes}, {ids, weights}, nullptr);
  ASSERT_TRUE(output.ok()) << output.status();

  const Mx q = OwnedMx(ElementFormat::kE4m3Fn, *Quantize(x, RoutedActivationOptions()));
  const Tensor<float, 2> gate_up = *UpGateGemv(q.view(), up.view());
  Tensor<Bf16, 2> y(3, kInter);
  for (std::int64_t m = 0; m < 3; ++m) {
    for (std::int64_t i = 0; i < kInter; ++i) {
      y(m, i) = Activate(kDeepSeekSwiglu, gate_up(m, i), gate_up(m, kInter + i));
    }
  }
  const Mx mid = OwnedMx(ElementFormat::kE4m3Fn, *Quantize(y, RoutedActivationOptions()));
  Tensor<float, 2> out = *DownGemv(mid.view(), down.view());
  for (std::int64_t i = 0; i < out.size(); ++i) out.data()[i] *= 0.75f;
  EXPECT_TRUE(SameNumbers(RoundToBf16(out), output->out));
}

TEST(MoeSemantics, ZeroBlocksHaveCode85) {
  Tensor<float, 2> zeros(1, 32);
  zeros.setZero();
  const absl::StatusOr<Quantized> q = Quantize(zeros, RoutedActivationOptions());
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(q->codes(0, 0), 85);
}

}  // namespace
}  // namespace lanewise::reference::gfx950
