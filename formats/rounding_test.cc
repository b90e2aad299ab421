// Encoding rounds to nearest, ties to even, once: at every point where the answer changes, on a
// sample of all floats (on all of them with LANEWISE_NIGHTLY), and on random doubles.

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "formats/every_format.h"
#include "formats/registry.h"
#include "gtest/gtest.h"

namespace lanewise {
namespace {

class RoundingTest : public EveryFormat {
 protected:
  // Encodes a double, and the float where it is one, either sign, saturating and not.
  void Check(double magnitude) const {
    for (const double value : {magnitude, -magnitude}) {
      for (const Overflow overflow : kOverflows) {
        const int expected = line_.Encode(value, overflow);
        const int got = format_.encode_double(value, overflow);
        ASSERT_EQ(got, expected) << Text("double %a, %s: got %#x, expected %#x", value,
                                         OverflowText(overflow), got, expected);
        const auto as_float = static_cast<float>(value);
        if (as_float != value) continue;
        const int from_float = format_.encode(as_float, overflow);
        ASSERT_EQ(from_float, expected) << Text("float %a, %s: got %#x, expected %#x", value,
                                                OverflowText(overflow), from_float, expected);
      }
    }
  }
};

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The answers are spelled out here, not taken from NumberLine::Encode.
TEST_P(RoundingTest, MidpointsGoToEvenAndTheirNeighboursToTheNearest) {
  for (int code = 0; code < line_.size(); ++code) {
    const double limit = line_.limit(code);
    const bool last = code == line_.size() - 1;
    const int below = code;
    const int above =
        last ? line_.EncodeIndex(false, line_.size(), false, Overflow::kNonFinite) : code + 1;
    const int at = line_.facts().mantissa_bits > 0 && code % 2 == 0 ? below : above;
    const auto encode = [this](double value) {
      return static_cast<int>(format_.encode_double(value, Overflow::kNonFinite));
    };
    ASSERT_EQ(encode(limit), at) << Text("tie %a", limit);
    ASSERT_EQ(encode(std::nextafter(limit, 0)), below) << Text("just below %a", limit);
    ASSERT_EQ(encode(std::nextafter(limit, kInfinity)), above) << Text("just above %a", limit);

    const auto as_float = static_cast<float>(limit);
    if (as_float != limit) {
      // Only bf16's and e8m0's last limits are beyond the floats.
      ASSERT_TRUE(last) << Text("tie %a is no float", limit);
      continue;
    }
    const auto encode_float = [this](float value) {
      return static_cast<int>(format_.encode(value, Overflow::kNonFinite));
    };
    ASSERT_EQ(encode_float(as_float), at) << Text("tie %a", limit);
    ASSERT_EQ(encode_float(std::nextafter(as_float, 0.0f)), below) << Text("below %a", limit);
    ASSERT_EQ(encode_float(std::nextafter(as_float, kFloatInfinity)), above)
        << Text("above %a", limit);
  }
}

TEST_P(RoundingTest, BothSignsAndOverflowsAroundEveryNumberAndMidpoint) {
  for (int code = 0; code < line_.size(); ++code) {
    for (const double point : {line_.value(code), line_.limit(code)}) {
      const auto as_float = static_cast<float>(point);
      for (const double near : {point, std::nextafter(point, 0), std::nextafter(point, kInfinity),
                                static_cast<double>(std::nextafter(as_float, 0.0f)),
                                static_cast<double>(std::nextafter(as_float, kFloatInfinity))}) {
        ASSERT_NO_FATAL_FAILURE(Check(near));
      }
    }
  }
}

TEST_P(RoundingTest, ExtremesOfFloatAndDouble) {
  for (const double value :
       {0.0, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::min(),
        std::numeric_limits<double>::max(), kInfinity, 0x1p-149, 0x1p-150, 0x1p-126,
        static_cast<double>(std::numeric_limits<float>::max()), 0x1.FFFFFFp127, 0x1p128}) {
    ASSERT_NO_FATAL_FAILURE(Check(value));
  }
}

// Few bits make ties and near ties, many make sticky bits far down.
TEST_P(RoundingTest, RandomDoubles) {
  constexpr std::uint64_t kSeed = 20240917;
  SCOPED_TRACE(Text("seed %d", static_cast<int>(kSeed)));
  std::mt19937_64 random(kSeed);
  for (int draw = 0; draw < 200'000; ++draw) {
    const std::uint64_t bits = random();
    const int dropped = static_cast<int>(random() % 53);
    const std::uint64_t significand = (bits >> 12 >> dropped << dropped) | std::uint64_t{1} << 52;
    const int lowest = -line_.facts().bias - line_.facts().mantissa_bits - 3;
    const int highest = (1 << line_.facts().exponent_bits) - line_.facts().bias + 2;
    const int exponent =
        lowest + static_cast<int>(random() % static_cast<unsigned>(highest - lowest + 1));
    ASSERT_NO_FATAL_FAILURE(Check(std::ldexp(static_cast<double>(significand), exponent - 52)));
  }
}

// Encodes every `step`th float of magnitude bits [begin, end), either sign, saturating and not. The
// expected code needs no search, as it only ascends. Returns the first difference, or "".
std::string FirstDifference(const FormatView& format, const NumberLine& line, std::uint32_t begin,
                            std::uint32_t end, std::uint32_t step) {
  constexpr std::uint32_t kFloatInf = 0x7F80'0000;
  int index = 0;
  for (std::uint64_t at = begin; at < end; at += step) {
    const auto magnitude = static_cast<std::uint32_t>(at);
    const double value = std::bit_cast<float>(magnitude);
    if (magnitude <= kFloatInf) {
      while (index < line.size() && line.Exceeds(value, index)) ++index;
    }
    for (const bool negative : {false, true}) {
      const std::uint32_t bits = magnitude | (negative ? 0x8000'0000u : 0u);
      for (const Overflow overflow : kOverflows) {
        const int expected = magnitude > kFloatInf
                                 ? line.EncodeNan(negative)
                                 : line.EncodeIndex(negative, index, magnitude == 0, overflow);
        const int got = format.encode(std::bit_cast<float>(bits), overflow);
        if (got != expected) {
          return Text("float %#010x = %a, %s: got %#x, expected %#x", bits,
                      std::bit_cast<float>(bits), OverflowText(overflow), got, expected);
        }
      }
    }
  }
  return "";
}

// All 2^32 floats with LANEWISE_NIGHTLY set, by all threads; else every 2039th, a prime.
TEST_P(RoundingTest, Floats) {
  const std::uint32_t step = std::getenv("LANEWISE_NIGHTLY") != nullptr ? 1 : 2039;
  constexpr std::uint32_t kEnd = 0x8000'0000;
  constexpr std::uint32_t kParts = 64;
  std::vector<std::string> differences(kParts);
  std::atomic<std::uint32_t> next_part = 0;
  const auto work = [&] {
    for (std::uint32_t part = next_part++; part < kParts; part = next_part++) {
      const std::uint32_t begin = part * (kEnd / kParts);
      differences[part] = FirstDifference(format_, line_, begin, begin + kEnd / kParts, step);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const std::string& difference : differences) ASSERT_EQ(difference, "");
}

INSTANTIATE_TEST_SUITE_P(, RoundingTest, testing::ValuesIn(kFormats), FormatName);

}  // namespace
}  // namespace lanewise
