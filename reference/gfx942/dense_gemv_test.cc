#include "reference/gfx942/dense_gemv.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/dense.h"
#include "reference/matrix_core/cdna3.h"

namespace lanewise::reference::gfx942 {
namespace {

Mx QuantizedActivation(const Tensor<Bf16, 2>& x) {
  return OwnedMx(ElementFormat::kE4m3Fnuz, *Quantize(x, DenseActivationOptions()));
}

Mx Fnuz(const Mx& ocp) { return OwnedMx(ElementFormat::kE4m3Fnuz, *FnuzWeight(ocp.view())); }

// The kernel as it runs: every wave over its masked steps, padded K read as zeros with code 128,
// one fused multiply-add a block, then the waves.
float KernelElement(const Mx& x, const Mx& w, std::int64_t m, std::int64_t n, std::int64_t first,
                    std::int64_t last, int waves, bool contiguous) {
  const std::int64_t blocks = x.codes.dimension(1);
  const std::int64_t rounds = (last - first + waves - 1) / waves;
  float sum = 0;
  for (int wave = 0; wave < waves; ++wave) {
    float acc = 0;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::int64_t step = first + (contiguous ? wave * rounds + round : round * waves + wave);
      for (std::int64_t b = 4 * step; b < 4 * step + 4; ++b) {
        if (step >= last || b >= blocks) continue;  // A factor of +0.
        const float d = std::bit_cast<float>(
            cdna3::DotAccumulate(OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz,
                                 &w.elements(n, 32 * b), &x.elements(m, 32 * b), 32, 0));
        const int exponent = w.codes(n / 32, b) + x.codes(m, b) - 254;
        acc = std::fma(d, std::ldexp(1.0f, exponent), acc);
      }
    }
    sum += acc;
  }
  return sum;
}

// What no multiple of 2^-126 lies above: the smallest code is 1, of zeros too.
TEST(DenseGemv, ActivationsBelowTheSmallestScaleHaveCode1) {
  Tensor<Bf16, 2> x(3, 32);
  x.setConstant(Bf16::FromFloat(0.0f));
  x(1, 5) = Bf16::FromFloat(1.75f * 0x1p-120f);  // 224 * 2^-127: fits code 0 too
  x(2, 5) = Bf16::FromFloat(1.75f * 0x1p-118f);  // 224 * 2^-125
  const Quantized q = *Quantize(x, DenseActivationOptions());
  EXPECT_EQ(q.codes(0, 0), 1);
  EXPECT_EQ(q.elements(0, 5), 0x00);
  EXPECT_EQ(q.codes(1, 0), 1);
  EXPECT_EQ(DecodeElement(ElementFormat::kE4m3Fnuz, q.elements(1, 5)), 112.0f);
  EXPECT_EQ(q.codes(2, 0), 2);
  EXPECT_EQ(DecodeElement(ElementFormat::kE4m3Fnuz, q.elements(2, 5)), 224.0f);
}

// A zero block beside a weight code whose sum with 1 is 126: the source's factor overflows there,
// the exact one does not.
TEST(DenseGemv, ZeroBlocksAddNothingWhateverTheCode) {
  std::mt19937 random(42);
  Mx ocp = RandomMx(ElementFormat::kE4m3Fn, 32, 128, 1, 115, 115, &random);
  for (const int code : {123, 124, 125}) {
    ocp.codes(0, 2) = static_cast<std::uint8_t>(code);
    const Mx w = Fnuz(ocp);
    Tensor<Bf16, 2> x = RandomBf16(1, 128, 3, &random);
    for (std::int64_t k = 64; k < 96; ++k) x(0, k) = Bf16::FromFloat(0.0f);
    const Tensor<float, 2> out = *DenseGemv(x, w.view(), kDensePlan);
    for (std::int64_t n = 0; n < 32; ++n) EXPECT_TRUE(std::isfinite(out(0, n))) << code;
  }
}

TEST(DenseGemv, PlansAreTheKernelsOrders) {
  std::mt19937 random(41);
  for (const std::int64_t k : {96, 1024, 1280, 4096, 576}) {
    const Mx w = Fnuz(RandomMx(ElementFormat::kE4m3Fn, 64, k, 2, 118, 128, &random));
    const Mx x = QuantizedActivation(RandomBf16(3, k, 3, &random));
    const std::int64_t steps = (k + 127) / 128;
    for (const auto& [plan, contiguous] :
         {std::pair(kDensePlan, false), std::pair(kGroupedPlan, true),
          std::pair(kSplitPlan, false)}) {
      const absl::StatusOr<Tensor<float, 2>> out = DenseGemv(x.view(), w.view(), plan);
      ASSERT_TRUE(out.ok()) << out.status();
      Tensor<float, 2> expected(3, 64);
      for (std::int64_t m = 0; m < 3; ++m) {
        for (std::int64_t n = 0; n < 64; ++n) {
          const std::int64_t half = (steps + plan.splits - 1) / plan.splits;
          expected(m, n) = KernelElement(x, w, m, n, 0, half, plan.waves, contiguous);
          if (plan.splits == 2) {
            expected(m, n) += KernelElement(x, w, m, n, half, steps, plan.waves, contiguous);
          }
        }
      }
      EXPECT_TRUE(SameNumbers(expected, *out))
          << "K " << k << " waves " << plan.waves << " splits " << plan.splits;
    }
  }
}

TEST(DenseGemv, ReductionCoversEachBlockOnce) {
  for (std::int64_t k = 0; k <= 6144; k += 32) {
    for (const DenseGemvPlan& plan : {kDensePlan, kGroupedPlan, kSplitPlan}) {
      const absl::StatusOr<Reduction> reduction = DenseGemvReduction(k, plan);
      ASSERT_TRUE(reduction.ok());
      std::vector<int> count(k / 32, 0);
      for (const Reduction& workgroup : reduction->parts) {
        for (const Reduction& wave : workgroup.parts) {
          for (const std::int64_t block : wave.blocks) ++count.at(block);
        }
      }
      ASSERT_EQ(count, std::vector<int>(k / 32, 1)) << "K " << k;
    }
  }
}

// The FNUZ weight and the copy's codes hold the numbers of the OCP weight.
TEST(DenseGemv, FnuzWeightIsTheCopyInLogicalOrderAndKeepsValues) {
  std::mt19937 random(42);
  Mx ocp = RandomMx(ElementFormat::kE4m3Fn, 32, 128, 1, 0, 249, &random);
  ocp.elements(3, 5) = 0x80;
  const Mx fnuz = Fnuz(ocp);
  EXPECT_EQ(fnuz.elements(3, 5), 0x00);
  for (std::int64_t n = 0; n < 32; ++n) {
    for (std::int64_t k = 0; k < 128; ++k) {
      const double before =
          std::ldexp(DecodeElement(ocp.format, ocp.elements(n, k)), ocp.codes(0, k / 32) - 127);
      const double after =
          std::ldexp(DecodeElement(fnuz.format, fnuz.elements(n, k)), fnuz.codes(0, k / 32) - 127);
      ASSERT_EQ(before, after) << n << " " << k;
    }
  }
  const absl::StatusOr<DenseCopied> copy = DenseCopy(ocp.elements, ocp.codes, ChunkOrder::kNatural);
  ASSERT_TRUE(copy.ok());
  const absl::StatusOr<DenseWeight> back =
      UndoDenseCopy(copy->bytes, copy->codes, 128, ChunkOrder::kNatural);
  ASSERT_TRUE(back.ok());
  for (std::int64_t i = 0; i < back->bytes.size(); ++i) {
    ASSERT_EQ(back->bytes.data()[i], fnuz.elements.data()[i]) << i;
  }
  for (std::int64_t i = 0; i < copy->codes.size(); ++i) {
    ASSERT_EQ(copy->codes.data()[i], fnuz.codes.data()[i]) << i;
  }
}

TEST(DenseGemv, ActivationsAreOcpBytesWithCodesOneHigher) {
  std::mt19937 random(43);
  const Tensor<Bf16, 2> x = RandomBf16(16, 256, 20, &random);
  const Mx fnuz = QuantizedActivation(x);
  const absl::StatusOr<Quantized> ocp = Quantize(x, DefaultQuantizeOptions(ElementFormat::kE4m3Fn));
  ASSERT_TRUE(ocp.ok());
  for (std::int64_t i = 0; i < ocp->elements.size(); ++i) {
    const std::uint8_t byte = ocp->elements.data()[i];
    ASSERT_EQ(fnuz.elements.data()[i], byte == 0x80 ? 0 : byte) << i;
  }
  for (std::int64_t i = 0; i < ocp->codes.size(); ++i) {
    ASSERT_EQ(fnuz.codes.data()[i], ocp->codes.data()[i] + 1) << i;
  }
}

TEST(DenseGemv, QuantizesItself) {
  std::mt19937 random(44);
  const Tensor<Bf16, 2> x = RandomBf16(5, 256, 3, &random);
  const Mx w = Fnuz(RandomMx(ElementFormat::kE4m3Fn, 32, 256, 1, 118, 128, &random));
  const absl::StatusOr<Tensor<float, 2>> apart =
      DenseGemv(QuantizedActivation(x).view(), w.view(), kDensePlan);
  const absl::StatusOr<Tensor<float, 2>> itself = DenseGemv(x, w.view(), kDensePlan);
  ASSERT_TRUE(apart.ok() && itself.ok());
  EXPECT_TRUE(SameNumbers(*apart, *itself));
}

// Every sum of codes: no factor is built from exponent bits that wrap.
TEST(DenseGemv, ExtremeCodes) {
  std::mt19937 random(45);
  Mx x = RandomMx(ElementFormat::kE4m3Fnuz, 16, 32, 16, 0, 254, &random);
  Mx w = RandomMx(ElementFormat::kE4m3Fnuz, 64, 32, 64, 0, 254, &random);
  // One nonzero product a row, so that the matrix core rounds nothing.
  x.elements.setZero();
  w.elements.setZero();
  for (std::int64_t m = 0; m < 16; ++m) x.elements(m, 7) = 0x35;
  for (std::int64_t n = 0; n < 64; ++n) w.elements(n, 7) = 0xC9;
  x.codes(0, 0) = 0;
  w.codes(0, 0) = 0;
  x.codes(1, 0) = 254;
  w.codes(1, 0) = 254;
  const absl::StatusOr<Tensor<float, 2>> out = DenseGemv(x.view(), w.view(), kDensePlan);
  const absl::StatusOr<Tensor<float, 2>> exact = ExactLinear<float>(x.view(), w.view());
  ASSERT_TRUE(out.ok() && exact.ok());
  EXPECT_EQ((*out)(0, 0), 0.0f);
  EXPECT_EQ((*out)(1, 1), -INFINITY);
  // The waves' sums are added from +0, so what underflows is +0.
  Tensor<float, 2> expected = *exact;
  for (std::int64_t i = 0; i < expected.size(); ++i) expected.data()[i] += 0.0f;
  EXPECT_TRUE(SameNumbers(expected, *out));
}

TEST(DenseGemv, NanActivationsPropagate) {
  std::mt19937 random(46);
  Tensor<Bf16, 2> x = RandomBf16(4, 64, 3, &random);
  x(1, 40) = Bf16::FromFloat(INFINITY);
  x(2, 3) = Bf16::Nan();
  const Mx w = Fnuz(RandomMx(ElementFormat::kE4m3Fn, 32, 64, 1, 118, 128, &random));
  const absl::StatusOr<Tensor<float, 2>> out = DenseGemv(x, w.view(), kDensePlan);
  ASSERT_TRUE(out.ok());
  for (std::int64_t n = 0; n < 32; ++n) {
    for (std::int64_t m = 0; m < 4; ++m) {
      EXPECT_EQ(std::isnan((*out)(m, n)), m == 1 || m == 2) << m << " " << n;
    }
  }
}

TEST(DenseGemv, BadInputIsRefusedByName) {
  std::mt19937 random(47);
  Mx ocp = RandomMx(ElementFormat::kE4m3Fn, 32, 64, 1, 118, 128, &random);
  const Mx w = Fnuz(ocp);
  EXPECT_TRUE(Refused(DenseGemv(Tensor<Bf16, 2>(2, 96), w.view(), kDensePlan).status(),
                      "x has K = 96, w has K = 64"));
  EXPECT_TRUE(Refused(DenseGemv(RandomBf16(2, 64, 1, &random), ocp.view(), kDensePlan).status(),
                      "w is of e4m3fn, expected e4m3fnuz"));
  EXPECT_TRUE(Refused(DenseGemvReduction(64, {0, DenseGemvPlan::Order::kStrided, 1}).status(),
                      "plan of 0 waves"));
  EXPECT_TRUE(Refused(DenseGemvReduction(40, kDensePlan).status(), "K = 40"));
  EXPECT_TRUE(Refused(FnuzWeight(w.view()).status(), "w is of e4m3fnuz"));
  ocp.elements(4, 9) = 0xFF;
  EXPECT_TRUE(Refused(FnuzWeight(ocp.view()).status(), "w[4, 9] is the e4m3fn NaN 0xff"));
  ocp.elements(4, 9) = 0;
  ocp.codes(0, 1) = 250;
  EXPECT_TRUE(Refused(FnuzWeight(ocp.view()).status(), "code [0, 1] is 250, expected below 250"));
}

}  // namespace
}  // namespace lanewise::reference::gfx942
