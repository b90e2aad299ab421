#include "checkpoint/prepare/sign_bits.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

// Runs of every length, joined, are the bits one after the other.
TEST(SignBitsJoinerTest, JoinsRunsOfAnyLength) {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    SignBitsJoiner joiner;
    std::vector<bool> expected;
    std::vector<std::uint8_t> joined;
    const int runs = 1 + static_cast<int>(random() % 12);
    for (int run = 0; run < runs; ++run) {
      ZeroSignBits bits;
      const int count = static_cast<int>(random() % 40);
      for (int i = 0; i < count; ++i) {
        if (i % 8 == 0) bits.bytes.push_back(0);
        const bool bit = random() % 2 == 1;
        expected.push_back(bit);
        if (bit) bits.bytes.back() |= static_cast<std::uint8_t>(1 << (i % 8));
      }
      bits.count = count;
      EXPECT_EQ(joiner.bytes(), static_cast<std::int64_t>(joined.size()));
      const std::vector<std::uint8_t> more = joiner.Join(bits, run == runs - 1);
      joined.insert(joined.end(), more.begin(), more.end());
    }
    ASSERT_EQ(joined.size(), (expected.size() + 7) / 8) << "seed " << seed << " round " << round;
    for (std::size_t i = 0; i < 8 * joined.size(); ++i) {
      EXPECT_EQ((joined[i / 8] >> (i % 8) & 1) == 1, i < expected.size() && expected[i])
          << "bit " << i << ", seed " << seed << " round " << round;
    }
  }
}

}  // namespace
}  // namespace lanewise
