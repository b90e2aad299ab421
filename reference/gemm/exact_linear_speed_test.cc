// How long ExactLinear takes and how much memory, on the shape that its budget is stated for.

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>

#include "gtest/gtest.h"
#include "reference/gemm/exact_linear.h"

namespace lanewise::reference {
namespace {

// [rows, k] of finite e4m3 with codes as of trained weights.
void Fill(std::int64_t rows, std::int64_t k, std::mt19937* random,
          Tensor<std::uint8_t, 2>* elements, Tensor<std::uint8_t, 2>* codes) {
  elements->resize(rows, k);
  codes->resize(rows, k / 32);
  for (std::int64_t i = 0; i < elements->size(); ++i) {
    elements->data()[i] = static_cast<std::uint8_t>((*random)() & 0xF7);
  }
  for (std::int64_t i = 0; i < codes->size(); ++i) {
    codes->data()[i] = static_cast<std::uint8_t>(112 + (*random)() % 8);
  }
}

// M = 64, N = K = 4096: under 3 seconds on 2 cores, and within twice the operands as doubles.
TEST(ExactLinearSpeed, MeetsItsBudget) {
  constexpr std::int64_t kM = 64, kN = 4096, kK = 4096;
  std::mt19937 random(1);
  Tensor<std::uint8_t, 2> x, x_codes, w, w_codes;
  Fill(kM, kK, &random, &x, &x_codes);
  Fill(kN, kK, &random, &w, &w_codes);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<Tensor<float, 2>> out = ExactLinear<float>(
      MxMatrix{ElementFormat::kE4m3Fn, x, x_codes}, MxMatrix{ElementFormat::kE4m3Fn, w, w_codes});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_TRUE(out.ok());
  rusage usage;
  ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
  const double peak = static_cast<double>(usage.ru_maxrss) * 1024;
  std::cout << seconds.count() << " s, peak " << peak / 1e6 << " MB\n";
  EXPECT_LT(peak, 2.0 * 8 * (kM + kN) * kK);
  EXPECT_LT(seconds.count(), 3.0);
}

}  // namespace
}  // namespace lanewise::reference
