// Results must be those of C++ on the host, bit for bit: all of these operations are exact or
// correctly rounded on both.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "emulator/corpus/arithmetic_o0.h"
#include "emulator/corpus/arithmetic_o1.h"
#include "emulator/corpus/arithmetic_o2.h"
#include "emulator/corpus/arithmetic_o3.h"
#include "emulator/corpus/kernel_test.h"
#include "formats/formats.h"
#include "gtest/gtest.h"

namespace lanewise::hip {
namespace {

constexpr size_t kItems = 64;

class ArithmeticTest : public KernelTest {
 protected:
  uint64_t Bits64() { return static_cast<uint64_t>(random_()) << 32 | random_(); }

  // Floats of all signs and moderate magnitudes, a few whole numbers and zeros among them.
  template <typename T>
  std::vector<T> Numbers() {
    std::vector<T> values(kItems);
    for (size_t i = 0; i < kItems; ++i) {
      const T mantissa = static_cast<T>(static_cast<double>(Bits64()) / 9.3e18 - 1.0);
      values[i] = std::ldexp(mantissa, static_cast<int>(random_() % 24) - 10);
      if (i % 9 == 0) values[i] = static_cast<T>(static_cast<int>(random_() % 41) - 20);
    }
    values[7] = 0;
    values[8] = static_cast<T>(-0.0);
    return values;
  }

  template <typename T>
  static void ExpectSame(const std::vector<T>& results, const std::vector<T>& expected,
                         size_t per_item) {
    ASSERT_EQ(results.size(), expected.size());
    for (size_t i = 0; i < results.size(); ++i) {
      if (std::isnan(results[i]) && std::isnan(expected[i])) continue;
      ASSERT_EQ(std::memcmp(&results[i], &expected[i], sizeof(T)), 0)
          << "item " << i / per_item << " result " << i % per_item << ": " << results[i]
          << ", expected " << expected[i];
    }
  }
};

TEST_P(ArithmeticTest, Integers64) {
  std::vector<int64_t> a(kItems), b(kItems), expected;
  for (size_t i = 0; i < kItems; ++i) {
    a[i] = static_cast<int64_t>(Bits64()) >> (random_() % 60);
    b[i] = static_cast<int64_t>(Bits64()) >> (random_() % 63);
    if (b[i] == 0 || b[i] == -1) b[i] = 3;
    const auto ux = static_cast<uint64_t>(a[i]);
    const auto uy = static_cast<uint64_t>(b[i]);
    const uint64_t shift = uy & 63;
    for (const uint64_t value :
         {ux + uy, ux - uy, ux * uy, static_cast<uint64_t>(a[i] / b[i]),
          static_cast<uint64_t>(a[i] % b[i]), ux / uy, ux << shift,
          static_cast<uint64_t>(a[i] >> shift), ux >> shift,
          uint64_t{a[i] < b[i]} + 2 * uint64_t{ux < uy} + 4 * uint64_t{ux == uy},
          (ux & uy) ^ (ux | ~uy),
          static_cast<uint64_t>(std::popcount(ux) + 100 * std::countl_zero(ux | 1) +
                                10000 * std::countr_zero(uy | uint64_t{1} << 63))}) {
      expected.push_back(static_cast<int64_t>(value));
    }
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), out = Out<int64_t>(12 * kItems);
  Run("Integers64", {{1}, {kItems}}, a_in, b_in, out);
  const auto results = Read<int64_t>(out);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i], expected[i]) << a[i / 12] << ", " << b[i / 12] << ": result " << i % 12;
  }
}

uint32_t Reversed(uint32_t value) {
  uint32_t result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= ((value >> bit) & 1) << (31 - bit);
  return result;
}

TEST_P(ArithmeticTest, Integers32) {
  std::vector<int> a(kItems), b(kItems), expected;
  for (size_t i = 0; i < kItems; ++i) {
    a[i] = static_cast<int>(random_()) >> (random_() % 28);
    b[i] = static_cast<int>(random_()) >> (random_() % 32);
    const int x = a[i];
    const int y = b[i];
    const auto ux = static_cast<uint32_t>(x);
    const auto uy = static_cast<uint32_t>(y);
    const uint64_t wide = uint64_t{ux} * uy;
    for (const uint32_t value :
         {ux * uy, static_cast<uint32_t>(wide >> 32), static_cast<uint32_t>((int64_t{x} * y) >> 32),
          static_cast<uint32_t>(y == 0 || y == -1 ? 7 : x / y), uy == 0 ? 7 : ux % uy,
          Reversed(ux) ^ static_cast<uint32_t>(std::popcount(uy)), std::rotl(ux, y & 31),
          static_cast<uint32_t>(std::min(x, y)), std::max(ux, uy),
          static_cast<uint32_t>(static_cast<int8_t>(x) * static_cast<int8_t>(y) +
                                static_cast<int16_t>(x >> 8)),
          (ux & 0xff) + ((uy >> 8) & 0xff) * 3 + ((ux >> 16) & 0xff) * 5 + (uy >> 24),
          static_cast<uint32_t>(std::countl_zero(ux | 1) * 100 +
                                std::countr_zero(uy | 0x80000000u) + (x >> 31))}) {
      expected.push_back(static_cast<int>(value));
    }
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), out = Out<int>(12 * kItems);
  Run("Integers32", {{1}, {kItems}}, a_in, b_in, out);
  const auto results = Read<int>(out);
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i], expected[i]) << a[i / 12] << ", " << b[i / 12] << ": result " << i % 12;
  }
}

TEST_P(ArithmeticTest, Floats) {
  auto a = Numbers<float>();
  auto b = Numbers<float>();
  const auto c = Numbers<float>();
  a[20] = std::numeric_limits<float>::quiet_NaN();
  b[21] = std::numeric_limits<float>::infinity();
  std::vector<float> expected;
  for (size_t i = 0; i < kItems; ++i) {
    const float x = a[i], y = b[i], z = c[i];
    const bool finite = std::isfinite(x) && std::isfinite(y);
    float middle = std::fmax(std::fmin(x, y), std::fmin(std::fmax(x, y), z));
    if (std::isnan(x)) middle = std::fmin(y, z);  // with a NaN the smaller of the others
    const float pieces[] = {x + y,
                            x * y - z,
                            std::fma(x, y, z),
                            x / y,
                            std::sqrt(std::fabs(x)),
                            std::floor(x) + std::ceil(y) + std::trunc(z) + std::nearbyint(x),
                            std::fmin(x, y) - std::fmax(y, z),
                            finite ? static_cast<float>(static_cast<int>(x)) +
                                         static_cast<float>(static_cast<uint32_t>(std::fabs(y)))
                                   : 0,
                            std::copysign(x, y) * -std::fabs(z),
                            x < y ? (x <= z ? 1.0f : 2.0f) : (y != z ? 3.0f : 4.0f),
                            std::ldexp(x, static_cast<int>(i % 40) - 20),
                            middle,
                            std::isnan(x)   ? -1.0f
                            : std::isinf(y) ? -2.0f
                                            : 0.0f,
                            finite ? static_cast<float>(static_cast<int64_t>(x * 1000000.0f)) : 0};
    expected.insert(expected.end(), std::begin(pieces), std::end(pieces));
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), c_in = In(c, "c");
  const Buffer out = Out<float>(14 * kItems);
  Run("Floats", {{1}, {kItems}}, a_in, b_in, c_in, out);
  auto results = Read<float>(out);
  // Conversions of what no integer holds are the compiler's business.
  for (const size_t item : {size_t{20}, size_t{21}}) {
    for (const size_t result : {size_t{7}, size_t{13}}) {
      results[14 * item + result] = expected[14 * item + result];
    }
  }
  ExpectSame(results, expected, 14);
}

TEST_P(ArithmeticTest, Doubles) {
  const auto a = Numbers<double>();
  const auto b = Numbers<double>();
  std::vector<double> expected;
  for (size_t i = 0; i < kItems; ++i) {
    const double x = a[i], y = b[i];
    const double pieces[] = {
        x + y,
        x * y,
        x / y,
        std::fma(x, y, -x),
        std::sqrt(std::fabs(x)),
        std::floor(x) + std::trunc(y),
        static_cast<double>(static_cast<int>(x)) + static_cast<double>(static_cast<float>(y)),
        x < y ? std::fmin(x, y) : std::fmax(x, y)};
    expected.insert(expected.end(), std::begin(pieces), std::end(pieces));
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), out = Out<double>(8 * kItems);
  Run("Doubles", {{1}, {kItems}}, a_in, b_in, out);
  ExpectSame(Read<double>(out), expected, 8);
}

TEST_P(ArithmeticTest, PackedFloats) {
  std::vector<float> a = Numbers<float>(), b = Numbers<float>();
  const auto a2 = Numbers<float>(), b2 = Numbers<float>();
  a.insert(a.end(), a2.begin(), a2.end());
  b.insert(b.end(), b2.begin(), b2.end());
  std::vector<float> expected;
  for (size_t i = 0; i < kItems; ++i) {
    const float x[] = {a[2 * i], a[2 * i + 1]};
    const float y[] = {b[2 * i], b[2 * i + 1]};
    for (int j = 0; j < 2; ++j) expected.push_back(x[j] + y[j]);
    for (int j = 0; j < 2; ++j) expected.push_back(x[j] * y[1 - j]);
    for (int j = 0; j < 2; ++j) expected.push_back(std::fma(x[j], y[j], -x[j]));
    for (int j = 0; j < 2; ++j) expected.push_back(x[j] * 3.0f + y[0]);
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), out = Out<float>(8 * kItems);
  Run("PackedFloats", {{1}, {kItems}}, a_in, b_in, out);
  ExpectSame(Read<float>(out), expected, 8);
}

// Halves through float and double: a product of halves is exact in float, a sum in double.
TEST_P(ArithmeticTest, Halves) {
  const auto half = [](double value) { return static_cast<_Float16>(value); };
  std::vector<uint16_t> a(2 * kItems), b(2 * kItems), c(2 * kItems);
  const auto fill = [&](std::vector<uint16_t>& values) {
    for (uint16_t& value : values) {
      const double number = (static_cast<double>(random_()) / 2147483648.0 - 1.0) * 100.0;
      value = std::bit_cast<uint16_t>(half(number));
    }
  };
  fill(a);
  fill(b);
  fill(c);
  std::vector<float> expected, results;
  for (size_t i = 0; i < kItems; ++i) {
    double x[2], y[2], z[2];
    for (size_t j = 0; j < 2; ++j) {
      x[j] = static_cast<double>(std::bit_cast<_Float16>(a[2 * i + j]));
      y[j] = static_cast<double>(std::bit_cast<_Float16>(b[2 * i + j]));
      z[j] = static_cast<double>(std::bit_cast<_Float16>(c[2 * i + j]));
    }
    const auto push = [&](double value) { expected.push_back(static_cast<float>(half(value))); };
    for (int j = 0; j < 2; ++j) push(x[j] + y[j]);
    for (int j = 0; j < 2; ++j) push(x[j] * y[j]);
    for (int j = 0; j < 2; ++j) push(x[j] * y[j] + z[j]);
    for (int j = 0; j < 2; ++j) push(std::fmax(x[j], -y[j]));
    push(x[1] * 0.5);
    push(x[0] - z[1]);
    push(x[0] < y[0] ? x[1] : y[1]);
    push(static_cast<int16_t>(x[0]));
  }
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), c_in = In(c, "c");
  const Buffer out = Out<uint16_t>(12 * kItems);
  Run("Halves", {{1}, {kItems}}, a_in, b_in, c_in, out);
  for (const uint16_t bits : Read<uint16_t>(out)) {
    results.push_back(static_cast<float>(std::bit_cast<_Float16>(bits)));
  }
  ExpectSame(results, expected, 12);
}

TEST_P(ArithmeticTest, Bf16s) {
  std::vector<uint16_t> a(kItems);
  for (uint16_t& value : a)
    value = Bf16::FromFloat(static_cast<float>(random_()) / 1e9f - 2).bits();
  const auto b = Numbers<float>();
  const Buffer a_in = In(a, "a"), b_in = In(b, "b"), out = Out<uint16_t>(2 * kItems);
  Run("Bf16s", {{1}, {kItems}}, a_in, b_in, out);
  const auto results = Read<uint16_t>(out);
  for (size_t i = 0; i < kItems; ++i) {
    ASSERT_EQ(results[2 * i], Bf16::FromFloat(Bf16::FromBits(a[i]).ToFloat() + b[i]).bits()) << i;
    ASSERT_EQ(results[2 * i + 1], Bf16::FromFloat(b[i]).bits()) << i;
  }
}

TEST_P(ArithmeticTest, Fp8s) {
  std::vector<float> values(4 * kItems);
  for (float& value : values) {
    value = std::ldexp(static_cast<float>(random_()) / 4294967296.0f - 0.5f,
                       static_cast<int>(random_() % 20) - 11);
  }
  const Buffer in = In(values), packed = Out<uint8_t>(4 * kItems, "packed");
  const Buffer back = Out<float>(8 * kItems, "back");
  Run("Fp8s", {{1}, {kItems}}, in, packed, back);
  const auto bytes = Read<uint8_t>(packed);
  const auto floats = Read<float>(back);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t expected =
        IsGfx950() ? E4m3Fn::FromFloat(values[i]).bits() : E4m3Fnuz::FromFloat(values[i]).bits();
    const float decoded =
        IsGfx950() ? E4m3Fn::FromBits(expected).ToFloat() : E4m3Fnuz::FromBits(expected).ToFloat();
    ASSERT_EQ(bytes[i], expected) << values[i];
    ASSERT_EQ(floats[8 * (i / 4) + i % 4], decoded) << values[i];
    ASSERT_EQ(floats[8 * (i / 4) + 4 + i % 4], decoded) << values[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Corpus, ArithmeticTest,
    testing::Combine(testing::Values("gfx942", "gfx950"),
                     testing::ValuesIn(Levels(ArithmeticO0CodeObjects, ArithmeticO1CodeObjects,
                                              ArithmeticO2CodeObjects, ArithmeticO3CodeObjects))),
    KernelTest::Name);

}  // namespace
}  // namespace lanewise::hip
