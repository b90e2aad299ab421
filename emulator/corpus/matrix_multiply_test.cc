// Products whose sums are exact in any order, so that only layouts and formats are at stake; the
// arithmetic itself is reference/matrix_core's and tested there.

#include <cmath>
#include <cstdint>
#include <vector>

#include "emulator/corpus/kernel_test.h"
#include "emulator/corpus/matrix_multiply_o0.h"
#include "emulator/corpus/matrix_multiply_o1.h"
#include "emulator/corpus/matrix_multiply_o2.h"
#include "emulator/corpus/matrix_multiply_o3.h"
#include "formats/formats.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

class MatrixMultiplyTest : public KernelTest {
 protected:
  // Whole numbers from -8 to 8, exact in every format here.
  std::vector<int> Small(size_t count) {
    std::uniform_int_distribution<int> draw(-8, 8);
    std::vector<int> values(count);
    for (int& value : values) value = draw(random_);
    return values;
  }

  static void ExpectProduct(const std::vector<int>& a, const std::vector<int>& b, size_t size,
                            size_t k, const std::vector<float>& c) {
    for (size_t i = 0; i < size; ++i) {
      for (size_t j = 0; j < size; ++j) {
        int sum = 0;
        for (size_t kk = 0; kk < k; ++kk) sum += a[i * k + kk] * b[j * k + kk];
        ASSERT_EQ(c[i * size + j], static_cast<float>(sum)) << "row " << i << " column " << j;
      }
    }
  }
};

TEST_P(MatrixMultiplyTest, Fp8ThroughLds) {
  constexpr size_t kK = 96;
  const std::vector<int> a = Small(16 * kK);
  const std::vector<int> b = Small(16 * kK);
  const auto encode = [&](const std::vector<int>& values) {
    std::vector<uint8_t> bytes;
    for (const int value : values) {
      const auto number = static_cast<float>(value);
      bytes.push_back(IsGfx950() ? E4m3Fn::FromFloat(number).bits()
                                 : E4m3Fnuz::FromFloat(number).bits());
    }
    return bytes;
  };
  const Buffer a_in = In(encode(a), "a");
  const Buffer b_in = In(encode(b), "b");
  const Buffer c = Out<float>(256, "c");
  Run("MultiplyFp8", {{1}, {64}}, a_in, b_in, c, static_cast<uint32_t>(kK));
  ExpectProduct(a, b, 16, kK, Read<float>(c));
}

TEST_P(MatrixMultiplyTest, Bf16) {
  constexpr size_t kK = 48;
  const std::vector<int> a = Small(32 * kK);
  const std::vector<int> b = Small(32 * kK);
  const auto encode = [](const std::vector<int>& values) {
    std::vector<uint16_t> halves;
    for (const int value : values)
      halves.push_back(Bf16::FromFloat(static_cast<float>(value)).bits());
    return halves;
  };
  const Buffer a_in = In(encode(a), "a");
  const Buffer b_in = In(encode(b), "b");
  const Buffer c = Out<float>(1024, "c");
  Run("MultiplyBf16", {{1}, {64}}, a_in, b_in, c, static_cast<uint32_t>(kK));
  ExpectProduct(a, b, 32, kK, Read<float>(c));
}

TEST_P(MatrixMultiplyTest, ScaledFp8TimesFp4) {
  if (!IsGfx950()) return;  // gfx942 has no such instruction
  std::vector<uint8_t> a(16 * 128), b(16 * 64), a_codes(64), b_codes(64);
  for (uint8_t& value : a) value = E4m3Fn::FromFloat(static_cast<float>(random_() % 17) - 8).bits();
  for (uint8_t& value : b) value = static_cast<uint8_t>(random_());
  for (uint8_t& code : a_codes) code = static_cast<uint8_t>(125 + random_() % 5);
  for (uint8_t& code : b_codes) code = static_cast<uint8_t>(126 + random_() % 3);
  const Buffer a_in = In(a, "a"), b_in = In(b, "b");
  const Buffer a_scales = In(a_codes, "a_codes"), b_scales = In(b_codes, "b_codes");
  const Buffer c = Out<float>(256, "c");
  Run("MultiplyScaled", {{1}, {64}}, a_in, b_in, a_scales, b_scales, c);
  const auto results = Read<float>(c);
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 16; ++j) {
      double sum = 0;
      for (size_t k = 0; k < 128; ++k) {
        const uint8_t pair = b[64 * j + k / 2];
        const float left = E4m3Fn::FromBits(a[128 * i + k]).ToFloat();
        const float right = (k % 2 == 0 ? LowNibble(pair) : HighNibble(pair)).ToFloat();
        const int exponent = a_codes[4 * i + k / 32] + b_codes[4 * j + k / 32] - 254;
        sum += std::ldexp(double{left} * double{right}, exponent);
      }
      ASSERT_EQ(results[16 * i + j], static_cast<float>(sum)) << "row " << i << " column " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, MatrixMultiplyTest,
                         testing::Combine(testing::Values("gfx942", "gfx950"),
                                          testing::ValuesIn(Levels(MatrixMultiplyO0CodeObjects,
                                                                   MatrixMultiplyO1CodeObjects,
                                                                   MatrixMultiplyO2CodeObjects,
                                                                   MatrixMultiplyO3CodeObjects))),
                         KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
