#include "reference/gfx950/a16w4_moe_semantics.h"

#include <bit>
#include <cmath>
#include <cstdint>
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

Tensor<float, 2> KernelUpGate(const Tensor<Bf16, 2>& x, const Mx& w) {
  const std::int64_t steps = x.dimension(1) / 128;
  const std::int64_t run = (steps + 7) / 8;
  Tensor<float, 2> sum = KernelChain(x, w, 0, run);
  for (std::int64_t wave = 1; wave < 8; ++wave) {
    const Tensor<float, 2> part =
        KernelChain(x, w, std::min(steps, wave * run), std::min(steps, (wave + 1) * run));
    for (std::int64_t i = 0; i < sum.size(); ++i) sum.data()[i] += part.data()[i];
  }
  return sum;
}

TEST(A16w4, UpGateIsTheKernelsWaves) {
  std::mt19937 random(91);
  for (const std::int64_t k : {128, 1024, 1280}) {
    const Tensor<Bf16, 2> x = RandomBf16(5, k, 6, &random);
    const Mx w = RandomFp4(32, k, &random);
    const absl::StatusOr<Tensor<float, 2>> out = A16w4UpGate(x, w.view());
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_TRUE(SameNumbers(KernelUpGate(x, w), *out)) << k;
  }
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
      // Expert 1 is expert 0 again, so that opposite weights make their units cancel.
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

constexpr std::int64_t kK = 128;
constexpr std::int64_t kInter = 256;

// The down GEMM's steps of one token in one expert: [2][K].
std::vector<Tensor<float, 2>> Units(const Tensor<Bf16, 2>& x, std::int64_t token,
                                    const Experts& experts, std::int64_t expert) {
  Tensor<Bf16, 2> row(1, kK);
  for (std::int64_t k = 0; k < kK; ++k) row(0, k) = x(token, k);
  const Tensor<float, 2> gate_up = KernelUpGate(row, experts.up[expert]);
  Tensor<Bf16, 2> mid(1, kInter);
  for (std::int64_t i = 0; i < kInter; ++i) {
    mid(0, i) = Activate(kGptOssSwiglu, gate_up(0, i), gate_up(0, kInter + i));
  }
  return {KernelChain(mid, experts.down[expert], 0, 1),
          KernelChain(mid, experts.down[expert], 1, 2)};
}

// Both regimes: 3 tokens deal their own picks, 6 tokens the union.
TEST(A16w4, MoeDealsUnitsToWaves) {
  std::mt19937 random(92);
  const Experts experts(6, kK, kInter, &random);
  for (const std::int64_t tokens : {3, 6}) {
    const Tensor<Bf16, 2> x = RandomBf16(tokens, kK, 3, &random);
    Tensor<std::int32_t, 2> ids(tokens, 3);
    Tensor<float, 2> weights(tokens, 3);
    Tensor<float, 1> shared_weights(tokens);
    for (std::int64_t t = 0; t < tokens; ++t) {
      // Large terms that cancel, in different waves: what is left shows every rounding.
      ids(t, 0) = 0;
      ids(t, 1) = 1;
      ids(t, 2) = t == 1 ? 77 : static_cast<std::int32_t>(t % 2 == 0 ? 3 : 4);
      weights(t, 0) = 0x1p20f;
      weights(t, 1) = -0x1p20f;
      weights(t, 2) = 0.3f + 0.1f * static_cast<float>(random() % 7);
      shared_weights(t) = 1.0f;
    }
    const SharedPick shared = {5, shared_weights};
    const absl::StatusOr<MoeOutput> output = A16w4Moe(x, experts.view(), {ids, weights}, &shared);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->skipped, 1);
    Tensor<Bf16, 2> expected(tokens, kK);
    for (std::int64_t t = 0; t < tokens; ++t) {
      std::vector<std::array<float, 4>> waves(kK, {0, 0, 0, 0});
      const auto add = [&](std::int64_t expert, float weight, std::int64_t place) {
        const std::vector<Tensor<float, 2>> units = Units(x, t, experts, expert);
        for (std::int64_t step = 0; step < 2; ++step) {
          for (std::int64_t h = 0; h < kK; ++h) {
            const float product = units[step](0, h) * weight;
            waves[h][(2 * place + step) % 4] += product;
          }
        }
      };
      if (tokens <= 4) {
        for (int j = 0; j < 3; ++j) {
          if (ids(t, j) < 6) add(ids(t, j), weights(t, j), j);
        }
      } else {
        // The union is 0, 1, 3, 4.
        const int experts_of_union[] = {0, 1, 3, 4};
        for (int place = 0; place < 4; ++place) {
          for (int j = 0; j < 3; ++j) {
            if (ids(t, j) == experts_of_union[place]) add(ids(t, j), weights(t, j), place);
          }
        }
      }
      std::vector<float> sums(kK);
      for (std::int64_t h = 0; h < kK; ++h) {
        sums[h] = ((waves[h][0] + waves[h][1]) + waves[h][2]) + waves[h][3];
        waves[h] = {0, 0, 0, 0};
      }
      add(5, 1.0f, 0);
      for (std::int64_t h = 0; h < kK; ++h) {
        for (const float wave : waves[h]) sums[h] += wave;
        expected(t, h) = RoundToBf16(sums[h]);
      }
    }
    EXPECT_TRUE(SameNumbers(expected, output->out)) << tokens << " tokens";
  }
}

TEST(A16w4, NanCodesAndOverflow) {
  std::mt19937 random(93);
  Tensor<Bf16, 2> x(1, 128);
  for (std::int64_t k = 0; k < 128; ++k) x(0, k) = Bf16::FromFloat(k == 0 ? 1.0f : 0.0f);
  Mx w = RandomFp4(3, 128, &random);
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
  const Mx w = RandomFp4(32, 160, &random);
  EXPECT_TRUE(Refused(A16w4UpGate(Tensor<Bf16, 2>(1, 160), w.view()).status(),
                      "K = 160 is not a multiple of 128"));
  EXPECT_TRUE(Refused(A16w4UpGate(Tensor<Bf16, 2>(1, 128), w.view()).status(),
                      "x has K = 128, w has K = 160"));
  const Experts experts(2, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(2, kK, 3, &random);
  Tensor<std::int32_t, 2> ids(2, 1);
  Tensor<float, 2> weights(2, 1);
  ids.setZero();
  weights.setZero();
  const Tensor<float, 1> shared_weights(2);
  const SharedPick shared = {2, shared_weights};
  EXPECT_TRUE(Refused(A16w4Moe(x, experts.view(), {ids, weights}, &shared).status(),
                      "the shared expert is 2"));
  const Tensor<float, 2> wide(2, 3);
  EXPECT_TRUE(Refused(A16w4Moe(x, experts.view(), {ids, wide}, nullptr).status(),
                      "routing.weights [2, 3]"));
}

}  // namespace
}  // namespace lanewise::reference::gfx950
