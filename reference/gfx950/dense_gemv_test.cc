#include "reference/gfx950/dense_gemv.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/test_matrices.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference::gfx950 {
namespace {

// acc after one scaled instruction for 16 rows of w from n0 and the rows of x; past K zeros of code
// 127.
void KernelStep(const Mx& x, const Mx& w, std::int64_t n0, std::int64_t step,
                std::vector<std::uint32_t>* acc) {
  static const MatrixInstruction* instruction =
      cdna4::FindInstruction("v_mfma_scale_f32_16x16x128_f8f6f4");
  std::vector<std::uint8_t> a(16 * 128, 0), b(128 * 16, 0), a_codes(16 * 4, 127),
      b_codes(4 * 16, 127);
  const std::int64_t last = std::min<std::int64_t>(x.elements.dimension(1), 128 * step + 128);
  for (std::int64_t i = 0; i < 16; ++i) {
    for (std::int64_t k = 128 * step; k < last; ++k) {
      const std::int64_t at = k % 128;
      a[i * 128 + at] = w.elements(n0 + i, k);
      a_codes[i * 4 + at / 32] = w.view().code(n0 + i, k / 32);
      if (i >= x.elements.dimension(0)) continue;
      b[at * 16 + i] = x.elements(i, k);
      b_codes[at / 32 * 16 + i] = x.codes(i, k / 32);
    }
  }
  cdna4::ExecuteF8f6f4(*instruction, OperandFormat::kE4m3Fn, OperandFormat::kE4m3Fn, a.data(),
                       b.data(), {a_codes.data(), b_codes.data()}, acc->data(), acc->data());
}

// Waves with the steps they are given, added from +0.
Tensor<float, 2> KernelWaves(const Mx& x, const Mx& w,
                             const std::vector<std::vector<std::int64_t>>& steps_of_wave) {
  Tensor<float, 2> sum(x.elements.dimension(0), w.elements.dimension(0));
  sum.setZero();
  for (const std::vector<std::int64_t>& steps : steps_of_wave) {
    for (std::int64_t n0 = 0; n0 < sum.dimension(1); n0 += 16) {
      std::vector<std::uint32_t> acc(256, 0);
      for (const std::int64_t step : steps) KernelStep(x, w, n0, step, &acc);
      for (std::int64_t m = 0; m < sum.dimension(0); ++m) {
        for (std::int64_t i = 0; i < 16; ++i) {
          sum(m, n0 + i) += std::bit_cast<float>(acc[i * 16 + m]);
        }
      }
    }
  }
  return sum;
}

class DenseGemvTest : public testing::Test {
 protected:
  Mx Quantize16(std::int64_t k) {
    return OwnedMx(ElementFormat::kE4m3Fn,
                   *Quantize(RandomBf16(3, k, 4, &random_), DenseActivationOptions()));
  }
  Mx Weight(std::int64_t k) {
    return RandomMx(ElementFormat::kE4m3Fn, 32, k, 1, 118, 128, &random_);
  }
  std::mt19937 random_{71};
};

// 1216 = 9 steps and a half one.
TEST_F(DenseGemvTest, StridedWaves) {
  const Mx x = Quantize16(1216), w = Weight(1216);
  const Tensor<float, 2> expected =
      KernelWaves(x, w, {{0, 8}, {1, 9}, {2}, {3}, {4}, {5}, {6}, {7}});
  EXPECT_TRUE(SameNumbers(expected, *DenseGemv(x.view(), w.view(), kDensePlan)));
}

TEST_F(DenseGemvTest, ContiguousWaves) {
  const Mx x = Quantize16(1216), w = Weight(1216);
  const Tensor<float, 2> expected = KernelWaves(x, w, {{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9}});
  EXPECT_TRUE(SameNumbers(expected, *DenseGemv(x.view(), w.view(), kGroupedPlan)));
}

TEST_F(DenseGemvTest, TwoWorkgroups) {
  const Mx x = Quantize16(1216), w = Weight(1216);
  Tensor<float, 2> expected = KernelWaves(x, w, {{0}, {1}, {2}, {3}, {4}});
  const Tensor<float, 2> second = KernelWaves(x, w, {{5}, {6}, {7}, {8}, {9}});
  for (std::int64_t i = 0; i < expected.size(); ++i) expected.data()[i] += second.data()[i];
  EXPECT_TRUE(SameNumbers(expected, *DenseGemv(x.view(), w.view(), kSplitPlan)));
}

TEST_F(DenseGemvTest, QuantizesWithCode1ForZeros) {
  Tensor<Bf16, 2> x = RandomBf16(2, 128, 3, &random_);
  for (std::int64_t k = 32; k < 64; ++k) x(1, k) = Bf16::FromFloat(0);
  const Quantized q = *Quantize(x, DenseActivationOptions());
  EXPECT_EQ(q.codes(1, 1), 1);
  const Mx w = Weight(128);
  EXPECT_TRUE(
      SameNumbers(*DenseGemv(OwnedMx(ElementFormat::kE4m3Fn, q).view(), w.view(), kDensePlan),
                  *DenseGemv(x, w.view(), kDensePlan)));
}

TEST_F(DenseGemvTest, BadInputIsRefusedByName) {
  const Mx w = Weight(128);
  const Mx fp4 = RandomMx(ElementFormat::kE2m1, 2, 128, 2, 127, 127, &random_);
  EXPECT_TRUE(Refused(DenseGemv(fp4.view(), w.view(), kDensePlan).status(),
                      "x is of e2m1 and w of e4m3fn"));
  EXPECT_TRUE(Refused(DenseGemv(Quantize16(256).view(), w.view(), kDensePlan).status(),
                      "x has K = 256, w has K = 128"));
  EXPECT_TRUE(Refused(DenseGemv(w.view(), w.view(), {.waves = 0}).status(), "0 waves"));
}

}  // namespace
}  // namespace lanewise::reference::gfx950
