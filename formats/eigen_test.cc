#include "formats/eigen.h"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <unsupported/Eigen/CXX11/Tensor>

#include "formats/formats.h"
#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

template <class Format>
class EigenTest : public testing::Test {
 protected:
  using Matrix = Eigen::Matrix<Format, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  // All codes, 16 a row.
  static Matrix EveryCode() {
    constexpr int kCodes = 1 << Format::kBits;
    Matrix codes(kCodes / 16, 16);
    for (int code = 0; code < kCodes; ++code) {
      codes(code / 16, code % 16) = Format::FromBits(static_cast<typename Format::Bits>(code));
    }
    return codes;
  }
};

struct NameOfFormat {
  template <class Format>
  static std::string GetName(int) {
    return Format::Spec().name;
  }
};

TYPED_TEST_SUITE(EigenTest, AllFormats<testing::Types>, NameOfFormat);

TYPED_TEST(EigenTest, CastsToFloatAndDoubleAreExact) {
  const auto codes = this->EveryCode();
  const Eigen::MatrixXd doubles = codes.template cast<double>();
  const Eigen::MatrixXf floats = codes.template cast<float>();
  for (Eigen::Index row = 0; row < codes.rows(); ++row) {
    for (Eigen::Index column = 0; column < codes.cols(); ++column) {
      const float expected = codes(row, column).ToFloat();
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(doubles(row, column)) && std::isnan(floats(row, column)));
        continue;
      }
      ASSERT_EQ(doubles(row, column), expected) << row << ", " << column;
      ASSERT_EQ(floats(row, column), expected) << row << ", " << column;
    }
  }
}

TYPED_TEST(EigenTest, CastsFromFloatAndDoubleGiveTheCodesBack) {
  const auto codes = this->EveryCode();
  using Matrix = std::remove_cv_t<decltype(codes)>;
  const Matrix from_doubles = codes.template cast<double>().template cast<TypeParam>();
  const Matrix from_floats = codes.template cast<float>().template cast<TypeParam>();
  for (Eigen::Index i = 0; i < codes.size(); ++i) {
    if (codes.data()[i].IsNan()) continue;
    ASSERT_EQ(from_doubles.data()[i].bits(), codes.data()[i].bits());
    ASSERT_EQ(from_floats.data()[i].bits(), codes.data()[i].bits());
  }
}

TYPED_TEST(EigenTest, TensorsCastToo) {
  Eigen::Tensor<TypeParam, 2, Eigen::RowMajor> ones(2, 3);
  ones.setConstant(TypeParam::FromFloat(1));
  const Eigen::Tensor<double, 2, Eigen::RowMajor> doubles = ones.template cast<double>();
  for (Eigen::Index i = 0; i < 6; ++i) EXPECT_EQ(doubles.data()[i], 1.0);
}

TYPED_TEST(EigenTest, Traits) {
  using Traits = Eigen::NumTraits<TypeParam>;
  EXPECT_EQ(Traits::highest().bits(), TypeParam::Largest().bits());
  EXPECT_EQ(Traits::lowest().bits(), TypeParam::Lowest().bits());
  EXPECT_EQ(Traits::epsilon().ToFloat(), std::ldexp(1.0f, -TypeParam::kMantissaBits));
  EXPECT_EQ(Traits::digits10(),
            static_cast<int>(std::floor(TypeParam::kMantissaBits * std::log10(2.0))));
  EXPECT_EQ(static_cast<int>(Traits::IsInteger), 0);
}

// Through float this would be the tie that goes down to 1.
TEST(EigenCastTest, DoublesAreRoundedOnce) {
  Eigen::Matrix<double, 1, 1> value;
  value << 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(value.cast<Bf16>().eval()(0, 0).bits(), 0x3F81);
}

TEST(EigenCastTest, BetweenFormatsWithOverflow) {
  Eigen::Matrix<Bf16, 1, 3> values;
  values << Bf16::FromFloat(0.3f), Bf16::FromFloat(-1000.0f), Bf16::FromFloat(-1e-9f);
  const Eigen::Matrix<E4m3Fnuz, 1, 3> cast = values.cast<E4m3Fnuz>();
  EXPECT_EQ(cast(0).ToFloat(), 0.3125f);
  EXPECT_TRUE(cast(1).IsNan());
  EXPECT_EQ(cast(2).bits(), 0x00);
}

// The reason for the casts: a product of e4m3 matrices is exact in binary64.
TEST(EigenCastTest, ProductsOfCastMatrices) {
  Eigen::Matrix<E4m3Fn, 2, 2> a;
  a << E4m3Fn::FromFloat(448.0f), E4m3Fn::FromFloat(0x1p-9f), E4m3Fn::FromFloat(1.5f),
      E4m3Fn::FromFloat(-2.0f);
  const Eigen::Matrix2d product = a.cast<double>() * a.cast<double>().transpose();
  EXPECT_EQ(product(0, 0), 448.0 * 448.0 + 0x1p-18);
  EXPECT_EQ(product(0, 1), 672.0 - 0x1p-8);
  EXPECT_EQ(product(1, 1), 6.25);
}

}  // namespace
}  // namespace lanewise
