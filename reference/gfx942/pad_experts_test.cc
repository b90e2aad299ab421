#include "reference/gfx942/pad_experts.h"

#include <array>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape3 = std::array<std::int64_t, 3>;
using Bytes = Tensor<std::uint8_t, 3>;

Experts RandomExperts(std::int64_t experts, std::int64_t inter, std::int64_t k,
                      std::int64_t hidden) {
  return {RandomBytes(Shape3{experts, 2 * inter, k / 2}, 1),
          RandomBytes(Shape3{experts, 2 * inter, k / 32}, 2),
          RandomBytes(Shape3{experts, hidden, inter / 2}, 3),
          RandomBytes(Shape3{experts, hidden, inter / 32}, 4)};
}

TEST(PadExperts, PutsZeroBytesAndCode127AroundEveryHalf) {
  // inter 96 -> 128, K 288 -> 512.
  const Experts plain = RandomExperts(2, 96, 288, 16);
  const auto padded = PadExperts(plain);
  ASSERT_TRUE(padded.ok()) << padded.status();
  ASSERT_EQ(ShapeText(padded->w13), "[2, 256, 256]");
  ASSERT_EQ(ShapeText(padded->w13_codes), "[2, 256, 16]");
  ASSERT_EQ(ShapeText(padded->w2), "[2, 16, 64]");
  ASSERT_EQ(ShapeText(padded->w2_codes), "[2, 16, 4]");
  for (std::int64_t e = 0; e < 2; ++e) {
    for (std::int64_t row = 0; row < 256; ++row) {
      const std::int64_t from = row < 128 ? row : 96 + row - 128;
      const bool is_row = row % 128 < 96;
      for (std::int64_t b = 0; b < 256; ++b) {
        ASSERT_EQ(padded->w13(e, row, b), is_row && b < 144 ? plain.w13(e, from, b) : 0);
      }
      for (std::int64_t c = 0; c < 16; ++c) {
        ASSERT_EQ(padded->w13_codes(e, row, c),
                  is_row && c < 9 ? plain.w13_codes(e, from, c) : 127);
      }
    }
    for (std::int64_t row = 0; row < 16; ++row) {
      for (std::int64_t b = 0; b < 64; ++b) {
        ASSERT_EQ(padded->w2(e, row, b), b < 48 ? plain.w2(e, row, b) : 0);
      }
      for (std::int64_t c = 0; c < 4; ++c) {
        ASSERT_EQ(padded->w2_codes(e, row, c), c < 3 ? plain.w2_codes(e, row, c) : 127);
      }
    }
  }
  EXPECT_TRUE(MoeCopies(*padded, 128).ok());
}

TEST(PadExperts, IsUndone) {
  for (const auto& [inter, k] :
       {std::array<std::int64_t, 2>{32, 32}, {64, 256}, {96, 288}, {320, 224}}) {
    const Experts plain = RandomExperts(3, inter, k, 32);
    const auto padded = PadExperts(plain);
    ASSERT_TRUE(padded.ok()) << padded.status();
    const auto back = UndoPadExperts(*padded, inter, k);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_TRUE(Same(plain.w13, back->w13));
    EXPECT_TRUE(Same(plain.w13_codes, back->w13_codes));
    EXPECT_TRUE(Same(plain.w2, back->w2));
    EXPECT_TRUE(Same(plain.w2_codes, back->w2_codes));
  }
}

TEST(PadExperts, RefusesSizesAndPadding) {
  Experts plain = RandomExperts(1, 96, 288, 16);
  const auto padded = PadExperts(plain);
  ASSERT_TRUE(padded.ok());
  EXPECT_FALSE(UndoPadExperts(*padded, 32, 288).ok());
  EXPECT_FALSE(UndoPadExperts(*padded, 96, 512 + 32).ok());
  EXPECT_FALSE(UndoPadExperts(*padded, 90, 288).ok());
  EXPECT_FALSE(UndoPadExperts(*padded, 0, 288).ok());
  Experts dirty = *padded;
  dirty.w13(0, 128 + 96, 7) = 1;
  EXPECT_EQ(UndoPadExperts(dirty, 96, 288).status().message(),
            "w13[0, 224, 7] is 1: expected padding of 0");
  dirty = *padded;
  dirty.w2_codes(0, 15, 3) = 0;
  EXPECT_EQ(UndoPadExperts(dirty, 96, 288).status().message(),
            "w2 codes[0, 15, 3] is 0: expected padding of 127");
  plain.w2 = Bytes(1, 16, 32).setZero();
  EXPECT_TRUE(absl::StrContains(PadExperts(plain).status().message(),
                                "w2 [1, 16, 32]: expected [1, 16, 48] beside w13 [1, 192, 144]"));
  EXPECT_FALSE(PadExperts(RandomExperts(1, 48, 288, 16)).ok());
  EXPECT_FALSE(PadExperts(RandomExperts(1, 96, 48, 16)).ok());
}

}  // namespace
}  // namespace lanewise::reference::gfx942
