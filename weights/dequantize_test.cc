#include "weights/dequantize.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "weights/each_instruction_set.h"

namespace lanewise {
namespace {

// A format by its definition: sign, exponent and fraction bits, and what its last codes are.
struct Definition {
  const char* name;
  ElementFormat element;
  int bits, fraction, bias;
  enum { kNone, kOneNan, kInfinityAndNans, kFnuz } specials;
};
constexpr Definition kFormats[] = {
    {"e4m3fn", ElementFormat::kE4m3Fn, 8, 3, 7, Definition::kOneNan},
    {"e4m3fnuz", ElementFormat::kE4m3Fnuz, 8, 3, 8, Definition::kFnuz},
    {"e5m2", ElementFormat::kE5m2, 8, 2, 15, Definition::kInfinityAndNans},
    {"e5m2fnuz", ElementFormat::kE5m2Fnuz, 8, 2, 16, Definition::kFnuz},
    {"e2m1", ElementFormat::kE2m1, 4, 1, 1, Definition::kNone},
};

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double ValueOf(const Definition& format, int bits) {
  const int sign_bit = 1 << (format.bits - 1);
  const int magnitude = bits & (sign_bit - 1);
  if (format.specials == Definition::kFnuz && bits == sign_bit) return kNan;
  if (format.specials == Definition::kOneNan && magnitude == sign_bit - 1) return kNan;
  const int exponent = magnitude >> format.fraction;
  const int fraction = magnitude & ((1 << format.fraction) - 1);
  const double sign = (bits & sign_bit) != 0 ? -1 : 1;
  if (format.specials == Definition::kInfinityAndNans && exponent == 31) {
    return fraction == 0 ? sign * HUGE_VAL : kNan;
  }
  const int hidden = exponent > 0 ? 1 << format.fraction : 0;
  return sign *
         std::ldexp(hidden + fraction, std::max(exponent, 1) - format.bias - format.fraction);
}

// The bits of `value` (exact) rounded to a type of 8 exponent bits and `fraction` fraction bits.
std::uint32_t Rounded(double value, int fraction) {
  const std::uint32_t infinity = std::uint32_t{0xFF} << fraction;
  if (std::isnan(value)) return infinity | 1u << (fraction - 1);
  const std::uint32_t sign = std::signbit(value) ? std::uint32_t{1} << (8 + fraction) : 0;
  value = std::fabs(value);
  if (value == 0) return sign;
  if (std::isinf(value)) return sign | infinity;
  int exponent = std::max(std::ilogb(value), -126);
  double steps = std::nearbyint(std::ldexp(value, fraction - exponent));  // ties to even
  if (steps == std::ldexp(1, fraction + 1)) {
    steps /= 2;
    ++exponent;
  }
  if (exponent > 127) return sign | infinity;
  const auto digits = static_cast<std::uint32_t>(steps);
  const std::uint32_t hidden = std::uint32_t{1} << fraction;
  if (digits < hidden) return sign | digits;  // subnormal
  return sign | static_cast<std::uint32_t>(exponent + 127) << fraction | (digits - hidden);
}

std::uint32_t Expected(const Definition& format, int bits, int code, FloatType to) {
  const double scale = code == 255 ? kNan : std::ldexp(1.0, code - 127);
  return Rounded(ValueOf(format, bits) * scale, to == FloatType::kF32 ? 23 : 7);
}

std::uint32_t BitsAt(const std::vector<std::uint8_t>& values, std::int64_t i, FloatType to) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, values.data() + i * FloatBytes(to), static_cast<std::size_t>(FloatBytes(to)));
  return bits;
}

// The elements' bits, packed.
std::vector<std::uint8_t> Packed(const Definition& format, const std::vector<int>& elements) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (format.bits == 8) {
      bytes.push_back(static_cast<std::uint8_t>(elements[i]));
    } else if (i % 2 == 0) {
      bytes.push_back(static_cast<std::uint8_t>(elements[i]));
    } else {
      bytes.back() |= static_cast<std::uint8_t>(elements[i] << 4);
    }
  }
  return bytes;
}

// A row for each code: every element with every code, in every instruction set.
TEST(DequantizeRowsTest, EveryElementWithEveryCode) {
  for (const Definition& format : kFormats) {
    for (const FloatType to : {FloatType::kF32, FloatType::kBf16}) {
      const std::int64_t k = std::max(32, 1 << format.bits);
      std::vector<int> elements;
      std::vector<std::uint8_t> codes;
      for (int code = 0; code < 256; ++code) {
        for (std::int64_t i = 0; i < k; ++i) {
          elements.push_back(static_cast<int>(i) & ((1 << format.bits) - 1));
        }
        codes.insert(codes.end(), static_cast<std::size_t>(k / 32),
                     static_cast<std::uint8_t>(code));
      }
      const std::vector<std::uint8_t> bytes = Packed(format, elements);
      ForEachInstructionSet([&] {
        std::vector<std::uint8_t> values(static_cast<std::size_t>(256 * k * FloatBytes(to)), 0xA5);
        const absl::Status status =
            DequantizeRows(bytes, format.element, 256, k, {1, 32}, codes, to, values);
        ASSERT_TRUE(status.ok()) << status;
        for (std::int64_t i = 0; i < 256 * k; ++i) {
          const int code = static_cast<int>(i / k), bits = elements[static_cast<std::size_t>(i)];
          ASSERT_EQ(BitsAt(values, i, to), Expected(format, bits, code, to))
              << format.name << " " << bits << " with code " << code;
        }
      });
    }
  }
}

// Blocks of several shapes, cut off at the ends, unaligned, between guards.
TEST(DequantizeRowsTest, BlocksOfAnyShape) {
  constexpr unsigned kSeed = 11;
  SCOPED_TRACE(absl::StrCat("seed ", kSeed));
  std::mt19937 random(kSeed);
  struct Case {
    std::int64_t rows, k;
    MxCodeBlock block;
  };
  for (const Case& c : {Case{3, 96, {1, 32}}, Case{64, 64, {32, 32}}, Case{40, 70, {32, 32}},
                        Case{128, 128, {128, 128}}, Case{130, 300, {128, 128}}, Case{1, 2, {1, 32}},
                        Case{5, 64, {1, 128}}, Case{0, 64, {1, 32}}, Case{4, 0, {1, 32}}}) {
    for (const Definition& format : kFormats) {
      for (const FloatType to : {FloatType::kF32, FloatType::kBf16}) {
        std::vector<int> elements(static_cast<std::size_t>(c.rows * c.k));
        for (int& element : elements) element = static_cast<int>(random() % (1u << format.bits));
        std::vector<std::uint8_t> codes(
            static_cast<std::size_t>(c.block.Rows(c.rows) * c.block.Columns(c.k)));
        for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random());
        const std::vector<std::uint8_t> bytes = Packed(format, elements);
        ForEachInstructionSet([&] {
          constexpr std::int64_t kGuard = 65;
          const std::int64_t size = c.rows * c.k * FloatBytes(to);
          std::vector<std::uint8_t> memory(static_cast<std::size_t>(size + 2 * kGuard), 0xA5);
          const absl::Status status =
              DequantizeRows(bytes, format.element, c.rows, c.k, c.block, codes, to,
                             std::span(memory).subspan(kGuard, static_cast<std::size_t>(size)));
          ASSERT_TRUE(status.ok()) << status;
          const std::vector<std::uint8_t> values(memory.begin() + kGuard, memory.end() - kGuard);
          for (std::int64_t row = 0; row < c.rows; ++row) {
            for (std::int64_t column = 0; column < c.k; ++column) {
              const int code = codes[static_cast<std::size_t>(
                  row / c.block.rows * c.block.Columns(c.k) + column / c.block.columns)];
              const std::int64_t i = row * c.k + column;
              ASSERT_EQ(BitsAt(values, i, to),
                        Expected(format, elements[static_cast<std::size_t>(i)], code, to))
                  << format.name << " " << c.rows << " x " << c.k << " row " << row << " column "
                  << column;
            }
          }
          for (std::int64_t i = 0; i < kGuard; ++i) {
            ASSERT_EQ(memory[static_cast<std::size_t>(i)], 0xA5);
            ASSERT_EQ(memory[memory.size() - 1 - static_cast<std::size_t>(i)], 0xA5);
          }
        });
      }
    }
  }
}

TEST(DequantizeRowsTest, RefusesWhatDoesNotFit) {
  std::vector<std::uint8_t> elements(64), codes(2), values(128);
  const auto status = [&](ElementFormat element, std::int64_t rows, std::int64_t k,
                          MxCodeBlock block, FloatType to = FloatType::kBf16) {
    return DequantizeRows(elements, element, rows, k, block, codes, to, values);
  };
  EXPECT_TRUE(status(ElementFormat::kE4m3Fn, 2, 32, {1, 32}).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, 2, 32, {2, 32})));
  EXPECT_TRUE(absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, 2, 31, {1, 32})));
  EXPECT_TRUE(absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, -2, -32, {1, 32})));
  EXPECT_TRUE(absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, 2, 32, {1, 0})));
  EXPECT_TRUE(
      absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, 2, 32, {1, 32}, FloatType::kF32)));
  EXPECT_TRUE(
      absl::IsInvalidArgument(status(ElementFormat::kE4m3Fn, 2, 32, {1, 32}, FloatType::kF16)));
  EXPECT_TRUE(absl::IsInvalidArgument(status(ElementFormat::kE2m1, 2, 33, {1, 32})));
}

}  // namespace
}  // namespace lanewise
