#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "emulator/corpus/kernel_test.h"
#include "emulator/corpus/reductions_o0.h"
#include "emulator/corpus/reductions_o1.h"
#include "emulator/corpus/reductions_o2.h"
#include "emulator/corpus/reductions_o3.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

class ReductionsTest : public KernelTest {
 protected:
  // Small whole numbers: every order of summation gives the same float.
  std::vector<float> WholeNumbers(size_t count) {
    std::uniform_int_distribution<int> draw(-1000, 1000);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(draw(random_));
    return values;
  }
};

TEST_P(ReductionsTest, WaveSums) {
  const std::vector<float> values = WholeNumbers(5 * 64);
  for (const char* kernel : {"SumByDpp", "SumByPermute"}) {
    const Buffer in = In(values);
    const Buffer out = Out<float>(5);
    Run(kernel, {{5}, {64}}, in, out);
    const auto sums = Read<float>(out);
    for (size_t wave = 0; wave < 5; ++wave) {
      const auto from = values.begin() + static_cast<int64_t>(64 * wave);
      ASSERT_EQ(sums[wave], std::accumulate(from, from + 64, 0.0f)) << kernel << " wave " << wave;
    }
  }
}

TEST_P(ReductionsTest, Readlane) {
  std::vector<int> values(64);
  for (int& value : values) value = static_cast<int>(random_());
  const Buffer in = In(values);
  const Buffer out = Out<int>(64);
  Run("SumByReadlane", {{1}, {64}}, in, out);
  uint32_t sum = 0;
  for (const int value : values) sum += static_cast<uint32_t>(value);
  for (const int value : Read<int>(out)) {
    ASSERT_EQ(static_cast<uint32_t>(value), sum - static_cast<uint32_t>(values[0]));
  }
}

TEST_P(ReductionsTest, SumThroughLds) {
  const std::vector<float> values = WholeNumbers(10000);
  const Buffer in = In(values);
  const Buffer out = Out<float>(7);
  Run("SumThroughLds", {{7}, {256}}, in, out, uint32_t{10000});
  const auto partial = Read<float>(out);
  ASSERT_EQ(std::accumulate(partial.begin(), partial.end(), 0.0f),
            std::accumulate(values.begin(), values.end(), 0.0f));
}

TEST_P(ReductionsTest, PrefixSumInDynamicLds) {
  std::vector<int> values(200);
  for (int& value : values) value = static_cast<int>(random_() % 2001) - 1000;
  const Buffer in = In(values);
  const Buffer out = Out<int>(200);
  Run("PrefixSum", {{1}, {256}, 256 * sizeof(int)}, in, out, uint32_t{200});
  const auto sums = Read<int>(out);
  int sum = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    ASSERT_EQ(sums[i], sum) << i;
  }
}

TEST_P(ReductionsTest, Softmax) {
  constexpr size_t kRows = 3, kColumns = 300;
  std::normal_distribution<float> draw(0.0f, 4.0f);
  std::vector<float> values(kRows * kColumns);
  for (float& value : values) value = draw(random_);
  const Buffer in = In(values);
  const Buffer out = Out<float>(values.size());
  Run("Softmax", {{kRows}, {128}}, in, out, static_cast<uint32_t>(kColumns));
  const auto results = Read<float>(out);
  for (size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (size_t i = 0; i < kColumns; ++i) sum += std::exp(double{values[row * kColumns + i]});
    for (size_t i = 0; i < kColumns; ++i) {
      const double exact = std::exp(double{values[row * kColumns + i]}) / sum;
      // exp2 within an ulp, its argument rounded thrice at a magnitude up to 64.
      ASSERT_NEAR(results[row * kColumns + i], exact, exact * 3e-5) << row << ", " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, ReductionsTest,
    testing::Combine(testing::Values("gfx942", "gfx950"),
                     testing::ValuesIn(Levels(ReductionsO0CodeObjects, ReductionsO1CodeObjects,
                                              ReductionsO2CodeObjects, ReductionsO3CodeObjects))),
    KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
