#include "weights/bf16_rows.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/formats.h"
#include "gtest/gtest.h"
#include "weights/bf16_kernels.h"
#include "weights/each_instruction_set.h"

namespace lanewise {
namespace {

float ValueOf(std::uint8_t byte) { return E4m3Fn::FromBits(byte).ToFloat(); }

// m of seed 000: 2^(127 - code) as binary32 has it, but 2^-128 for code 255.
float Multiplier(int code) { return std::ldexp(1.0f, 127 - code); }

std::uint16_t Half(const std::vector<std::uint8_t>& bytes, std::int64_t i) {
  return static_cast<std::uint16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8);
}

void SetHalf(std::uint16_t half, std::int64_t i, std::vector<std::uint8_t>* bytes) {
  (*bytes)[2 * i] = static_cast<std::uint8_t>(half);
  (*bytes)[2 * i + 1] = static_cast<std::uint8_t>(half >> 8);
}

bool IsNan(std::uint16_t half) { return (half & 0x7FFF) > 0x7F80; }

constexpr std::int64_t kHalves = 1 << 16;

// bf16 values in an order in which nearly every group of 64 is one kind: all exact, or not.
std::vector<std::uint8_t> EveryBf16() {
  std::vector<std::uint8_t> all(2 * kHalves);
  std::int64_t at = 0;
  for (int low = 0; low < 16; ++low) {
    for (int high = 0; high < 1 << 12; ++high) {
      SetHalf(static_cast<std::uint16_t>(high << 4 | low), at++, &all);
    }
  }
  return all;
}

TEST(Bf16Rows, TakeEveryBf16BackUnderEveryCode) {
  const std::vector<std::uint8_t> all = EveryBf16();
  std::vector<std::uint8_t> ocp(kHalves), undone(kHalves);
  for (int code = 0; code < 256; ++code) {
    // What the seeds' formulas say, once for all instruction sets.
    const float m = Multiplier(code);
    WrongValues wrong_ocp, wrong_undone;
    std::vector<std::uint8_t> expected_ocp(kHalves), expected_undone(kHalves);
    for (std::int64_t i = 0; i < kHalves; ++i) {
      const std::uint16_t half = Half(all, i);
      const float w = Bf16::FromBits(half).ToFloat();
      expected_ocp[i] = E4m3Fn::FromFloat(w * m).bits();
      if (!(Bf16::FromFloat(ValueOf(expected_ocp[i]) / m).ToFloat() == w)) {
        if (wrong_ocp.count++ == 0) wrong_ocp.first = i;
      }
      expected_undone[i] =
          code == 255 ? 0x7F : E4m3Fn::FromFloat(w * m, Overflow::kSaturate).bits();
      const float back =
          code == 255 ? NAN : ValueOf(expected_undone[i]) * std::ldexp(1.0f, code - 127);
      const std::uint16_t back_half = Bf16::FromFloat(back).bits();
      if (back_half != half && !(IsNan(back_half) && IsNan(half))) {
        if (wrong_undone.count++ == 0) wrong_undone.first = i;
      }
    }
    const std::vector<std::uint8_t> codes(kHalves / 32, static_cast<std::uint8_t>(code));
    ForEachInstructionSet([&] {
      std::fill(ocp.begin(), ocp.end(), 0xA5);
      std::fill(undone.begin(), undone.end(), 0xA5);
      const WrongValues a = OcpFromDequantRow(all.data(), codes.data(), 32, kHalves, ocp.data());
      const WrongValues b = UndoDequantizeRow(all.data(), codes.data(), 32, kHalves, undone.data());
      EXPECT_EQ(a.count, wrong_ocp.count) << "code " << code;
      EXPECT_EQ(a.first, wrong_ocp.first) << "code " << code;
      EXPECT_EQ(b.count, wrong_undone.count) << "code " << code;
      EXPECT_EQ(b.first, wrong_undone.first) << "code " << code;
      for (std::int64_t i = 0; i < kHalves; ++i) {
        ASSERT_EQ(ocp[i], expected_ocp[i]) << "bf16 " << Half(all, i) << " under code " << code;
        ASSERT_EQ(undone[i], expected_undone[i])
            << "bf16 " << Half(all, i) << " under code " << code;
      }
    });
    if (HasFatalFailure()) return;
  }
}

TEST(Bf16Rows, ConvertEveryByteUnderEveryCode) {
  // All 256 bytes, NaN apart from the rest so that its group alone is slow; twice, for both signs
  // of a group that has one.
  std::vector<std::uint8_t> bytes;
  for (int i = 0; i < 256; ++i) {
    if ((i & 0x7F) != 0x7F) bytes.push_back(static_cast<std::uint8_t>(i));
  }
  while (bytes.size() < 256) bytes.push_back(0x80);
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
  const std::int64_t count = std::ssize(bytes);
  for (int code = 0; code < 256; ++code) {
    const std::vector<std::uint8_t> codes(count / 32, static_cast<std::uint8_t>(code));
    ForEachInstructionSet([&] {
      std::vector<std::uint8_t> undone(2 * count, 0xA5), dequantized(2 * count, 0xA5);
      UndoOcpFromDequantRow(bytes.data(), codes.data(), 32, count, /*streaming=*/false,
                            undone.data());
      DequantizeRow(bytes.data(), codes.data(), 32, count, dequantized.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const float value = ValueOf(bytes[i]);
        const std::uint16_t ocp = Bf16::FromFloat(value / Multiplier(code)).bits();
        const float scaled = code == 255 ? NAN : value * std::ldexp(1.0f, code - 127);
        const std::uint16_t plain = Bf16::FromFloat(scaled).bits();
        if (!IsNan(ocp) || !IsNan(Half(undone, i))) {
          ASSERT_EQ(Half(undone, i), ocp) << "byte " << int{bytes[i]} << " under code " << code;
        }
        if (!IsNan(plain) || !IsNan(Half(dequantized, i))) {
          ASSERT_EQ(Half(dequantized, i), plain)
              << "byte " << int{bytes[i]} << " under code " << code;
        }
      }
    });
    if (HasFatalFailure()) return;
  }
}

// One value of every kind among ordinary ones, so that nothing but it decides its group.
TEST(Bf16Rows, JudgeEachValueAlone) {
  for (const int code : {10, 11, 127, 245, 246}) {
    const std::uint16_t one = Bf16::FromFloat(std::ldexp(1.0f, code - 127)).bits();
    std::vector<std::uint8_t> codes(kHalves / 16 * kBf16Group / 32,
                                    static_cast<std::uint8_t>(code));
    std::vector<std::uint8_t> bf16(2 * kHalves / 16 * kBf16Group);
    const std::int64_t count = std::ssize(bf16) / 2;
    for (std::int64_t i = 0; i < count; ++i) SetHalf(one, i, &bf16);
    const auto place = [](std::int64_t value) { return value * kBf16Group + value % kBf16Group; };
    for (std::int64_t value = 0; value < kHalves / 16; ++value) {
      SetHalf(static_cast<std::uint16_t>(value << 4), place(value), &bf16);
    }
    // Row by row, so that a value that is wrongly taken for exact shows although it rounds to the
    // right byte.
    ForEachInstructionSet([&] {
      for (std::int64_t value = 0; value < kHalves / 16; ++value) {
        const float w = Bf16::FromBits(static_cast<std::uint16_t>(value << 4)).ToFloat();
        const std::uint8_t byte = E4m3Fn::FromFloat(w * Multiplier(code)).bits();
        const bool exact = ValueOf(byte) / Multiplier(code) == w;
        std::array<std::uint8_t, kBf16Group> out;
        out.fill(0xA5);
        const WrongValues wrong = OcpFromDequantRow(bf16.data() + 2 * kBf16Group * value,
                                                    codes.data(), 32, kBf16Group, out.data());
        ASSERT_EQ(out[value % kBf16Group], byte) << "bf16 " << (value << 4) << ", code " << code;
        ASSERT_EQ(wrong.count, exact ? 0 : 1) << "bf16 " << (value << 4) << ", code " << code;
        ASSERT_EQ(wrong.first, exact ? -1 : value % kBf16Group);
      }
    });
    if (HasFatalFailure()) return;
  }
}

// Rows of every length near the group's, codes that change along the row and serve more than 32
// elements, one value spoilt: where it is and nothing else is found.
TEST(Bf16Rows, FindTheSpoiltValueAndWriteNothingElse) {
  const std::uint64_t seed = std::random_device()();
  std::mt19937_64 random(seed);
  ForEachInstructionSet([&] {
    for (const std::int64_t code_elements : {32, 64, 96, 128}) {
      for (const std::int64_t count : {0, 1, 31, 32, 63, 64, 65, 96, 127, 128, 160, 191, 640}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", a code for " +
                     std::to_string(code_elements) + " of " + std::to_string(count));
        std::vector<std::uint8_t> codes(count / code_elements + 1), bytes(count);
        for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(100 + random() % 50);
        std::vector<std::uint8_t> bf16(2 * count);
        for (std::int64_t i = 0; i < count; ++i) {
          do bytes[i] = static_cast<std::uint8_t>(random());
          while ((bytes[i] & 0x7F) == 0x7F);
          const int code = codes[i / code_elements];
          SetHalf(Bf16::FromFloat(ValueOf(bytes[i]) * std::ldexp(1.0f, code - 127)).bits(), i,
                  &bf16);
        }
        std::vector<std::uint8_t> out(count + 64, 0xA5);
        EXPECT_EQ(
            OcpFromDequantRow(bf16.data(), codes.data(), code_elements, count, out.data()).count,
            0);
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], bytes[i]) << "element " << i;
        for (std::int64_t i = count; i < std::ssize(out); ++i) ASSERT_EQ(out[i], 0xA5) << i;

        std::vector<std::uint8_t> back(2 * count + 128, 0xA5);
        DequantizeRow(bytes.data(), codes.data(), code_elements, count, back.data());
        for (std::int64_t i = 0; i < 2 * count; ++i) ASSERT_EQ(back[i], bf16[i]) << "byte " << i;
        for (std::int64_t i = 2 * count; i < std::ssize(back); ++i) ASSERT_EQ(back[i], 0xA5) << i;

        // The same past the caches, where the row is aligned and where it is not.
        for (const std::int64_t shift : {0, 2}) {
          std::vector<std::uint8_t> room(2 * count + 256, 0xA5);
          std::uint8_t* const begin =
              room.data() + (64 - reinterpret_cast<std::uintptr_t>(room.data()) % 64) % 64 + shift;
          UndoOcpFromDequantRow(bytes.data(), codes.data(), code_elements, count,
                                /*streaming=*/true, begin);
          for (std::int64_t i = 0; i < 2 * count; ++i) ASSERT_EQ(begin[i], bf16[i]) << "byte " << i;
          for (std::int64_t i = 2 * count; i < 2 * count + 64; ++i) ASSERT_EQ(begin[i], 0xA5) << i;
        }

        if (count == 0) continue;
        const std::int64_t spoilt = static_cast<std::int64_t>(random() % count);
        // A lowest mantissa bit; a zero becomes a subnormal bf16.
        bf16[2 * spoilt] ^= 1;
        for (const auto run : {OcpFromDequantRow, UndoDequantizeRow}) {
          const WrongValues wrong =
              run(bf16.data(), codes.data(), code_elements, count, out.data());
          EXPECT_EQ(wrong.count, 1);
          EXPECT_EQ(wrong.first, spoilt);
        }
      }
    }
  });
}

// The fast path is there: it goes through rows of ordinary values to the last whole group.
TEST(Bf16Kernels, GoThroughOrdinaryRows) {
  constexpr std::int64_t kCount = 5 * kBf16Group + 7;
  std::vector<std::uint8_t> bytes(kCount), codes(kCount / 32 + 1, 120), bf16(2 * kCount);
  for (std::int64_t i = 0; i < kCount; ++i) bytes[i] = static_cast<std::uint8_t>(i % 0x7F);
  ForEachInstructionSet([&] {
    if ((hwy::SupportedTargets() & (HWY_SCALAR | HWY_EMU128)) != 0) return;
    std::vector<std::uint8_t> back(kCount);
    EXPECT_EQ(ExactE4m3ToBf16(bytes.data(), codes.data(), 32, 0, kCount, false, bf16.data()),
              5 * kBf16Group);
    EXPECT_EQ(ExactBf16ToE4m3(bf16.data(), codes.data(), 32, 0, kCount, back.data()),
              5 * kBf16Group);
  });
}

}  // namespace
}  // namespace lanewise
