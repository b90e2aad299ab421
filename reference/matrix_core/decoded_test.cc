#include "reference/matrix_core/decoded.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

struct Named {
  OperandFormat format;
  const char* name;
};

constexpr Named kNames[] = {
    {OperandFormat::kE4m3Fn, "e4m3fn"},     {OperandFormat::kE5m2, "e5m2"},
    {OperandFormat::kE2m3, "e2m3"},         {OperandFormat::kE3m2, "e3m2"},
    {OperandFormat::kE2m1, "e2m1"},         {OperandFormat::kE4m3Fnuz, "e4m3fnuz"},
    {OperandFormat::kE5m2Fnuz, "e5m2fnuz"}, {OperandFormat::kBf16, "bf16"},
    {OperandFormat::kF16, "f16"},
};

class DecodedFormat : public testing::TestWithParam<Named> {};

// Every code: the value by the format's own decoder, the exponent by its definition.
TEST_P(DecodedFormat, IsSignificandTimesPowerOfTwo) {
  const OperandFormat format = GetParam().format;
  const FormatView* const view = FindFormat(GetParam().name);
  ASSERT_NE(view, nullptr);
  for (std::uint32_t code = 0; code < 1u << view->bits; ++code) {
    const double value = view->decode(static_cast<std::uint16_t>(code));
    const DecodedElement element = Decode(format, code);
    if (std::isnan(value)) {
      EXPECT_EQ(element.exponent, kNanExponent) << code;
    } else if (std::isinf(value)) {
      EXPECT_EQ(element.exponent, kInfExponent) << code;
      EXPECT_EQ(element.significand, value > 0 ? 1 : -1) << code;
    } else if (value == 0) {
      EXPECT_EQ(element.exponent, kZeroExponent) << code;
      EXPECT_EQ(element.significand, 0) << code;
    } else {
      EXPECT_EQ(element.exponent, std::max(std::ilogb(value), 1 - view->spec->bias)) << code;
      EXPECT_EQ(std::ldexp(static_cast<double>(element.significand), element.exponent), value)
          << code;
    }

    const unsigned char bytes[] = {static_cast<unsigned char>(code),
                                   static_cast<unsigned char>(code >> 8)};
    const float from_array = ValueAt(format, bytes, 0);
    EXPECT_TRUE(std::isnan(value) ? std::isnan(from_array)
                                  : std::bit_cast<std::uint32_t>(from_array) ==
                                        std::bit_cast<std::uint32_t>(static_cast<float>(value)))
        << code;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DecodedFormat, testing::ValuesIn(kNames),
                         [](const auto& info) { return std::string(info.param.name); });

// A 3 x 5 operand of bf16 values row + k / 16, as rows, as columns from either order, and with a
// stride.
TEST(Decoded, StandsWhereTheStridesSay) {
  constexpr int kOuter = 3;
  constexpr int kK = 5;
  constexpr int kStride = 7;
  const auto code = [](int outer, int k) {
    return static_cast<std::uint16_t>(
        std::bit_cast<std::uint32_t>(static_cast<float>(1 + outer + k / 16.0)) >> 16);
  };
  std::vector<std::uint16_t> by_outer(kOuter * kStride, 0x7FC0);
  std::vector<std::uint16_t> by_k(kK * kOuter);
  for (int outer = 0; outer < kOuter; ++outer) {
    for (int k = 0; k < kK; ++k) {
      by_outer[outer * kStride + k] = code(outer, k);
      by_k[k * kOuter + outer] = code(outer, k);
    }
  }
  const DecodedRows rows({OperandFormat::kBf16, by_outer.data(), kOuter, kK, kStride, 1});
  const DecodedColumns columns({OperandFormat::kBf16, by_outer.data(), kOuter, kK, kStride, 1});
  const DecodedColumns transposed({OperandFormat::kBf16, by_k.data(), kOuter, kK, 1, kOuter});
  ASSERT_EQ(columns.panels(), 1);
  for (int k = 0; k < kK; ++k) {
    for (int outer = 0; outer < kOuter; ++outer) {
      const DecodedElement expected = Decode(OperandFormat::kBf16, code(outer, k));
      const int at = k * DecodedColumns::kPanelWidth + outer;
      EXPECT_EQ(rows.significands(outer)[k], expected.significand);
      EXPECT_EQ(rows.exponents(outer)[k], expected.exponent);
      for (const DecodedColumns* one : {&columns, &transposed}) {
        EXPECT_EQ(one->significands(0)[at], expected.significand);
        EXPECT_EQ(one->exponents(0)[at], expected.exponent);
      }
    }
    for (int missing = kOuter; missing < DecodedColumns::kPanelWidth; ++missing) {
      EXPECT_EQ(columns.significands(0)[k * DecodedColumns::kPanelWidth + missing], 0);
      EXPECT_EQ(columns.exponents(0)[k * DecodedColumns::kPanelWidth + missing], kZeroExponent);
    }
  }
}

}  // namespace
}  // namespace lanewise
