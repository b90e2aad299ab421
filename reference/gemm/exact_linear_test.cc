#include "reference/gemm/exact_linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "reference/exact/accumulator.h"
#include "reference/gemm/test_matrices.h"

namespace lanewise::reference {
namespace {

constexpr ElementFormat kFormats[] = {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz,
                                      ElementFormat::kE5m2, ElementFormat::kE5m2Fnuz,
                                      ElementFormat::kE2m1};

double Element(const Mx& mx, std::int64_t row, std::int64_t k) {
  return DecodeElement(mx.format, mx.view().element(row, k));
}
double Element(const Tensor<Bf16, 2>& x, std::int64_t row, std::int64_t k) {
  return x(row, k).ToFloat();
}
int Exponent(const Mx& mx, std::int64_t row, std::int64_t k) {
  return mx.view().code(row, k / 32) - 127;
}
int Exponent(const Tensor<Bf16, 2>&, std::int64_t, std::int64_t) { return 0; }
const Tensor<Bf16, 2>& View(const Tensor<Bf16, 2>& x) { return x; }
MxMatrix View(const Mx& mx) { return mx.view(); }
std::int64_t K(const Mx& mx) { return mx.view().k(); }
std::int64_t K(const Tensor<Bf16, 2>& x) { return x.dimension(1); }
std::int64_t Rows(const Mx& mx) { return mx.view().rows(); }
std::int64_t Rows(const Tensor<Bf16, 2>& x) { return x.dimension(0); }

// Product by product into one accumulator: no blocks, no slices, no integers of 128 bits.
template <class X, class W>
ExactAccumulator SumOf(const X& x, const W& w, std::int64_t m, std::int64_t n) {
  ExactAccumulator sum;
  for (std::int64_t k = 0; k < K(x); ++k) {
    sum.AddDouble(Element(x, m, k) * Element(w, n, k), Exponent(x, m, k) + Exponent(w, n, k));
  }
  return sum;
}

template <class X, class W>
void ExpectExact(const X& x, const W& w) {
  const absl::StatusOr<Tensor<float, 2>> f32 = ExactLinear<float>(View(x), View(w));
  const absl::StatusOr<Tensor<Bf16, 2>> bf16 = ExactLinear<Bf16>(View(x), View(w));
  const absl::StatusOr<Tensor<double, 2>> f64 = ExactLinear<double>(View(x), View(w));
  ASSERT_TRUE(f32.ok()) << f32.status();
  ASSERT_TRUE(bf16.ok() && f64.ok());
  for (std::int64_t m = 0; m < Rows(x); ++m) {
    for (std::int64_t n = 0; n < Rows(w); ++n) {
      const ExactAccumulator sum = SumOf(x, w, m, n);
      ASSERT_EQ(std::bit_cast<std::uint32_t>((*f32)(m, n)),
                std::bit_cast<std::uint32_t>(sum.ToFloat()))
          << "m " << m << " n " << n << ": " << (*f32)(m, n) << ", expected " << sum.ToFloat();
      ASSERT_EQ((*bf16)(m, n).bits(), sum.ToBf16Bits()) << "m " << m << " n " << n;
      ASSERT_EQ(static_cast<float>((*f64)(m, n)), sum.ToFloat()) << "m " << m << " n " << n;
      if (!std::isfinite(sum.ToFloat())) continue;
      ExactAccumulator rest = sum;
      rest.AddDouble(-(*f64)(m, n));
      ASSERT_LE(std::fabs(rest.ToFloat()), std::fabs((*f64)(m, n)) * 0x1p-47 + 0x1p-149)
          << "m " << m << " n " << n;
    }
  }
}

TEST(ExactLinear, EveryPairOfFormats) {
  std::mt19937 random(21);
  for (const ElementFormat x_format : kFormats) {
    for (const ElementFormat w_format : kFormats) {
      const Mx x = RandomMx(x_format, 3, 96, 3, 120, 134, &random);
      ExpectExact(x, RandomMx(w_format, 5, 96, 5, 120, 134, &random));
      ExpectExact(x, RandomMx(w_format, 64, 96, 2, 120, 134, &random));
    }
  }
}

// Scales from 2^-127 to 2^127 in one row: far past 128 bits, overflow and underflow included.
TEST(ExactLinear, AnyScales) {
  std::mt19937 random(22);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 9, 320, 9, 0, 254, &random);
  const Mx w = RandomMx(ElementFormat::kE4m3Fn, 70, 320, 70, 0, 254, &random);
  ExpectExact(x, w);
  const Mx low = RandomMx(ElementFormat::kE4m3Fn, 9, 64, 9, 40, 60, &random);
  ExpectExact(low, RandomMx(ElementFormat::kE2m1, 32, 64, 1, 40, 70, &random));
  // Spreads around the edge between the two ways to add.
  for (int spread = 25; spread <= 45; ++spread) {
    const Mx a = RandomMx(ElementFormat::kE4m3Fn, 5, 160, 5, 100, 100 + spread, &random);
    const Mx b = RandomMx(ElementFormat::kE4m3Fn, 32, 160, 1, 100, 100 + spread, &random);
    ExpectExact(a, b);
  }
}

// One term that a rounded sum would lose, against two that cancel.
TEST(ExactLinear, NothingIsLostToCancellation) {
  Mx x{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(1, 96), Tensor<std::uint8_t, 2>(1, 3)};
  Mx w{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(1, 96), Tensor<std::uint8_t, 2>(1, 3)};
  for (const int big : {130, 165, 254}) {
    x.elements.setConstant(0x38);  // 1
    w.elements.setZero();
    w.elements(0, 0) = 0x7E;   // 448 * 2^(big - 127)
    w.elements(0, 64) = 0xFE;  // -448 * 2^(big - 127)
    w.elements(0, 40) = 0x01;  // 2^-9 * 2^-126
    x.codes.setConstant(127);
    w.codes(0, 0) = static_cast<std::uint8_t>(big);
    w.codes(0, 1) = 1;
    w.codes(0, 2) = static_cast<std::uint8_t>(big);
    const absl::StatusOr<Tensor<float, 2>> out = ExactLinear<float>(x.view(), w.view());
    ASSERT_TRUE(out.ok());
    EXPECT_EQ((*out)(0, 0), 0x1p-135f) << big;
    w.elements(0, 40) = 0x00;
    const absl::StatusOr<Tensor<float, 2>> zero = ExactLinear<float>(x.view(), w.view());
    ASSERT_TRUE(zero.ok());
    EXPECT_EQ(std::bit_cast<std::uint32_t>((*zero)(0, 0)), 0u) << "exact zero is +0";
  }
}

// A tiny block and a huge one, as large as they get, with ever more between their scales: from
// where 128 bits hold the sum to where they do not.
TEST(ExactLinear, LargestBlocksFarApart) {
  for (int apart = 40; apart <= 126; ++apart) {
    Mx x{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(2, 96), Tensor<std::uint8_t, 2>(2, 3)};
    Mx w = x;
    for (Mx* mx : {&x, &w}) {
      mx->elements.setConstant(0x7E);
      mx->elements(1, 5) = 0x01;
      for (std::int64_t row = 0; row < 2; ++row) {
        mx->codes(row, 0) = static_cast<std::uint8_t>(127 - apart / 2);
        mx->codes(row, 1) = static_cast<std::uint8_t>(127 + (apart + 1) / 2);
        mx->codes(row, 2) = mx->codes(row, 1);
      }
    }
    for (std::int64_t k = 64; k < 96; ++k) w.elements(1, k) = 0xFE;  // Row 1 cancels.
    ExpectExact(x, w);
  }
}

// Products that cancel inside blocks but for two small ones, in random places: x is equal and w
// opposite in the two places of a pair, so that all rows cancel with all. A block product in double
// that was not exact would show.
TEST(ExactLinear, CancellationInsideBlocks) {
  std::mt19937 random(29);
  for (int spread = 0; spread < 60; ++spread) {
    Tensor<Bf16, 2> x = RandomBf16(6, 64, 3, &random);
    Tensor<Bf16, 2> w = RandomBf16(6, 64, 3, &random);
    for (std::int64_t block = 0; block < 2; ++block) {
      std::vector<std::int64_t> places(32);
      std::iota(places.begin(), places.end(), 32 * block);
      std::shuffle(places.begin(), places.end(), random);
      for (std::int64_t pair = 0; pair < 30; pair += 2) {
        const std::int64_t k0 = places[pair], k1 = places[pair + 1];
        for (std::int64_t row = 0; row < 6; ++row) {
          const int up = static_cast<int>(random() % (spread + 1));
          x(row, k0) = x(row, k1) = Bf16::FromFloat(std::ldexp(x(row, k0).ToFloat(), up));
          const float value = std::ldexp(w(row, k0).ToFloat(), spread - up);
          w(row, k0) = Bf16::FromFloat(value);
          w(row, k1) = Bf16::FromFloat(-value);
        }
      }
    }
    ExpectExact(x, w);
  }
}

TEST(ExactLinear, Bf16ByMx) {
  std::mt19937 random(23);
  for (const int spread : {3, 20, 126}) {
    const Tensor<Bf16, 2> x = RandomBf16(4, 96, spread, &random);
    for (const ElementFormat format : kFormats) {
      ExpectExact(x, RandomMx(format, 6, 96, 6, 115, 134, &random));
    }
    ExpectExact(x, RandomMx(ElementFormat::kE2m1, 64, 96, 2, 0, 254, &random));
  }
}

TEST(ExactLinear, Bf16ByBf16) {
  std::mt19937 random(24);
  for (const int spread : {3, 20, 60, 126}) {
    for (const std::int64_t k : {1, 33, 96}) {  // Any K.
      ExpectExact(RandomBf16(4, k, spread, &random), RandomBf16(7, k, spread, &random));
    }
  }
}

// The order of K is free, within blocks and among them: the double products really are exact.
TEST(ExactLinear, PermutingKChangesNothing) {
  std::mt19937 random(25);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 16, 512, 16, 110, 140, &random);
  const Mx w = RandomMx(ElementFormat::kE4m3Fn, 96, 512, 96, 110, 140, &random);
  const absl::StatusOr<Tensor<float, 2>> expected = ExactLinear<float>(x.view(), w.view());
  ASSERT_TRUE(expected.ok());
  for (int round = 0; round < 10; ++round) {
    std::vector<std::int64_t> blocks(16);
    std::iota(blocks.begin(), blocks.end(), 0);
    std::shuffle(blocks.begin(), blocks.end(), random);
    std::vector<std::int64_t> inside(32);
    std::iota(inside.begin(), inside.end(), 0);
    Mx px = x, pw = w;
    for (std::int64_t b = 0; b < 16; ++b) {
      std::shuffle(inside.begin(), inside.end(), random);
      for (auto [from, to] : {std::pair(&x, &px), std::pair(&w, &pw)}) {
        for (std::int64_t row = 0; row < Rows(*from); ++row) {
          to->codes(row, b) = from->codes(row, blocks[b]);
          for (std::int64_t i = 0; i < 32; ++i) {
            to->elements(row, 32 * b + i) = from->elements(row, 32 * blocks[b] + inside[i]);
          }
        }
      }
    }
    const absl::StatusOr<Tensor<float, 2>> out = ExactLinear<float>(px.view(), pw.view());
    ASSERT_TRUE(out.ok());
    for (std::int64_t m = 0; m < 16; ++m) {
      for (std::int64_t n = 0; n < 96; ++n) {
        ASSERT_EQ((*out)(m, n), (*expected)(m, n)) << "m " << m << " n " << n;
      }
    }
  }
}

TEST(ExactLinear, BlockScalesAreRowScalesRepeated) {
  std::mt19937 random(26);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 3, 128, 3, 110, 140, &random);
  const Mx blocks = RandomMx(ElementFormat::kE4m3Fn, 96, 128, 3, 110, 140, &random);
  Mx rows = blocks;
  rows.codes.resize(96, 4);
  for (std::int64_t n = 0; n < 96; ++n) {
    for (std::int64_t b = 0; b < 4; ++b) rows.codes(n, b) = blocks.codes(n / 32, b);
  }
  const absl::StatusOr<Tensor<Bf16, 2>> a = ExactLinear<Bf16>(x.view(), blocks.view());
  const absl::StatusOr<Tensor<Bf16, 2>> b = ExactLinear<Bf16>(x.view(), rows.view());
  ASSERT_TRUE(a.ok() && b.ok());
  for (std::int64_t i = 0; i < a->size(); ++i) {
    ASSERT_EQ(a->data()[i].bits(), b->data()[i].bits()) << i;
  }
}

TEST(ExactLinear, NanElementsAndCodesSpreadToTheirRowAndColumn) {
  std::mt19937 random(27);
  Mx x = RandomMx(ElementFormat::kE4m3Fn, 5, 64, 5, 120, 130, &random);
  Mx w = RandomMx(ElementFormat::kE4m3Fnuz, 7, 64, 7, 120, 130, &random);
  x.elements(1, 40) = 0xFF;
  w.elements(2, 3) = 0x80;  // The FNUZ NaN.
  x.codes(3, 0) = 255;
  w.codes(5, 1) = 255;
  for (std::int64_t k = 0; k < 64; ++k) {
    w.elements(6, k) = 0;  // NaN times zero is NaN too.
    if (k >= 32) w.elements(5, k) = 0;
  }
  const absl::StatusOr<Tensor<float, 2>> out = ExactLinear<float>(x.view(), w.view());
  const absl::StatusOr<Tensor<Bf16, 2>> bf16 = ExactLinear<Bf16>(x.view(), w.view());
  ASSERT_TRUE(out.ok() && bf16.ok());
  for (std::int64_t m = 0; m < 5; ++m) {
    for (std::int64_t n = 0; n < 7; ++n) {
      const bool nan = m == 1 || m == 3 || n == 2 || n == 5;
      ASSERT_EQ(std::isnan((*out)(m, n)), nan) << "m " << m << " n " << n;
      if (nan) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>((*out)(m, n)), 0x7FC00000u);
        ASSERT_EQ((*bf16)(m, n).bits(), 0x7FC0);
      } else {
        ASSERT_EQ((*out)(m, n), SumOf(x, w, m, n).ToFloat()) << "m " << m << " n " << n;
      }
    }
  }
}

TEST(ExactLinear, Infinities) {
  const float infinity = std::numeric_limits<float>::infinity();
  Tensor<Bf16, 2> x(3, 32);
  Tensor<Bf16, 2> w(4, 32);
  for (std::int64_t i = 0; i < x.size(); ++i) x.data()[i] = Bf16::FromFloat(1.0f);
  for (std::int64_t i = 0; i < w.size(); ++i) w.data()[i] = Bf16::FromFloat(1.0f);
  x(1, 5) = Bf16::FromFloat(-infinity);
  x(2, 5) = Bf16::FromFloat(infinity);
  x(2, 6) = Bf16::FromFloat(infinity);
  w(1, 5) = Bf16::FromFloat(0.0f);
  w(2, 6) = Bf16::FromFloat(-2.0f);
  w(3, 5) = Bf16::FromFloat(-infinity);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float expected[3][4] = {
      {32, 31, 29, -infinity}, {-infinity, nan, -infinity, infinity}, {infinity, nan, nan, nan}};
  const absl::StatusOr<Tensor<float, 2>> out = ExactLinear<float>(x, w);
  ASSERT_TRUE(out.ok());
  for (std::int64_t m = 0; m < 3; ++m) {
    for (std::int64_t n = 0; n < 4; ++n) {
      if (std::isnan(expected[m][n])) {
        EXPECT_TRUE(std::isnan((*out)(m, n))) << "m " << m << " n " << n;
      } else {
        EXPECT_EQ((*out)(m, n), expected[m][n]) << "m " << m << " n " << n;
      }
    }
  }
}

TEST(ExactLinear, BadShapesAreRefusedByName) {
  std::mt19937 random(28);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 3, 64, 3, 127, 127, &random);
  Mx w = RandomMx(ElementFormat::kE4m3Fn, 40, 96, 40, 127, 127, &random);
  EXPECT_TRUE(
      Refused(ExactLinear<float>(x.view(), w.view()).status(), "x has K = 64, w has K = 96"));
  w.codes.resize(20, 3);
  EXPECT_TRUE(Refused(ExactLinear<float>(x.view(), w.view()).status(),
                      "w's codes are [20, 3], expected [40, 3] for w [40, 96] of e4m3fn"));
  w = RandomMx(ElementFormat::kE2m1, 64, 64, 64, 127, 127, &random);
  w.codes.resize(64, 1);
  EXPECT_TRUE(Refused(ExactLinear<float>(x.view(), w.view()).status(),
                      "w's codes are [64, 1], expected [64, 2] or [2, 2] for w [64, 32] of e2m1"));
  w.elements.resize(64, 24);
  EXPECT_TRUE(Refused(ExactLinear<float>(x.view(), w.view()).status(), "K = 48 is not a multiple"));
  EXPECT_TRUE(Refused(ExactLinear<float>(Tensor<Bf16, 2>(2, 8), Tensor<Bf16, 2>(2, 9)).status(),
                      "x has K = 8, w has K = 9"));
}

TEST(ExactLinear, EmptyShapes) {
  const absl::StatusOr<Tensor<float, 2>> none =
      ExactLinear<float>(Tensor<Bf16, 2>(0, 8), Tensor<Bf16, 2>(2, 8));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(ShapeText(*none), "[0, 2]");
  const absl::StatusOr<Tensor<float, 2>> zeros =
      ExactLinear<float>(Tensor<Bf16, 2>(3, 0), Tensor<Bf16, 2>(2, 0));
  ASSERT_TRUE(zeros.ok());
  for (std::int64_t i = 0; i < zeros->size(); ++i) EXPECT_EQ(zeros->data()[i], 0.0f);
}

}  // namespace
}  // namespace lanewise::reference
