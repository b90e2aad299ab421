// The device's dequantizer against the reference, every element with every code, on both chips.

#include "hip/common/mx_dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hip/common/launcher_test.h"
#include "reference/quantize/mx.h"

namespace lanewise::hip {
namespace {

using testing::HasSubstr;

constexpr ElementFormat kFormats[] = {ElementFormat::kE4m3Fn, ElementFormat::kE4m3Fnuz,
                                      ElementFormat::kE2m1};

class MxDequantizeTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    auto kernels = MxDequantize::Load(device());
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    kernels_.emplace(*std::move(kernels));
  }

  void Compare(ElementFormat format, const reference::Quantized& quantized, int64_t rows_per_code) {
    const int64_t rows = quantized.elements.dimension(0);
    const int64_t columns = quantized.codes.dimension(1) * 32;
    const auto floats = reference::DequantizeToFloat(quantized, format);
    ASSERT_TRUE(floats.ok()) << floats.status();
    const auto bf16s = reference::DequantizeToBf16(quantized, format);
    ASSERT_TRUE(bf16s.ok()) << bf16s.status();
    const auto bytes = [](const Tensor<uint8_t, 2>& tensor) {
      return std::vector<uint8_t>(tensor.data(), tensor.data() + tensor.size());
    };
    const Buffer elements = In(bytes(quantized.elements), "elements");
    const Buffer codes = In(bytes(quantized.codes), "codes");
    MxDequantize::Problem problem = {.format = format,
                                     .output = FloatType::kBf16,
                                     .rows = rows,
                                     .columns = columns,
                                     .rows_per_code = rows_per_code};
    const auto where = [&](int64_t i) {
      return "row " + std::to_string(i / columns) + ", column " + std::to_string(i % columns) +
             ", code " +
             std::to_string(quantized.codes(i / columns / rows_per_code, i % columns / 32));
    };

    const Buffer narrow = Out(rows * columns * 2, "bf16");
    absl::Status status =
        kernels_->Launch(problem, {elements.data(), codes.data(), narrow.data()}, stream());
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<uint16_t> got_narrow = Read<uint16_t>(narrow);
    for (int64_t i = 0; i < rows * columns; ++i) {
      ASSERT_EQ(got_narrow[static_cast<size_t>(i)], bf16s->data()[i].bits()) << where(i);
    }

    problem.output = FloatType::kF32;
    const Buffer wide = Out(rows * columns * 4, "float32");
    status = kernels_->Launch(problem, {elements.data(), codes.data(), wide.data()}, stream());
    ASSERT_TRUE(status.ok()) << status;
    const std::vector<float> got_wide = Read<float>(wide);
    for (int64_t i = 0; i < rows * columns; ++i) {
      const float expected = floats->data()[i];
      const float found = got_wide[static_cast<size_t>(i)];
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(found)) << where(i) << ", found " << found;
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected))
            << where(i) << ", found " << found << ", expected " << expected;
      }
    }
  }

  std::optional<MxDequantize> kernels_;
};

TEST_P(MxDequantizeTest, EveryElementWithEveryCode) {
  for (const ElementFormat format : kFormats) {
    reference::Quantized all;
    all.elements.resize(256, 256);  // of e2m1 512 columns: every pair of nibbles
    const int64_t blocks = format == ElementFormat::kE2m1 ? 16 : 8;
    all.codes.resize(256, blocks);
    for (int64_t code = 0; code < 256; ++code) {
      for (int64_t i = 0; i < 256; ++i) all.elements(code, i) = static_cast<uint8_t>(i);
      for (int64_t b = 0; b < blocks; ++b) all.codes(code, b) = static_cast<uint8_t>(code);
    }
    Compare(format, all, 1);
    if (HasFatalFailure()) return;
  }
}

TEST_P(MxDequantizeTest, ShapesAndSquareBlocks) {
  const uint64_t seed = NewSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (const ElementFormat format : kFormats) {
    for (const auto& [rows, columns, rows_per_code] : {std::array<int64_t, 3>{1, 32, 1},
                                                       {3, 96, 1},
                                                       {7, 1824, 1},
                                                       {33, 32, 1},
                                                       {32, 32, 32},
                                                       {96, 160, 32},
                                                       {64, 2880, 32}}) {
      reference::Quantized quantized;
      quantized.elements.resize(rows, format == ElementFormat::kE2m1 ? columns / 2 : columns);
      quantized.codes.resize(rows / rows_per_code, columns / 32);
      for (auto* tensor : {&quantized.elements, &quantized.codes}) {
        for (int64_t i = 0; i < tensor->size(); ++i) {
          tensor->data()[i] = static_cast<uint8_t>(random());
        }
      }
      Compare(format, quantized, rows_per_code);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MxDequantizeTest, RefusesWhatDoesNotFit) {
  const Buffer buffer = Out(8192);
  auto* const data = static_cast<uint8_t*>(buffer.data());
  const MxDequantize::Operands good = {data, data, data};
  const auto message = [&](const MxDequantize::Problem& problem,
                           const MxDequantize::Operands& operands) {
    const absl::Status status = kernels_->Launch(problem, operands, stream());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message({.rows = 1, .columns = 33}, good), HasSubstr("elements are [1, 33]"));
  EXPECT_THAT(message({.rows = 33, .columns = 32, .rows_per_code = 32}, good),
              HasSubstr("33 rows are not a multiple of 32"));
  EXPECT_THAT(message({.rows = 32, .columns = 32, .rows_per_code = 2}, good),
              HasSubstr("2 rows a code"));
  EXPECT_THAT(message({.format = ElementFormat::kE5m2, .rows = 1, .columns = 32}, good),
              HasSubstr("there are kernels for"));
  EXPECT_THAT(message({.rows = 1, .columns = 32}, {data, data, data + 8}),
              HasSubstr("dequantize: out is at 0x"));
  EXPECT_TRUE(kernels_->Launch({.rows = 0, .columns = 32}, {}, stream()).ok());
}

TEST_P(MxDequantizeTest, CostCountsEachByteOnce) {
  const LaunchCost cost = *MxDequantize::Cost({.rows = 64, .columns = 96, .rows_per_code = 32});
  EXPECT_EQ(cost.weight_bytes, 64 * 96 + 2 * 3);
  EXPECT_EQ(cost.output_bytes, 64 * 96 * 2);
  EXPECT_EQ(cost.launches, 1);
}

INSTANTIATE_TEST_SUITE_P(Chips, MxDequantizeTest, testing::ValuesIn(Chips()), LauncherTest::Name);

}  // namespace
}  // namespace lanewise::hip
