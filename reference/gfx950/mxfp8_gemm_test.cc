// The MXFP8 GEMMs of gfx950 and the linear that chooses among them.

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/block_codes.h"
#include "reference/exact/accumulator.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/output.h"
#include "reference/gemm/test_matrices.h"
#include "reference/gfx950/bf16_gemm.h"
#include "reference/gfx950/block32_gemm.h"
#include "reference/gfx950/block32_selection.h"
#include "reference/gfx950/mxfp8_linear.h"
#include "reference/gfx950/row_scale_gemm.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference::gfx950 {
namespace {

// acc + a block's exact dot product, rounded once, by way of the accumulator.
float AddBlock(float acc, const Mx& x, const Mx& w, std::int64_t m, std::int64_t n,
               std::int64_t block) {
  ExactAccumulator sum;
  sum.AddDouble(acc);
  const int exponent = x.view().code(m, block) + w.view().code(n, block) - 254;
  for (std::int64_t k = 32 * block; k < 32 * block + 32; ++k) {
    sum.AddDouble(static_cast<double>(DecodeElement(x.format, x.elements(m, k))) *
                      DecodeElement(w.format, w.elements(n, k)),
                  exponent);
  }
  return sum.ToFloat();
}

// The kernel as it runs: a chain of scaled 16x16x128 instructions.
TEST(RowScaleGemm, IsAChainOfScaledInstructions) {
  std::mt19937 random(51);
  constexpr std::int64_t kK = 384;
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 16, kK, 16, 118, 130, &random);
  const Mx w = RandomMx(ElementFormat::kE4m3Fn, 16, kK, 16, 118, 130, &random);
  const absl::StatusOr<Tensor<float, 2>> out = RowScaleGemm(x.view(), w.view());
  ASSERT_TRUE(out.ok()) << out.status();
  const MatrixInstruction* instruction =
      cdna4::FindInstruction("v_mfma_scale_f32_16x16x128_f8f6f4");
  std::vector<std::uint32_t> d(256, 0);
  for (std::int64_t first = 0; first < kK; first += 128) {
    std::vector<std::uint8_t> a(16 * 128), b(128 * 16), a_codes(16 * 4), b_codes(4 * 16);
    for (std::int64_t i = 0; i < 16; ++i) {
      for (std::int64_t k = 0; k < 128; ++k) {
        a[i * 128 + k] = w.elements(i, first + k);
        b[k * 16 + i] = x.elements(i, first + k);
      }
      for (std::int64_t block = 0; block < 4; ++block) {
        a_codes[i * 4 + block] = w.codes(i, first / 32 + block);
        b_codes[block * 16 + i] = x.codes(i, first / 32 + block);
      }
    }
    cdna4::ExecuteF8f6f4(*instruction, OperandFormat::kE4m3Fn, OperandFormat::kE4m3Fn, a.data(),
                         b.data(), {a_codes.data(), b_codes.data()}, d.data(), d.data());
  }
  Tensor<float, 2> expected(16, 16);
  for (std::int64_t m = 0; m < 16; ++m) {
    for (std::int64_t n = 0; n < 16; ++n) expected(m, n) = std::bit_cast<float>(d[n * 16 + m]);
  }
  EXPECT_TRUE(SameNumbers(expected, *out));
}

TEST(RowScaleGemm, RefusesKThatIsNoMultipleOf128) {
  std::mt19937 random(52);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 2, 160, 2, 127, 127, &random);
  EXPECT_TRUE(
      Refused(RowScaleGemm(x.view(), x.view()).status(), "K = 160 is not a multiple of 128"));
}

// One output by the kernel's own loops: programs of the split, iterations, panels.
float Block32Element(const Mx& x, const Mx& w, std::int64_t m, std::int64_t n,
                     const Block32Config& config) {
  const std::int64_t k = x.elements.dimension(1);
  const bool packed = config.form == Block32Form::kPacked;
  const std::int64_t pack = packed ? config.pack : 1;
  const std::int64_t step = config.block_k * pack;
  std::int64_t size = (k + config.split - 1) / config.split;
  size = (size + step - 1) / step * step;
  const std::int64_t splits = (k + size - 1) / size;
  float combined = 0;
  for (std::int64_t split = 0; split < splits; ++split) {
    std::vector<float> panel(pack, 0.0f);
    for (std::int64_t base = split * size; base < std::min(k, (split + 1) * size); base += step) {
      for (std::int64_t p = 0; p < pack; ++p) {
        for (std::int64_t at = 0; at < config.block_k; at += 32) {
          const std::int64_t column = base + p * config.block_k + at;
          if (column < std::min(k, (split + 1) * size)) {
            panel[p] = AddBlock(panel[p], x, w, m, n, column / 32);
          }
        }
      }
    }
    float run = panel[0];
    if (pack == 2) run = panel[0] + panel[1];
    if (pack == 4) run = (panel[0] + panel[2]) + (panel[1] + panel[3]);
    combined = splits == 1 ? run : combined + run;
  }
  return combined;
}

TEST(Block32Gemm, IsTheKernelsLoops) {
  std::mt19937 random(53);
  const Block32Config configs[] = {
      {Block32Form::kTiled, 64, 64, 256, 1, 1, false},
      {Block32Form::kTiled, 64, 64, 128, 1, 3, true},
      {Block32Form::kPacked, 8, 16, 256, 2, 1, false},
      {Block32Form::kPacked, 4, 16, 128, 4, 1, false},
      {Block32Form::kPacked, 4, 16, 128, 4, 5, true},
      {Block32Form::kPacked, 32, 32, 256, 1, 1, false},
      {Block32Form::kPacked, 16, 64, 256, 1, 5, true},
  };
  for (const std::int64_t k : {32, 576, 1280, 2080}) {
    const Mx x = RandomMx(ElementFormat::kE4m3Fn, 3, k, 3, 118, 130, &random);
    const Mx w = RandomMx(ElementFormat::kE4m3Fn, 32, k, 1, 118, 130, &random);
    for (const Block32Config& config : configs) {
      const absl::StatusOr<Tensor<float, 2>> out = Block32Gemm(x.view(), w.view(), config);
      ASSERT_TRUE(out.ok()) << out.status();
      Tensor<float, 2> expected(3, 32);
      for (std::int64_t m = 0; m < 3; ++m) {
        for (std::int64_t n = 0; n < 32; ++n) {
          expected(m, n) = Block32Element(x, w, m, n, config);
        }
      }
      EXPECT_TRUE(SameNumbers(expected, *out))
          << "K " << k << " pack " << config.pack << " split " << config.split;
    }
  }
}

void CountBlocks(const Reduction& reduction, std::vector<int>* count) {
  for (const std::int64_t block : reduction.blocks) ++count->at(block);
  for (const Reduction& part : reduction.parts) CountBlocks(part, count);
}

// Panels whose sum shows its order: 2^24, 1, -2^24, 1 add to 2 as (p0 + p2) + (p1 + p3), and to 1
// as ((p0 + p1) + p2) + p3; as (p0 + p1) + (p2 + p3) to 1 again, the odd sums being ties.
TEST(Block32Gemm, FourPanelsAreAddedCrosswise) {
  Mx x{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(1, 512), Tensor<std::uint8_t, 2>(1, 16)};
  Mx w{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(32, 512), Tensor<std::uint8_t, 2>(1, 16)};
  x.elements.setZero();
  x.codes.setConstant(127);
  w.elements.setConstant(0x38);  // 1
  w.codes.setConstant(127);
  const Block32Config config = {Block32Form::kPacked, 4, 16, 128, 4};
  const auto panel = [&x](std::int64_t p, bool negative, std::uint8_t code) {
    x.elements(0, 128 * p) = negative ? 0xB8 : 0x38;
    x.codes(0, 4 * p) = code;
  };
  panel(0, false, 127 + 24);
  panel(1, false, 127);
  panel(2, true, 127 + 24);
  panel(3, false, 127);
  EXPECT_EQ((*Block32Gemm(x.view(), w.view(), config))(0, 0), 2.0f);
}

TEST(Block32Gemm, EveryConfigurationCoversEachBlockOnce) {
  std::vector<Block32Config> configs;
  for (const std::int64_t m : {1, 2, 8, 9, 32, 33, 300}) configs.push_back(SelectBlock32(m, 7, 7));
  for (const Block32Entry& entry : kBlock32Entries) {
    for (const Block32Tier& tier : entry.tiers) configs.push_back(tier.config);
  }
  for (const Block32Entry& entry : Block32QuantizingEntries()) {
    for (const Block32Tier& tier : entry.tiers) configs.push_back(tier.config);
  }
  for (const Block32Config& config : configs) {
    for (std::int64_t k = 32; k <= 6144; k += 32) {
      const absl::StatusOr<Reduction> reduction = Block32Reduction(k, config);
      ASSERT_TRUE(reduction.ok());
      std::vector<int> count(k / 32, 0);
      CountBlocks(*reduction, &count);
      ASSERT_EQ(count, std::vector<int>(k / 32, 1)) << "K " << k;
    }
  }
}

TEST(Block32Gemm, BadInputIsRefusedByName) {
  std::mt19937 random(54);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 2, 64, 2, 127, 127, &random);
  const Mx rows = RandomMx(ElementFormat::kE4m3Fn, 32, 64, 32, 127, 127, &random);
  const Block32Config config = SelectBlock32(2, 32, 64);
  EXPECT_TRUE(Refused(Block32Gemm(x.view(), rows.view(), config).status(),
                      "w's codes are [32, 2], expected one row for 32 rows"));
  Block32Config bad = config;
  bad.block_k = 48;
  EXPECT_TRUE(Refused(Block32Reduction(64, bad).status(), "x 48, pack 2, split 1"));
  bad = config;
  bad.pack = 3;
  EXPECT_TRUE(Refused(Block32Reduction(64, bad).status(), "pack 3"));
  EXPECT_TRUE(Refused(Block32Reduction(63, config).status(), "K = 63"));
}

TEST(Bf16Gemm, IsAChainOfInstructions) {
  std::mt19937 random(55);
  for (const std::int64_t k : {96, 160, 50}) {
    const Tensor<Bf16, 2> x = RandomBf16(16, k, 12, &random);
    const Tensor<Bf16, 2> w = RandomBf16(16, k, 12, &random);
    const absl::StatusOr<Tensor<float, 2>> out = Bf16Gemm(x, w);
    ASSERT_TRUE(out.ok()) << out.status();
    const MatrixInstruction* instruction = cdna4::FindInstruction("v_mfma_f32_16x16x32_bf16");
    std::vector<std::uint32_t> d(256, 0);
    for (std::int64_t first = 0; first < k; first += 32) {
      std::vector<std::uint16_t> a(16 * 32, 0), b(32 * 16, 0);
      for (std::int64_t i = 0; i < 16; ++i) {
        for (std::int64_t j = 0; j < 32 && first + j < k; ++j) {
          a[i * 32 + j] = w(i, first + j).bits();
          b[j * 16 + i] = x(i, first + j).bits();
        }
      }
      cdna4::Execute(*instruction, a.data(), b.data(), d.data(), d.data());
    }
    Tensor<float, 2> expected(16, 16);
    for (std::int64_t m = 0; m < 16; ++m) {
      for (std::int64_t n = 0; n < 16; ++n) expected(m, n) = std::bit_cast<float>(d[n * 16 + m]);
    }
    EXPECT_TRUE(SameNumbers(expected, *out)) << k;
  }
  EXPECT_TRUE(Refused(Bf16Gemm(Tensor<Bf16, 2>(1, 8), Tensor<Bf16, 2>(1, 9)).status(),
                      "x has K = 8, w has K = 9"));
}

TEST(Bf16Gemm, Specials) {
  Tensor<Bf16, 2> x(3, 2), w(1, 2);
  const float values[3][2] = {{INFINITY, 1}, {INFINITY, -INFINITY}, {NAN, 0}};
  for (int m = 0; m < 3; ++m) {
    for (int k = 0; k < 2; ++k) x(m, k) = RoundToBf16(values[m][k]);
  }
  w(0, 0) = w(0, 1) = Bf16::FromFloat(2.0f);
  const absl::StatusOr<Tensor<float, 2>> out = Bf16Gemm(x, w);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ((*out)(0, 0), INFINITY);
  EXPECT_TRUE(std::isnan((*out)(1, 0)));
  EXPECT_TRUE(std::isnan((*out)(2, 0)));
}

// The linear's choices, each against the GEMM it names.
class Linear : public testing::Test {
 protected:
  // A weight whose row codes fold to blocks, or not.
  LinearWeight Weight(std::int64_t n, std::int64_t k, bool folds, bool batch_invariant) {
    Mx w = RandomMx(ElementFormat::kE4m3Fn, n, k, folds ? n / 32 : n, 118, 130, &random_);
    if (folds) w.codes = ExpandBlockCodes(w.codes);
    return *ProcessLinear(w.elements, w.codes, batch_invariant);
  }

  std::mt19937 random_{56};
};

TEST_F(Linear, BlockCodes) {
  const LinearWeight weight = Weight(64, 1280, true, false);
  ASSERT_EQ(weight.kind, LinearKind::kBlockCodes);
  const MxMatrix w = {ElementFormat::kE4m3Fn, std::get<0>(weight.weight), weight.codes};
  for (const std::int64_t m : {1, 5, 40}) {
    const Tensor<Bf16, 2> x = RandomBf16(m, 1280, 3, &random_);
    const Quantized q = *Quantize(x, ActivationOptions());
    const MxMatrix xq = {ElementFormat::kE4m3Fn, q.elements, q.codes};
    const std::optional<Block32Config> fused = SelectBlock32Quantizing(m, 64, 1280);
    const Block32Config apart = SelectBlock32(m, 64, 1280);
    EXPECT_TRUE(SameNumbers(RoundToBf16(*Block32Gemm(xq, w, fused ? *fused : apart)),
                            *Mxfp8Linear(x, weight)));
    EXPECT_TRUE(SameNumbers(RoundToBf16(*Block32Gemm(xq, w, apart)), *Mxfp8Linear(q, weight)));
  }
}

TEST_F(Linear, RowCodesAndBias) {
  Tensor<Bf16, 1> bias(64);
  for (std::int64_t n = 0; n < 64; ++n) bias(n) = Bf16::FromFloat(static_cast<float>(n) - 20.0f);
  const Tensor<Bf16, 2> x = RandomBf16(5, 256, 3, &random_);
  const Quantized q = *Quantize(x, ActivationOptions());
  for (const bool folds : {false, true}) {  // Batch invariance keeps row codes as they are.
    const LinearWeight weight = Weight(64, 256, folds, true);
    ASSERT_EQ(weight.kind, LinearKind::kRowCodes);
    const Tensor<Bf16, 2> sums = RoundToBf16(
        *RowScaleGemm({ElementFormat::kE4m3Fn, q.elements, q.codes},
                      {ElementFormat::kE4m3Fn, std::get<0>(weight.weight), weight.codes}));
    EXPECT_TRUE(SameNumbers(*AddBias(sums, bias), *Mxfp8Linear(x, weight, {&bias})));
    EXPECT_TRUE(SameNumbers(sums, *Mxfp8Linear(q, weight)));
  }
}

TEST_F(Linear, BatchInvariantRowsDoNotDependOnTheOthers) {
  const LinearWeight weight = Weight(64, 1280, true, true);
  const Tensor<Bf16, 2> x = RandomBf16(40, 1280, 3, &random_);
  const Tensor<Bf16, 2> all = *Mxfp8Linear(x, weight);
  for (const std::int64_t m : {0, 17, 39}) {
    const Tensor<Bf16, 2> one =
        x.slice(std::array<std::int64_t, 2>{m, 0}, std::array<std::int64_t, 2>{1, 1280});
    const Tensor<Bf16, 2> expected =
        all.slice(std::array<std::int64_t, 2>{m, 0}, std::array<std::int64_t, 2>{1, 64});
    EXPECT_TRUE(SameNumbers(expected, *Mxfp8Linear(one, weight))) << m;
  }
}

TEST_F(Linear, Bf16WhereKIsNoMultipleOf128) {
  const LinearWeight weight = Weight(32, 160, false, false);
  ASSERT_EQ(weight.kind, LinearKind::kBf16);
  const Tensor<Bf16, 2> x = RandomBf16(3, 160, 3, &random_);
  const auto& w = std::get<Tensor<Bf16, 2>>(weight.weight);
  EXPECT_TRUE(SameNumbers(RoundToBf16(*Bf16Gemm(x, w)), *Mxfp8Linear(x, weight)));
  const Quantized q = *Quantize(x, ActivationOptions());
  const Tensor<Bf16, 2> back = *DequantizeToBf16(q, ElementFormat::kE4m3Fn);
  EXPECT_TRUE(SameNumbers(RoundToBf16(*Bf16Gemm(back, w)), *Mxfp8Linear(q, weight)));
}

// Row codes that were not dequantized when they were loaded give what they would have given.
TEST_F(Linear, RowCodesOfAnotherKAreDequantizedOnTheFly) {
  const LinearWeight loaded = Weight(32, 160, false, false);
  ASSERT_EQ(loaded.kind, LinearKind::kBf16);
  const auto& values = std::get<Tensor<Bf16, 2>>(loaded.weight);
  const LinearWeight raw = {LinearKind::kRowCodes, *UndoDequantize(values, loaded.codes),
                            loaded.codes};
  const Tensor<Bf16, 2> x = RandomBf16(3, 160, 3, &random_);
  EXPECT_TRUE(SameNumbers(RoundToBf16(*Bf16Gemm(x, values)), *Mxfp8Linear(x, raw)));
  const Quantized q = *Quantize(x, ActivationOptions());
  const Tensor<Bf16, 2> back = *DequantizeToBf16(q, ElementFormat::kE4m3Fn);
  EXPECT_TRUE(SameNumbers(RoundToBf16(*Bf16Gemm(back, values)), *Mxfp8Linear(q, raw)));
}

TEST_F(Linear, BadShapesAreRefusedByName) {
  const LinearWeight weight = Weight(64, 256, true, false);
  EXPECT_TRUE(Refused(Mxfp8Linear(Tensor<Bf16, 2>(1, 128), weight).status(),
                      "x has K = 128, w has K = 256"));
  const Tensor<Bf16, 1> bias(63);
  EXPECT_TRUE(Refused(Mxfp8Linear(RandomBf16(1, 256, 1, &random_), weight, {&bias}).status(),
                      "bias is [63]"));
}

}  // namespace
}  // namespace lanewise::reference::gfx950
