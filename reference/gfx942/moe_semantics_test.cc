#include "reference/gfx942/moe_semantics.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/activation.h"
#include "reference/gemm/output.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx942/dense_gemv.h"
#include "reference/matrix_core/cdna3.h"

namespace lanewise::reference::gfx942 {
namespace {

// The kernel's conversion of 8 nibbles: two dwords of FNUZ bytes, even k then odd k.
void ConvertDword(std::uint32_t w, std::uint8_t bytes[8]) {
  const std::uint32_t even = ((w << 2) & 0x1C1C1C1C) | ((w << 4) & 0x80808080);
  const std::uint32_t odd = ((w >> 2) & 0x1C1C1C1C) | (w & 0x80808080);
  for (int i = 0; i < 4; ++i) {
    bytes[i] = static_cast<std::uint8_t>(even >> (8 * i));
    bytes[4 + i] = static_cast<std::uint8_t>(odd >> (8 * i));
  }
}

std::uint32_t DwordAt(const Mx& w, std::int64_t row, std::int64_t k) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    word |= static_cast<std::uint32_t>(w.elements(row, k / 2 + i)) << (8 * i);
  }
  return word;
}

// e2m1 without -0, as the copies have it.
Mx RandomFp4(std::int64_t rows, std::int64_t k, std::mt19937* random) {
  Mx w = RandomMx(ElementFormat::kE2m1, rows, k, rows, 115, 125, random);
  for (std::int64_t i = 0; i < w.elements.size(); ++i) {
    std::uint8_t& byte = w.elements.data()[i];
    if ((byte & 0x0F) == 0x08) byte &= 0xF0;
    if ((byte & 0xF0) == 0x80) byte &= 0x0F;
  }
  return w;
}

Mx RandomActivation(std::int64_t rows, std::int64_t k, std::mt19937* random) {
  return OwnedMx(ElementFormat::kE4m3Fnuz,
                 *Quantize(RandomBf16(rows, k, 3, random), RoutedActivationOptions()));
}

// acc after blocks [first, last) of one output, as the kernel's lanes see the operands.
float KernelChain(const Mx& x, const Mx& w, std::int64_t m, std::int64_t n, std::int64_t first,
                  std::int64_t last) {
  float acc = 0;
  for (std::int64_t block = first; block < last; ++block) {
    std::uint8_t a[32], b[32];
    for (std::int64_t chunk = 0; chunk < 4; ++chunk) {
      const std::int64_t k = 32 * block + 8 * chunk;
      ConvertDword(DwordAt(w, n, k), a + 8 * chunk);
      for (int i = 0; i < 4; ++i) {
        b[8 * chunk + i] = x.elements(m, k + 2 * i);
        b[8 * chunk + 4 + i] = x.elements(m, k + 2 * i + 1);
      }
    }
    const float d = std::bit_cast<float>(
        cdna3::DotAccumulate(OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz, a, b, 32, 0));
    const int exponent = w.codes(n, block) + 7 + x.codes(m, block) - 254;
    acc = std::fma(d, std::ldexp(1.0f, exponent), acc);
  }
  return acc;
}

TEST(MoeSemantics, FnuzFromFp4IsTheNibbleTrick) {
  std::mt19937 random(71);
  const Mx w = RandomFp4(16, 256, &random);
  const absl::StatusOr<Quantized> fnuz = FnuzFromFp4(w.view());
  ASSERT_TRUE(fnuz.ok());
  for (std::int64_t row = 0; row < 16; ++row) {
    for (std::int64_t k = 0; k < 256; k += 8) {
      std::uint8_t bytes[8];
      ConvertDword(DwordAt(w, row, k), bytes);
      for (int i = 0; i < 8; ++i) {
        ASSERT_EQ(fnuz->elements(row, k + i), bytes[i % 2 * 4 + i / 2]) << row << " " << k + i;
      }
    }
  }
}

TEST(MoeSemantics, UpGateIsTheKernelsSlices) {
  std::mt19937 random(72);
  for (const std::int64_t k : {256, 1280}) {
    const Mx x = RandomActivation(3, k, &random);
    const Mx w = RandomFp4(96, k, &random);
    for (const int slices : {1, 2, 4}) {
      const absl::StatusOr<Tensor<float, 2>> out = UpGateGemv(x.view(), w.view(), slices);
      ASSERT_TRUE(out.ok()) << out.status();
      Tensor<float, 2> expected(3, 96);
      for (std::int64_t m = 0; m < 3; ++m) {
        for (std::int64_t n = 0; n < 96; ++n) {
          const std::int64_t size = k / 32 / slices;
          float s[4] = {};
          for (int i = 0; i < slices; ++i) {
            s[i] = KernelChain(x, w, m, n, i * size, (i + 1) * size);
          }
          expected(m, n) = (s[0] + s[1]) + (s[2] + s[3]);
        }
      }
      EXPECT_TRUE(SameNumbers(expected, *out)) << "K " << k << " slices " << slices;
    }
  }
}

TEST(MoeSemantics, DownIsOneChain) {
  std::mt19937 random(73);
  const Mx x = RandomActivation(20, 576, &random);
  const Mx w = RandomFp4(70, 576, &random);
  const absl::StatusOr<Tensor<float, 2>> out = DownGemv(x.view(), w.view());
  ASSERT_TRUE(out.ok()) << out.status();
  Tensor<float, 2> expected(20, 70);
  for (std::int64_t m = 0; m < 20; ++m) {
    for (std::int64_t n = 0; n < 70; ++n) expected(m, n) = KernelChain(x, w, m, n, 0, 18);
  }
  EXPECT_TRUE(SameNumbers(expected, *out));
}

// Experts of random FP4.
struct Experts {
  Tensor<std::uint8_t, 3> w13, w13_codes, w2, w2_codes;

  Experts(std::int64_t e, std::int64_t k, std::int64_t inter, std::mt19937* random)
      : w13(e, 2 * inter, k / 2),
        w13_codes(e, 2 * inter, k / 32),
        w2(e, k, inter / 2),
        w2_codes(e, k, inter / 32) {
    for (std::int64_t expert = 0; expert < e; ++expert) {
      const Mx up = RandomFp4(2 * inter, k, random);
      const Mx down = RandomFp4(k, inter, random);
      w13.chip(expert, 0) = up.elements;
      w13_codes.chip(expert, 0) = up.codes;
      w2.chip(expert, 0) = down.elements;
      w2_codes.chip(expert, 0) = down.codes;
    }
  }

  ExpertTensors view() const { return {w13, w13_codes, w2, w2_codes}; }
  Mx W13(std::int64_t e) const {
    return {ElementFormat::kE2m1, w13.chip(e, 0), w13_codes.chip(e, 0)};
  }
  Mx W2(std::int64_t e) const { return {ElementFormat::kE2m1, w2.chip(e, 0), w2_codes.chip(e, 0)}; }
};

// Token by token, pick by pick, with the GEMVs of one row.
TEST(MoeSemantics, RoutedExpertsAddPicksInTheirOrder) {
  std::mt19937 random(74);
  constexpr std::int64_t kK = 256, kInter = 64, kTokens = 4;
  const Experts experts(5, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(kTokens, kK, 2, &random);
  const Tensor<Bf16, 2> shared = RandomBf16(kTokens, kK, 2, &random);
  Tensor<std::int32_t, 2> ids(kTokens, 3);
  ids.setValues({{0, 4, 2}, {2, 0, 1}, {4, 4, 3}, {1, -1, 5}});
  Tensor<float, 2> weights(kTokens, 3);
  weights.setValues({{0.5f, 0.3f, 0.7f}, {1.0f, 0.2f, 0.1f}, {0.3f, 0.3f, 0.9f}, {0.6f, 1, 1}});

  for (const Tensor<Bf16, 2>* extra : {&shared, static_cast<const Tensor<Bf16, 2>*>(nullptr)}) {
    const absl::StatusOr<MoeOutput> output =
        RoutedExperts(x, experts.view(), {ids, weights}, extra);
    ASSERT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->skipped, 2);  // Experts -1 and 5.
    Tensor<Bf16, 2> expected(kTokens, kK);
    for (std::int64_t t = 0; t < kTokens; ++t) {
      std::vector<float> sum(kK, 0.0f);
      for (int slot = 0; slot < 3; ++slot) {
        if (ids(t, slot) < 0 || ids(t, slot) > 4) continue;
        Tensor<Bf16, 2> row(1, kK);
        for (std::int64_t k = 0; k < kK; ++k) row(0, k) = x(t, k);
        const Mx q = OwnedMx(ElementFormat::kE4m3Fnuz, *Quantize(row, RoutedActivationOptions()));
        const Tensor<float, 2> gu = *UpGateGemv(q.view(), experts.W13(ids(t, slot)).view());
        Tensor<Bf16, 2> y(1, kInter);
        for (std::int64_t i = 0; i < kInter; ++i) {
          y(0, i) = Activate(kDeepSeekSwiglu, gu(0, i), gu(0, kInter + i));
        }
        const Mx mid = OwnedMx(ElementFormat::kE4m3Fnuz, *Quantize(y, RoutedActivationOptions()));
        const Tensor<float, 2> down = *DownGemv(mid.view(), experts.W2(ids(t, slot)).view());
        for (std::int64_t h = 0; h < kK; ++h) {
          const float c = RoundToBf16(down(0, h) * weights(t, slot)).ToFloat();
          sum[h] = RoundToBf16(sum[h] + c).ToFloat();
        }
      }
      for (std::int64_t h = 0; h < kK; ++h) {
        const float s = extra != nullptr ? (*extra)(t, h).ToFloat() : 0.0f;
        expected(t, h) = RoundToBf16(sum[h] + s);
      }
    }
    EXPECT_TRUE(SameNumbers(expected, output->out));
  }
}

// gpt-oss: each sum has its row's bias before anything else happens to it.
TEST(MoeSemantics, BiasesAreAddedToSums) {
  std::mt19937 random(77);
  constexpr std::int64_t kK = 256, kInter = 64, kTokens = 3;
  const Experts experts(2, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(kTokens, kK, 2, &random);
  const Tensor<Bf16, 2> w13_bias = RandomBf16(2, 2 * kInter, 2, &random);
  const Tensor<Bf16, 2> w2_bias = RandomBf16(2, kK, 2, &random);
  Tensor<std::int32_t, 2> ids(kTokens, 1);
  ids.setValues({{1}, {0}, {1}});
  Tensor<float, 2> weights(kTokens, 1);
  weights.setValues({{0.5f}, {0.3f}, {0.7f}});
  ExpertTensors view = experts.view();
  view.w13_bias = &w13_bias;
  view.w2_bias = &w2_bias;
  const auto output = RoutedExperts(x, view, {ids, weights}, nullptr, kGptOssSwiglu);
  ASSERT_TRUE(output.ok()) << output.status();
  Tensor<Bf16, 2> expected(kTokens, kK);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const std::int32_t e = ids(t, 0);
    Tensor<Bf16, 2> row(1, kK);
    for (std::int64_t k = 0; k < kK; ++k) row(0, k) = x(t, k);
    const Mx q = OwnedMx(ElementFormat::kE4m3Fnuz, *Quantize(row, RoutedActivationOptions()));
    const Tensor<float, 2> gu = *UpGateGemv(q.view(), experts.W13(e).view());
    Tensor<Bf16, 2> y(1, kInter);
    for (std::int64_t i = 0; i < kInter; ++i) {
      y(0, i) = Activate(kGptOssSwiglu, gu(0, i) + w13_bias(e, i).ToFloat(),
                         gu(0, kInter + i) + w13_bias(e, kInter + i).ToFloat());
    }
    const Mx mid = OwnedMx(ElementFormat::kE4m3Fnuz, *Quantize(y, RoutedActivationOptions()));
    const Tensor<float, 2> down = *DownGemv(mid.view(), experts.W2(e).view());
    for (std::int64_t h = 0; h < kK; ++h) {
      expected(t, h) = RoundToBf16((down(0, h) + w2_bias(e, h).ToFloat()) * weights(t, 0));
    }
  }
  EXPECT_TRUE(SameNumbers(expected, output->out));
  const Tensor<Bf16, 2> narrow = RandomBf16(2, kInter, 2, &random);
  view.w13_bias = &narrow;
  EXPECT_TRUE(Refused(RoutedExperts(x, view, {ids, weights}, nullptr).status(),
                      "w13_bias is [2, 64], expected [2, 128]"));
}

// By expert parallelism: the ranks' sums are those of picks that are theirs, and an expert is
// missing only where the layer has none.
TEST(MoeSemantics, RanksHoldRunsOfExperts) {
  std::mt19937 random(78);
  constexpr std::int64_t kK = 256, kInter = 64, kTokens = 3;
  const Experts experts(2, kK, kInter, &random);
  const Tensor<Bf16, 2> x = RandomBf16(kTokens, kK, 2, &random);
  Tensor<std::int32_t, 2> of_all(kTokens, 3), of_rank(kTokens, 3);
  // The rank has experts 3 and 4 of 6; -1 and 6 are none.
  of_all.setValues({{3, 0, 4}, {5, 2, -1}, {6, 4, 3}});
  of_rank.setValues({{0, -1, 1}, {-1, -1, -1}, {-1, 1, 0}});
  Tensor<float, 2> weights(kTokens, 3);
  weights.setValues({{0.5f, 0.3f, 0.7f}, {1.0f, 0.2f, 0.1f}, {0.3f, 0.3f, 0.9f}});
  const auto rank = RoutedExperts(x, experts.view(), {of_all, weights, 3, 6}, nullptr);
  ASSERT_TRUE(rank.ok()) << rank.status();
  EXPECT_EQ(rank->skipped, 2);
  const auto expected = RoutedExperts(x, experts.view(), {of_rank, weights}, nullptr);
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_TRUE(SameNumbers(expected->out, rank->out));
  EXPECT_TRUE(Refused(RoutedExperts(x, experts.view(), {of_all, weights, 5, 6}, nullptr).status(),
                      "experts 5 to 6 are not among 6"));
}

TEST(MoeSemantics, SharedExpertIsTwoDenseGemvs) {
  std::mt19937 random(75);
  const auto fnuz = [&random](std::int64_t n, std::int64_t k) {
    const Mx ocp = RandomMx(ElementFormat::kE4m3Fn, n, k, n / 32, 115, 122, &random);
    return OwnedMx(ElementFormat::kE4m3Fnuz, *FnuzWeight(ocp.view()));
  };
  const Mx gate_up = fnuz(192, 256), down = fnuz(256, 96);
  const Tensor<Bf16, 2> x = RandomBf16(3, 256, 2, &random);
  const Tensor<Bf16, 2> gu = RoundToBf16(*DenseGemv(x, gate_up.view(), kDensePlan));
  for (const Swiglu& swiglu : {kDeepSeekSwiglu, kGptOssSwiglu}) {
    const auto out = SharedExpert(x, gate_up.view(), down.view(), swiglu);
    ASSERT_TRUE(out.ok()) << out.status();
    Tensor<Bf16, 2> y(3, 96);
    for (std::int64_t m = 0; m < 3; ++m) {
      for (std::int64_t i = 0; i < 96; ++i) {
        y(m, i) = ActivateSharedExpert(swiglu, gu(m, i), gu(m, 96 + i));
      }
    }
    EXPECT_TRUE(SameNumbers(RoundToBf16(*DenseGemv(y, down.view(), kDensePlan)), *out));
  }
}

TEST(MoeSemantics, ZeroBlocksHaveCode86) {
  Tensor<Bf16, 2> zeros(1, 32);
  for (std::int64_t k = 0; k < 32; ++k) zeros(0, k) = Bf16::FromFloat(0.0f);
  const absl::StatusOr<Quantized> q = Quantize(zeros, RoutedActivationOptions());
  ASSERT_TRUE(q.ok());
  EXPECT_EQ(q->codes(0, 0), 86);
}

TEST(MoeSemantics, BadInputIsRefusedByName) {
  std::mt19937 random(76);
  const Mx x = RandomActivation(2, 96, &random);
  const Mx w = RandomFp4(32, 96, &random);
  EXPECT_TRUE(Refused(UpGateGemv(x.view(), w.view()).status(), "K = 96 is not a multiple of 64"));
  EXPECT_TRUE(Refused(UpGateGemv(x.view(), w.view(), 3).status(), "3 slices"));
  EXPECT_TRUE(Refused(DownGemv(w.view(), w.view()).status(), "x is of e2m1, expected e4m3fnuz"));
  EXPECT_TRUE(Refused(DownGemv(x.view(), x.view()).status(), "w is of e4m3fnuz, expected e2m1"));
  const Mx wide = RandomActivation(2, 128, &random);
  EXPECT_TRUE(Refused(DownGemv(wide.view(), w.view()).status(), "x has K = 128, w has K = 96"));

  Experts experts(2, 256, 64, &random);
  const Tensor<Bf16, 2> rows = RandomBf16(3, 256, 2, &random);
  Tensor<std::int32_t, 2> ids(3, 2);
  Tensor<float, 2> weights(3, 2);
  ids.setZero();
  weights.setZero();
  const Tensor<float, 2> narrow(3, 1);
  EXPECT_TRUE(Refused(RoutedExperts(rows, experts.view(), {ids, narrow}, nullptr).status(),
                      "routing.weights is [3, 1], expected [3, 2]"));
  EXPECT_TRUE(
      Refused(RoutedExperts(RandomBf16(2, 256, 1, &random), experts.view(), {ids, weights}, nullptr)
                  .status(),
              "routing.experts is [3, 2], expected [2, 2]"));
  EXPECT_TRUE(
      Refused(RoutedExperts(RandomBf16(3, 128, 1, &random), experts.view(), {ids, weights}, nullptr)
                  .status(),
              "x is [3, 128], expected [3, 256]"));
  experts.w2_codes.resize(2, 256, 3);
  EXPECT_TRUE(Refused(RoutedExperts(rows, experts.view(), {ids, weights}, nullptr).status(),
                      "w2_codes is [2, 256, 3], expected [2, 256, 2]"));
}

}  // namespace
}  // namespace lanewise::reference::gfx942
