#include "reference/gemm/reduction.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "reference/gemm/exact_linear.h"
#include "reference/gemm/test_matrices.h"
#include "reference/matrix_core/cdna3.h"

namespace lanewise::reference {
namespace {

// acc + d * 2^exponent rounded once: the fused multiply-add of float32, exponent in its range.
float Fused(float acc, float d, int exponent) {
  return std::fma(d, std::ldexp(1.0f, exponent), acc);
}

// One block of gfx942's products from C = 0.
float Cdna3Dot(const Mx& x, const Mx& w, std::int64_t m, std::int64_t n, std::int64_t block) {
  return std::bit_cast<float>(
      cdna3::DotAccumulate(OperandFormat::kE4m3Fnuz, OperandFormat::kE4m3Fnuz,
                           &w.elements(n, 32 * block), &x.elements(m, 32 * block), 32, 0));
}

TEST(Reduction, LeavesAndNodesAddInTheirOrder) {
  std::mt19937 random(31);
  const Mx x = RandomMx(ElementFormat::kE4m3Fnuz, 19, 192, 19, 120, 134, &random);
  const Mx w = RandomMx(ElementFormat::kE4m3Fnuz, 96, 192, 3, 120, 134, &random);
  const absl::StatusOr<std::unique_ptr<BlockProducts>> products =
      Cdna3BlockProducts(x.view(), w.view());
  ASSERT_TRUE(products.ok()) << products.status();
  // (4, 1) + ((0) + (5, 2, 3))
  const Reduction reduction = {{}, {{{4, 1}, {}}, {{}, {{{0}, {}}, {{5, 2, 3}, {}}}}}};
  const Tensor<float, 2> out = EvaluateReduction(reduction, **products, x.view(), w.view(), 7);
  Tensor<float, 2> expected(19, 96);
  for (std::int64_t m = 0; m < 19; ++m) {
    for (std::int64_t n = 0; n < 96; ++n) {
      const auto chain = [&](const std::vector<std::int64_t>& blocks) {
        float acc = 0;
        for (const std::int64_t b : blocks) {
          const int exponent = x.codes(m, b) + w.codes(n / 32, b) - 254 + 7;
          acc = Fused(acc, Cdna3Dot(x, w, m, n, b), exponent);
        }
        return acc;
      };
      expected(m, n) = chain({4, 1}) + (chain({0}) + chain({5, 2, 3}));
    }
  }
  EXPECT_TRUE(SameNumbers(expected, out));
}

// A leaf of one block rounds once, so it is the exact GEMM of that block.
TEST(Reduction, OneExactBlockIsTheExactLinear) {
  std::mt19937 random(32);
  for (const ElementFormat format : {ElementFormat::kE4m3Fn, ElementFormat::kE2m1}) {
    const Mx x = RandomMx(ElementFormat::kE4m3Fn, 33, 32, 33, 0, 254, &random);
    const Mx w = RandomMx(format, 70, 32, 70, 0, 254, &random);
    const absl::StatusOr<std::unique_ptr<BlockProducts>> products =
        ExactBlockProducts(x.view(), w.view());
    ASSERT_TRUE(products.ok()) << products.status();
    const absl::StatusOr<Tensor<float, 2>> exact = ExactLinear<float>(x.view(), w.view());
    ASSERT_TRUE(exact.ok());
    EXPECT_TRUE(
        SameNumbers(*exact, EvaluateReduction(Ascending(0, 1), **products, x.view(), w.view())));
  }
}

TEST(Reduction, EmptyIsPlusZero) {
  std::mt19937 random(33);
  const Mx x = RandomMx(ElementFormat::kE4m3Fn, 2, 32, 2, 127, 127, &random);
  const absl::StatusOr<std::unique_ptr<BlockProducts>> products =
      ExactBlockProducts(x.view(), x.view());
  ASSERT_TRUE(products.ok());
  Tensor<float, 2> zeros(2, 2);
  zeros.setZero();
  EXPECT_TRUE(SameNumbers(zeros, EvaluateReduction({}, **products, x.view(), x.view())));
}

TEST(Reduction, NanCodesAndElements) {
  std::mt19937 random(34);
  Mx x = RandomMx(ElementFormat::kE4m3Fnuz, 4, 64, 4, 127, 127, &random);
  Mx w = RandomMx(ElementFormat::kE4m3Fnuz, 5, 64, 5, 127, 127, &random);
  x.codes(1, 1) = 255;
  w.codes(2, 0) = 255;
  x.elements(3, 5) = 0x80;
  w.elements(4, 63) = 0x80;
  w.elements.chip(0, 0).setZero();
  const absl::StatusOr<std::unique_ptr<BlockProducts>> products =
      Cdna3BlockProducts(x.view(), w.view());
  ASSERT_TRUE(products.ok());
  const Tensor<float, 2> out = EvaluateReduction(Ascending(0, 2), **products, x.view(), w.view());
  for (std::int64_t m = 0; m < 4; ++m) {
    for (std::int64_t n = 0; n < 5; ++n) {
      EXPECT_EQ(std::isnan(out(m, n)), m == 1 || m == 3 || n == 2 || n == 4) << m << " " << n;
    }
  }
}

TEST(Reduction, OverflowIsInfinite) {
  Mx x{ElementFormat::kE4m3Fn, Tensor<std::uint8_t, 2>(1, 32), Tensor<std::uint8_t, 2>(1, 1)};
  x.elements.setConstant(0x7E);
  x.codes.setConstant(254);
  const absl::StatusOr<std::unique_ptr<BlockProducts>> products =
      ExactBlockProducts(x.view(), x.view());
  ASSERT_TRUE(products.ok());
  EXPECT_EQ(EvaluateReduction(Ascending(0, 1), **products, x.view(), x.view())(0, 0), INFINITY);
}

TEST(Reduction, ProductsRefuseOtherFormats) {
  std::mt19937 random(35);
  const Mx ocp = RandomMx(ElementFormat::kE4m3Fn, 1, 32, 1, 127, 127, &random);
  const Mx fnuz = RandomMx(ElementFormat::kE4m3Fnuz, 1, 32, 1, 127, 127, &random);
  EXPECT_TRUE(Refused(Cdna3BlockProducts(ocp.view(), fnuz.view()).status(), "x is of e4m3fn,"));
  EXPECT_TRUE(Refused(Cdna3BlockProducts(fnuz.view(), ocp.view()).status(), "w is of e4m3fn,"));
  EXPECT_TRUE(Refused(ExactBlockProducts(ocp.view(), fnuz.view()).status(), "w is of e4m3fnuz,"));
}

}  // namespace
}  // namespace lanewise::reference
