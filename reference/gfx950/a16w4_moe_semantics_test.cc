#include "reference/gfx950/a16w4_moe_semantics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/output.h"
#include "reference/gemm/test_matrices.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference::gfx950 {
namespace {

Mx RandomFp4(std::int64_t rows, std::int64_t k, std::mt19937* random) {
  return RandomMx(ElementFormat::kE2m1, rows, k, rows, 118, 124, random);
}

// One step as the kernel's lanes issue it, for 16 rows of w from n0 and up to 16 tokens: lane 16 j
// + r holds row r's K 128 st + 32 j + 8 d .. + 8 as the instruction's k 8 j .. + 8.
void KernelStep(const Tensor<Bf16, 2>& x, const Mx& w, std::int64_t n0, std::int64_t step,
                std::uint32_t acc[256]) {
  static const MatrixInstruction* instruction = cdna4::FindInstruction("v_mfma_f32_16x16x32_bf16");
  for (std::int64_t d = 0; d < 4; ++d) {
    std::uint16_t a[16 * 32], b[32 * 16] = {};
    for (std::int64_t j = 0; j < 4; ++j) {
      for (std::int64_t i = 0; i < 8; ++i) {
        const std::int64_t k = 128 * step + 32 * j + 8 * d + i;
        for (std::int64_t r = 0; r < 16; ++r) {
          const float value =
              std::ldexp(DecodeElement(ElementFormat::kE2m1, w.view().element(n0 + r, k)),
                         w.codes(n0 + r, k / 32) - 127);
          a[r * 32 + 8 * j + i] = Bf16::FromFloat(value).bits();
          if (r < x.dimension(0)) b[(8 * j + i) * 16 + r] = x(r, k).bits();
        }
      }
    }
    cdna4::Execute(*instruction, a, b, acc, acc);
  }
}

// Steps [first, last) from zero: out[m][n].
Tensor<float, 2> KernelChain(const Tensor<Bf16, 2>& x, const Mx& w, std::int64_t first,
                             std::int64_t last) {
  Tensor<float, 2> out(x.dimension(0), w.elements.dimension(0));
  for (std::int64_t n0 = 0; n0 < out.dimension(1); n0 += 16) {
    std::uint32_t acc[256] = {};
    for (std::int64_t step = first; step < last; ++step) KernelStep(x, w, n0, step, acc);
    for (std::int64_t m = 0; m < out.dimension(0); ++m) {
      for (std::int64_t r = 0; r < 16; ++r) out(m, n0 + r) = std::bit_cast<float>(acc[r * 16 + m]);
    }
  }
  return out;
}

// Waves of whole pairs of steps, added from +0.
Tensor<float, 2> KernelUpGate(const Tensor<Bf16, 2>& x, const Mx& w) {
  const std::int64_t steps = x.dimension(1) / 128;
  const std::int64_t run = 2 * ((steps / 2 + 7) / 8);
  Tensor<float, 2> sum(x.dimension(0), w.elements.dimension(0));
  sum.setZero();
  for (std::int64_t wave = 0; wave < 8; ++wave) {
    const Tensor<float, 2> part =
        KernelChain(x, w, std::min(steps, wave * run), std::min(steps, (wave + 1) * run));
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.data()[i] += part.data()[i];
  }
  return sum;
}

TEST(A16w4, UpGateIsTheKernelsWaves) {
  std::mt19937 random(91);
  for (const std::int64_t k : {256, 2048, 2304}) {
    const Tensor<Bf16, 2> x = RandomBf16(5, k, 6, &random);
    const Mx w = RandomFp4(32, k, &random);
    const absl::StatusOr<Tensor<float, 2>> out = A16w4UpGate(x, w.view());
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(SameNumbers(KernelUpGate(x, w), *out)) << k;
  }
}

TEST(A16w4, DownIsOneChain) {
  std::mt19937 random(95);
  const Tensor<Bf16, 2> x = RandomBf16(5, 768, 6, &random);
  const Mx w = RandomFp4(32, 768, &random);
  const absl::StatusOr<Tensor<float, 2>> out = A16w4Down(x, w.view());
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_TRUE(SameNumbers(KernelChain(x, w, 0, 6), *out));
}

struct Experts {
  Tensor<std::uint8_t, 3> w13, w13_codes, w2, w2_codes;
  std::vector<Mx> up, down;

  Experts(std::int64_t e, std::int64_t k, std::int64_t inter, std::mt19937* random)
      : w13(e, 2 * inter, k / 2),
        w13_codes(e, 2 * inter, k / 32),
        w2(e, k, inter / 2),
        w2_codes(e, k, inter / 32) {
    for (std::int64_t i = 0; i < e; ++i) {
      // Expert 1 is expert 0 again, so that opposite weights make them cancel.
      up.push_back(i == 1 ? up[0] : RandomFp4(2 * inter, k, random));
      down.push_back(i == 1 ? down[0] : RandomFp4(k, inter, random));
      w13.chip(i, 0) = up.back().elements;
      w13_codes.chip(i, 0) = up.back().codes;
      w2.chip(i, 0) = down.back().elements;
      w2_codes.chip(i, 0) = down.back().codes;
    }
  }
  ExpertTensors view() const { return {w13, w13_codes, w2, w2_codes}; }
};

constexpr std::int64_t kK = 256;
constexpr std::int64_t kInter = 256;

// What down makes of one token in one expert, [K], with the biases of that expert if there are any.
std::vector<float> DownOf(const Tensor<Bf16, 2>& x, std::int64_t token, const Experts& experts,
                          std::int64_t expert, const Tensor<Bf16, 2>* w13_bias = nullptr,
                          const Tensor<Bf16, 2>* w2_bias = nullptr) {
  Tensor<Bf16, 2> row(1, kK);
  for (std::int64_t k = 0; k < kK; ++k) row(0, k) = x(token, k);
  Tensor<float, 2> gate_up = KernelUpGate(row, experts.up[expert]);
  Tensor<Bf16, 2> mid(1, kInter);
  for (std::int64_t i = 0; i < 2 * kInter; ++i) {
    if (w13_bias != nullptr) gate_up(0, i) += (*w13_bias)(expert, i).ToFloat();
  }
  for (std::int64_t i = 0; i < kInter; ++i) {
    mid(0, i) = Activate(kGptOssSwiglu, gate_up(0, i), gate_up(0, kInter + i));
  }
  const Tensor<float, 2> down = KernelChain(mid, experts.down[expert], 0, kInter / 128);
  std::vector<float> values(down.data(), down.data() + kK);
  for (std::int64_t h = 0; h < kK; ++h) {
    if (w2_bias != nullptr) values[h] += (*w2_bias)(expert, h).ToFloat();
  }
  return values;
}

// Picks of experts 0 and 1 with weights that cancel but for roundings, and of a third.
struct Picks {
  Tensor<std::int32_t, 2> ids;
  Tensor<float, 2> weights;

  Picks(std::int64_t tokens, std::mt19937* random) : ids(tokens, 3), weights(tokens, 3) {
    for (std::int64_t t = 0; t < tokens; ++t) {
      ids(t, 0) = 0;
      ids(t, 1) = 1;
      ids(t, 2) = t == 1 ? 77 : static_cast<std::int32_t>(t % 2 == 0 ? 3 : 4);
      weights(t, 0) = 256.0f;
      weights(t, 1) = -256.0f;
      weights(t, 2) = 0.3f + 0.1f * static_cast<float>((*random)() % 7);
    }
  }
};

// The shared expert first, then the picks in their order, bf16 at every addition.
TEST(A16w4, MoeAddsTheSharedExpertFirst) {
  std::mt19937 random(92);
  const Experts experts(6, kK, kInter, &random);
  for (const std::int64_t tokens : {3, 6}) {
    const Tensor<Bf16, 2> x = RandomBf16(tokens, kK, 3, &random);
    const Picks picks(tokens, &random);
    for (const bool shared : {false, true}) {
      const absl::StatusOr<MoeOutput> output =
          A16w4Moe(x, experts.view(), {picks.ids, picks.weights},
                   shared ? std::optional<std::int64_t>(5) : std::nullopt);
      ASSERT_TRUE(output.ok()) << output.status();
      EXPECT_EQ(output->skipped, 1);
      Tensor<Bf16, 2> expected(tokens, kK);
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::vector<float> of_shared = DownOf(x, t, experts, 5);
        for (std::int64_t h = 0; h < kK; ++h) {
          expected(t, h) = shared ? Bf16::FromFloat(of_shared[h]) : Bf16::FromFloat(0);
        }
        for (std::int64_t j = 0; j < 3; ++j) {
          if (picks.ids(t, j) >= 6) continue;
          const std::vector<float> c = DownOf(x, t, experts, picks.ids(t, j));
          for (std::int64_t h = 0; h < kK; ++h) {
            const Bf16 product = Bf16::FromFloat(c[h] * picks.weights(t, j));
            expected(t, h) = Bf16::FromFloat(expected(t, h).ToFloat() + product.ToFloat());
          }
        }
      }
      EXPECT_TRUE(SameNumbers(expected, output->out)) << tokens << " tokens, shared " << shared;
    }
  }
}

TEST(A16w4, MoeRowsDoNotDependOnTheOthers) {
  std::mt19937 random(96);
  const Experts experts(6, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(6, kK, 3, &random);
  const Picks picks(6, &random);
  const MoeOutput all = *A16w4Moe(x, experts.view(), {picks.ids, picks.weights}, 5);
  for (std::int64_t t = 0; t < 6; ++t) {
    const Eigen::array<std::int64_t, 2> at = {t, 0}, row = {1, kK}, three = {1, 3};
    const Tensor<Bf16, 2> one = x.slice(at, row);
    const Tensor<std::int32_t, 2> ids = picks.ids.slice(at, three);
    const Tensor<float, 2> weights = picks.weights.slice(at, three);
    const Tensor<Bf16, 2> expected = all.out.slice(at, row);
    EXPECT_TRUE(SameNumbers(expected, A16w4Moe(one, experts.view(), {ids, weights}, 5)->out)) << t;
  }
}

// Experts 10 .. 15 of 20, with biases.
TEST(A16w4, MoeOfARankWithBiases) {
  std::mt19937 random(97);
  const Experts experts(6, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(1, kK, 3, &random);
  const Tensor<Bf16, 2> w13_bias = RandomBf16(6, 2 * kInter, 2, &random);
  const Tensor<Bf16, 2> w2_bias = RandomBf16(6, kK, 2, &random);
  ExpertTensors tensors = experts.view();
  tensors.w13_bias = &w13_bias;
  tensors.w2_bias = &w2_bias;
  Tensor<std::int32_t, 2> ids(1, 3);
  Tensor<float, 2> weights(1, 3);
  ids(0, 0) = 13;
  ids(0, 1) = 4;   // another rank's
  ids(0, 2) = 20;  // nobody's
  weights.setConstant(0.75f);
  const absl::StatusOr<MoeOutput> output =
      A16w4Moe(x, tensors, {ids, weights, /*first_expert=*/10, /*all_experts=*/20}, 15);
  ASSERT_TRUE(output.ok()) << output.status();
  EXPECT_EQ(output->skipped, 1);
  const std::vector<float> shared = DownOf(x, 0, experts, 5, &w13_bias, &w2_bias);
  const std::vector<float> routed = DownOf(x, 0, experts, 3, &w13_bias, &w2_bias);
  Tensor<Bf16, 2> expected(1, kK);
  for (std::int64_t h = 0; h < kK; ++h) {
    expected(0, h) = Bf16::FromFloat(Bf16::FromFloat(shared[h]).ToFloat() +
                                     Bf16::FromFloat(routed[h] * 0.75f).ToFloat());
  }
  EXPECT_TRUE(SameNumbers(expected, output->out));
}

TEST(A16w4, NanCodesAndOverflow) {
  std::mt19937 random(93);
  Tensor<Bf16, 2> x(1, 256);
  for (std::int64_t k = 0; k < 256; ++k) x(0, k) = Bf16::FromFloat(k == 0 ? 1.0f : 0.0f);
  Mx w = RandomFp4(3, 256, &random);
  w.elements.setConstant(0x77);  // 6
  w.codes(0, 3) = 255;           // Not even where x is zero.
  w.codes(1, 0) = 254;           // 6 * 2^127 is no bf16.
  const absl::StatusOr<Tensor<float, 2>> out = A16w4UpGate(x, w.view());
  ASSERT_TRUE(out.ok());
  EXPECT_TRUE(std::isnan((*out)(0, 0)));
  EXPECT_TRUE(std::isnan((*out)(0, 1))) << "infinity times zero";
  EXPECT_EQ((*out)(0, 2), std::ldexp(6.0f, w.codes(2, 0) - 127));
}

TEST(A16w4, BadInputIsRefusedByName) {
  std::mt19937 random(94);
  const Mx w = RandomFp4(32, 384, &random);
  EXPECT_TRUE(Refused(A16w4UpGate(Tensor<Bf16, 2>(1, 384), w.view()).status(),
                      "K = 384 is not a multiple of 256"));
  EXPECT_TRUE(Refused(A16w4Down(Tensor<Bf16, 2>(1, 384), w.view()).status(),
                      "K = 384 is not a multiple of 256"));
  EXPECT_TRUE(Refused(A16w4UpGate(Tensor<Bf16, 2>(1, 256), w.view()).status(),
                      "x has K = 256, w has K = 384"));
  const Experts experts(2, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(2, kK, 3, &random);
  Tensor<std::int32_t, 2> ids(2, 1);
  Tensor<float, 2> weights(2, 1);
  ids.setZero();
  weights.setZero();
  EXPECT_TRUE(Refused(A16w4Moe(x, experts.view(), {ids, weights}, 2).status(),
                      "the shared expert is 2, expected one of the 2 from 0 on"));
  const Tensor<float, 2> wide(2, 3);
  EXPECT_TRUE(Refused(A16w4Moe(x, experts.view(), {ids, wide}, std::nullopt).status(),
                      "routing.weights is [2, 3]"));
  const Experts narrow(1, kK, 128, &random);
  EXPECT_TRUE(Refused(A16w4Moe(x, narrow.view(), {ids, weights}, std::nullopt).status(),
                      "inter = 128 is not a multiple of 256"));
}

}  // namespace
}  // namespace lanewise::reference::gfx950
