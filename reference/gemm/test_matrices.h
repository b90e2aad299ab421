#ifndef LANEWISE_REFERENCE_GEMM_TEST_MATRICES_H_
#define LANEWISE_REFERENCE_GEMM_TEST_MATRICES_H_

// Random operands and the comparison of results, for the tests of GEMM semantics.

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "formats/formats.h"
#include "gtest/gtest.h"
#include "reference/gemm/operand.h"
#include "reference/quantize/mx.h"
#include "reference/tensor.h"

namespace lanewise::reference {

// A matrix that owns what MxMatrix views.
struct Mx {
  ElementFormat format;
  Tensor<std::uint8_t, 2> elements;
  Tensor<std::uint8_t, 2> codes;

  MxMatrix view() const { return {format, elements, codes}; }
};

inline Mx OwnedMx(ElementFormat format, const Quantized& quantized) {
  return {format, quantized.elements, quantized.codes};
}

// Random finite elements; codes from lowest to highest, [code_rows, k / 32].
inline Mx RandomMx(ElementFormat format, std::int64_t rows, std::int64_t k, std::int64_t code_rows,
                   int lowest, int highest, std::mt19937* random) {
  Mx mx{format, Tensor<std::uint8_t, 2>(rows, k * ElementBits(format) / 8),
        Tensor<std::uint8_t, 2>(code_rows, k / 32)};
  for (std::int64_t i = 0; i < mx.elements.size(); ++i) {
    std::uint8_t byte;
    do {
      byte = static_cast<std::uint8_t>((*random)());
    } while (ElementBits(format) == 8 && !std::isfinite(DecodeElement(format, byte)));
    mx.elements.data()[i] = byte;
  }
  for (std::int64_t i = 0; i < mx.codes.size(); ++i) {
    mx.codes.data()[i] = static_cast<std::uint8_t>(lowest + (*random)() % (highest - lowest + 1));
  }
  return mx;
}

// Finite bf16 of exponents within `spread` of 0; zeros among them.
inline Tensor<Bf16, 2> RandomBf16(std::int64_t rows, std::int64_t k, int spread,
                                  std::mt19937* random) {
  Tensor<Bf16, 2> x(rows, k);
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const int exponent = static_cast<int>((*random)() % (2 * spread + 1)) - spread;
    const float fraction = 1.0f + static_cast<float>((*random)() % 128) / 128.0f;
    const float sign = (*random)() % 2 == 0 ? 1.0f : -1.0f;
    const float value = (*random)() % 16 == 0 ? 0.0f : sign * std::ldexp(fraction, exponent);
    x.data()[i] = Bf16::FromFloat(value);
  }
  return x;
}

inline bool SameNumber(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}
inline bool SameNumber(Bf16 a, Bf16 b) { return SameNumber(a.ToFloat(), b.ToFloat()); }
inline float AsFloat(float value) { return value; }
inline float AsFloat(Bf16 value) { return value.ToFloat(); }

// Whether all elements have equal bits, NaN payloads aside; else the first that does not.
template <class T>
testing::AssertionResult SameNumbers(const Tensor<T, 2>& expected, const Tensor<T, 2>& actual) {
  if (expected.dimensions() != actual.dimensions()) {
    return testing::AssertionFailure()
           << "shape " << ShapeText(actual) << ", expected " << ShapeText(expected);
  }
  std::int64_t wrong = 0;
  std::string first;
  for (std::int64_t m = 0; m < expected.dimension(0); ++m) {
    for (std::int64_t n = 0; n < expected.dimension(1); ++n) {
      if (SameNumber(expected(m, n), actual(m, n))) continue;
      if (wrong++ == 0) {
        first = absl::StrCat("[", m, ", ", n, "]: ", AsFloat(actual(m, n)), ", expected ",
                             AsFloat(expected(m, n)));
      }
    }
  }
  if (wrong == 0) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << wrong << " of " << expected.size() << " elements differ, the first at " << first;
}

// "refused, and the message says `part`".
inline testing::AssertionResult Refused(const absl::Status& status, const std::string& part) {
  const std::string text = status.ToString();
  if (status.code() == absl::StatusCode::kInvalidArgument && text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure()
         << "\"" << text << "\", expected a refusal with \"" << part << "\"";
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_TEST_MATRICES_H_
