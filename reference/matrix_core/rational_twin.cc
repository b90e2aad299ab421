#include "reference/matrix_core/rational_twin.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "formats/formats.h"
#include "reference/exact/wide_number.h"

namespace lanewise {
namespace {

// The exponent of a product that is zero.
constexpr int kNoExponent = -999;

struct Product {
  double value;  // exact: no operand has more than 11 significant bits
  int exponent;
};

int Exponent(double x, int smallest) {
  return x == 0 ? smallest : std::max(std::ilogb(x), smallest);
}

Product Multiply(const TwinElement& a, const TwinElement& b) {
  const double value = a.value * b.value;
  if (value == 0) return {value, kNoExponent};
  return {value, Exponent(a.value, a.smallest_exponent) + Exponent(b.value, b.smallest_exponent)};
}

// What NaNs and Infs among the terms make of the sum, if there are any. Adding them up says it.
std::optional<std::uint32_t> NonFiniteSum(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms) {
    if (!std::isfinite(term)) sum += term;
  }
  if (std::isnan(sum)) return kCanonicalNan;
  if (std::isinf(sum)) return std::bit_cast<std::uint32_t>(static_cast<float>(sum));
  return std::nullopt;
}

int LargestExponent(std::span<const Product> products) {
  int largest = kNoExponent;
  for (const Product& product : products) largest = std::max(largest, product.exponent);
  return largest;
}

// Sum of TZ(p, ed - 24).
WideNumber TruncatedSum(std::span<const Product> products, int ed) {
  WideNumber sum;
  for (const Product& product : products) {
    if (product.value != 0) sum = sum + WideNumber(product.value).TowardZero(ed - 24);
  }
  return sum;
}

WideNumber FL(const WideNumber& x, int n) { return x.TowardMinusInfinity(n); }

std::uint32_t FloatBits(float x) { return std::bit_cast<std::uint32_t>(x); }

// s = FL(s, max(floor(log2|s|), -126) - 31); d = float32 nearest-even(s).
std::uint32_t Finish(const WideNumber& s) {
  if (s.IsZero()) return 0;
  return FloatBits(FL(s, std::max(s.FloorLog2(), -126) - 31).RoundTo(24));
}

// Eight products of bf16 or f16.
std::uint32_t Step16(std::span<const Product> products, std::uint32_t c_bits) {
  const double c = std::bit_cast<float>(c_bits);
  std::vector<double> terms = {c};
  for (const Product& product : products) {
    const bool overflows = std::fabs(product.value) >= std::ldexp(1.0, 128);
    terms.push_back(overflows ? product.value * std::numeric_limits<double>::infinity()
                              : product.value);
  }
  if (const auto result = NonFiniteSum(terms)) return *result;

  const int ed = LargestExponent(products);
  const WideNumber t = TruncatedSum(products, ed);
  const int ec = Exponent(c, -126);
  const int e = std::max(ed, ec);
  return Finish(FL(t, e - 32) + FL(WideNumber(c), e - 24));
}

// Sixteen products of fp8 or bf8.
std::uint32_t Step8(std::span<const Product> products, std::uint32_t c_bits) {
  const double c = std::bit_cast<float>(c_bits);
  std::vector<double> terms = {c};
  std::vector<Product> groups[2];
  for (std::size_t k = 0; k < products.size(); ++k) {
    terms.push_back(products[k].value);
    groups[k % 2].push_back(products[k]);
  }
  if (const auto result = NonFiniteSum(terms)) return *result;

  const int e_0 = LargestExponent(groups[0]);
  const int e_1 = LargestExponent(groups[1]);
  const WideNumber t_0 = TruncatedSum(groups[0], e_0);
  const WideNumber t_1 = TruncatedSum(groups[1], e_1);
  const int ed = std::max(e_0, e_1);
  const WideNumber t = FL(t_0, ed - 24) + FL(t_1, ed - 24);
  const int ec = Exponent(c, -126);
  const int e = std::max(ed, ec);
  const WideNumber c_part = ec < e - 25 ? WideNumber() : FL(WideNumber(c), e - 24);
  return Finish(FL(t, e - 32) + c_part);
}

template <class Format>
TwinElement DecodeAs(std::uint32_t bits) {
  return {Format::FromBits(static_cast<typename Format::Bits>(bits)).ToFloat(), 1 - Format::kBias};
}

}  // namespace

TwinElement TwinDecode(OperandFormat format, std::uint32_t bits) {
  switch (format) {
    case OperandFormat::kE4m3Fn:
      return DecodeAs<E4m3Fn>(bits);
    case OperandFormat::kE5m2:
      return DecodeAs<E5m2>(bits);
    case OperandFormat::kE2m3:
      return DecodeAs<E2m3>(bits);
    case OperandFormat::kE3m2:
      return DecodeAs<E3m2>(bits);
    case OperandFormat::kE2m1:
      return DecodeAs<E2m1>(bits);
    case OperandFormat::kE4m3Fnuz:
      return DecodeAs<E4m3Fnuz>(bits);
    case OperandFormat::kE5m2Fnuz:
      return DecodeAs<E5m2Fnuz>(bits);
    case OperandFormat::kBf16:
      return DecodeAs<Bf16>(bits);
    case OperandFormat::kF16:
      return DecodeAs<F16>(bits);
    case OperandFormat::kF32:
    case OperandFormat::kF8f6f4:
      break;
  }
  return {std::numeric_limits<double>::quiet_NaN(), 0};
}

std::uint32_t Cdna3Twin(OperandFormat format, const std::vector<TwinElement>& a,
                        const std::vector<TwinElement>& b, std::uint32_t c) {
  std::vector<Product> products;
  products.reserve(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) products.push_back(Multiply(a[k], b[k]));
  const bool wide = ElementBytes(format) == 2;
  const std::size_t step = wide ? 8 : 16;
  for (std::size_t k = 0; k < products.size(); k += step) {
    const std::span<const Product> group =
        std::span(products).subspan(k, std::min(step, products.size() - k));
    c = wide ? Step16(group, c) : Step8(group, c);
  }
  return c;
}

std::uint32_t FloatTwin(const std::vector<float>& a, const std::vector<float>& b, std::uint32_t c) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double product = static_cast<double>(a[k]) * b[k];  // 48 bits: exact
    const float addend = std::bit_cast<float>(c);
    if (const auto result = NonFiniteSum({product, addend})) {
      c = *result;
    } else {
      const WideNumber sum = WideNumber(product) + WideNumber(addend);
      c = FloatBits(sum.RoundTo(24));
    }
  }
  return c;
}

std::uint32_t Cdna4Twin(const std::vector<TwinElement>& a, const std::vector<TwinElement>& b,
                        int exponent, std::uint32_t c_bits) {
  const double c = std::bit_cast<float>(c_bits);
  std::vector<double> terms = {c};
  for (std::size_t k = 0; k < a.size(); ++k) {
    terms.push_back(std::ldexp(a[k].value * b[k].value, exponent));
  }
  if (const auto result = NonFiniteSum(terms)) return *result;
  WideNumber sum;
  for (const double term : terms) sum = sum + WideNumber(term);
  return FloatBits(sum.RoundTo(24));
}

}  // namespace lanewise
