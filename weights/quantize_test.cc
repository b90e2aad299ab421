#include "weights/quantize.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "weights/each_instruction_set.h"

namespace lanewise {
namespace {

struct Result {
  std::vector<std::uint8_t> elements, codes;
  MxError error;
};

Result Quantize(const std::vector<float>& x, std::int64_t rows, const MxOptions& options) {
  const std::int64_t k = std::ssize(x) / rows;
  std::vector<std::uint8_t> bytes(x.size() * sizeof(float));
  std::memcpy(bytes.data(), x.data(), bytes.size());
  Result result;
  result.elements.assign(static_cast<std::size_t>(rows * ElementBytes(options.format, k)), 0xA5);
  result.codes.assign(static_cast<std::size_t>(rows / options.code_rows * (k / 32)), 0xA5);
  const absl::StatusOr<MxError> error =
      QuantizeRows(bytes, FloatType::kF32, rows, k, options, result.elements, result.codes);
  EXPECT_TRUE(error.ok()) << error.status();
  if (error.ok()) result.error = *error;
  return result;
}

// By hand: amax 448 is the largest of scale 1; 1.0 is 0x38, -0.5 is 0xB0, 2^-9 the smallest
// subnormal, half of it ties to zero, and just above rounds up.
TEST(QuantizeRows, KnownElements) {
  ForEachInstructionSet([] {
    std::vector<float> x(32, 0.0f);
    x[0] = 448;
    x[1] = 1;
    x[2] = -0.5f;
    x[3] = 0x1p-9f;
    x[4] = 0x1p-10f;
    x[5] = std::nextafter(0x1p-10f, 1.0f);
    x[6] = -0.0f;
    x[7] = 17;  // halfway between 16 and 18: 16 is even
    x[8] = 19;  // between 18 and 20: 20 is
    const Result result = Quantize(x, 1, DefaultMxOptions(ElementFormat::kE4m3Fn));
    EXPECT_EQ(result.codes[0], 127);
    const std::uint8_t expected[] = {0x7E, 0x38, 0xB0, 0x01, 0x00, 0x01, 0x80, 0x58, 0x5A};
    for (std::size_t i = 0; i < sizeof(expected); ++i) {
      EXPECT_EQ(result.elements[i], expected[i]) << "element " << i;
    }
    EXPECT_EQ(result.error.zeroed, 1);
    EXPECT_EQ(result.error.largest, 1);
    EXPECT_EQ(result.error.nan_blocks, 0);
  });
}

TEST(QuantizeRows, KnownNibblesAndCodes) {
  ForEachInstructionSet([] {
    std::vector<float> x(64, 0.0f);
    for (int i = 0; i < 8; ++i) x[i] = std::vector<float>{0, .5f, 1, 1.5f, 2, 3, 4, 6}[i] * 4;
    x[8] = -24;
    x[40] = std::bit_cast<float>(0x7FC00000u);
    const Result result = Quantize(x, 1, DefaultMxOptions(ElementFormat::kE2m1));
    EXPECT_EQ(result.codes[0], 129);
    EXPECT_EQ(result.codes[1], 255);
    const std::uint8_t expected[] = {0x10, 0x32, 0x54, 0x76, 0x0F};
    for (std::size_t i = 0; i < sizeof(expected); ++i) {
      EXPECT_EQ(result.elements[i], expected[i]) << "byte " << i;
    }
    EXPECT_EQ(result.elements[16], 0);
    EXPECT_EQ(result.error.nan_blocks, 1);
    EXPECT_EQ(result.error.error, 0);
  });
}

// e4m3fnuz: 1.0 is 0x40, no -0, and a NaN block is all 0x80.
TEST(QuantizeRows, FnuzHasNoNegativeZero) {
  ForEachInstructionSet([] {
    std::vector<float> x(64, -0.0f);
    x[0] = 240;
    x[1] = -1;
    x[2] = -0x1p-30f;
    x[32] = std::bit_cast<float>(0x7F800000u);
    const Result result = Quantize(x, 1, DefaultMxOptions(ElementFormat::kE4m3Fnuz));
    EXPECT_EQ(result.codes[0], 127);
    EXPECT_EQ(result.elements[0], 0x7F);
    EXPECT_EQ(result.elements[1], 0xC0);
    EXPECT_EQ(result.elements[2], 0x00);
    EXPECT_EQ(result.elements[3], 0x00);
    EXPECT_EQ(result.codes[1], 255);
    EXPECT_EQ(result.elements[40], 0x80);
  });
}

TEST(QuantizeRows, RefusesSizesAndOptions) {
  MxOptions options;
  std::vector<std::uint8_t> bytes(4 * 64), elements(64), codes(2);
  const auto run = [&](std::int64_t rows, std::int64_t k) {
    return QuantizeRows(bytes, FloatType::kF32, rows, k, options, elements, codes).status().code();
  };
  EXPECT_EQ(run(1, 64), absl::StatusCode::kOk);
  EXPECT_EQ(run(2, 32), absl::StatusCode::kOk);
  EXPECT_EQ(run(4, 16), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(run(1, 32), absl::StatusCode::kInvalidArgument);
  options.code_rows = 32;
  EXPECT_EQ(run(2, 32), absl::StatusCode::kInvalidArgument);
  options = {};
  options.maximum = 449;
  EXPECT_EQ(run(1, 64), absl::StatusCode::kInvalidArgument);
}

// What the vocabulary has and this quantizer does not.
TEST(QuantizeRows, RefusesFormatsAndPoliciesOfOthers) {
  MxOptions options = {.maximum = 448};
  EXPECT_TRUE(ValidateMxOptions(options).ok());
  for (const ElementFormat format : {ElementFormat::kE5m2, ElementFormat::kE5m2Fnuz}) {
    options.format = format;
    EXPECT_EQ(ValidateMxOptions(options).code(), absl::StatusCode::kInvalidArgument)
        << ElementFormatName(format);
  }
  options.format = ElementFormat::kE4m3Fn;
  for (const NonFinite policy : {NonFinite::kNanElements, NonFinite::kNanTopCode}) {
    options.non_finite = policy;
    EXPECT_EQ(ValidateMxOptions(options).code(), absl::StatusCode::kInvalidArgument)
        << NonFiniteName(policy);
  }
}

}  // namespace
}  // namespace lanewise
