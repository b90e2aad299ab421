#include "reference/gfx942/moe.h"

#include <array>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "reference/gfx942/fp4.h"
#include "reference/testing/tensors.h"

namespace lanewise::reference::gfx942 {
namespace {

using Shape3 = std::array<std::int64_t, 3>;
using Bytes = Tensor<std::uint8_t, 3>;

struct Sizes {
  std::int64_t experts, inter, padded, k, hidden;
};
constexpr Sizes kSizes[] = {
    {1, 64, 64, 256, 16}, {2, 192, 224, 256, 32}, {3, 64, 128, 512, 48}, {2, 64, 96, 768, 16}};

// Random tensors whose padding bytes are zero; the padding's codes are random too.
Experts RandomExperts(const Sizes& s, std::uint64_t seed) {
  Experts plain{RandomBytes(Shape3{s.experts, 2 * s.padded, s.k / 2}, seed),
                RandomBytes(Shape3{s.experts, 2 * s.padded, s.k / 32}, seed + 1),
                RandomBytes(Shape3{s.experts, s.hidden, s.padded / 2}, seed + 2),
                RandomBytes(Shape3{s.experts, s.hidden, s.padded / 32}, seed + 3)};
  for (std::int64_t e = 0; e < s.experts; ++e) {
    for (std::int64_t row = 0; row < 2 * s.padded; ++row) {
      for (std::int64_t b = 0; b < s.k / 2; ++b) {
        if (row % s.padded >= s.inter) plain.w13(e, row, b) = 0;
      }
    }
    for (std::int64_t row = 0; row < s.hidden; ++row) {
      for (std::int64_t b = s.inter / 2; b < s.padded / 2; ++b) plain.w2(e, row, b) = 0;
    }
  }
  return plain;
}

int WithoutNegativeZeros(int byte) {
  const int low = byte % 16, high = byte / 16;
  return (high == 8 ? 0 : high) * 16 + (low == 8 ? 0 : low);
}

// Where byte b of row `row` of one expert goes: tiles of 16 rows, steps of 64 bytes (or 32), lanes
// 16 j + r.
std::int64_t TileMajorOffset(std::int64_t row, std::int64_t b, std::int64_t bytes) {
  const std::int64_t step = b / 64, lane_bytes = bytes - 64 * step >= 64 ? 16 : 8;
  const std::int64_t lane = 16 * (b / 4 % 4) + row % 16;
  return row / 16 * 16 * bytes + 1024 * step + lane_bytes * lane + b % 64 / 16 * 4 + b % 4;
}

TEST(MoeCopies, PutEveryByteAndCodeWhereTheSeedSays) {
  for (const Sizes& s : kSizes) {
    SCOPED_TRACE(absl::StrCat(s.experts, " experts of ", s.inter, " in ", s.padded));
    const Experts plain = RandomExperts(s, 31);
    const auto copied = MoeCopies(plain, s.inter);
    ASSERT_TRUE(copied.ok()) << copied.status();
    const Experts& copies = copied->experts;
    ASSERT_TRUE(Same(Bytes(s.experts, 2 * s.inter, s.k / 2).setZero(),
                     Bytes(copies.w13.dimensions()).setZero()));

    std::int64_t negative_zeros = 0, discarded = 0;
    Bytes w13(s.experts, 2 * s.inter, s.k / 2), w13_codes(s.experts, 2 * s.inter, s.k / 32);
    Bytes w2(s.experts, s.hidden, s.inter / 2), w2_codes(s.experts, s.hidden, s.inter / 32);
    for (std::int64_t e = 0; e < s.experts; ++e) {
      for (std::int64_t row = 0; row < 2 * s.padded; ++row) {
        const bool up = row >= s.padded;
        const std::int64_t i = row % s.padded, to = 2 * i + up;
        for (std::int64_t c = 0; c < s.k / 32; ++c) {
          if (i >= s.inter) {
            discarded += plain.w13_codes(e, row, c) != 0;
            continue;
          }
          // Rounds of 8 blocks: 16 rows' codes of the round, row after row.
          const std::int64_t at = to / 16 * 16 * (s.k / 32) + c / 8 * 128 + to % 16 * 8 + c % 8;
          w13_codes.data()[e * 2 * s.inter * (s.k / 32) + at] = plain.w13_codes(e, row, c);
        }
        if (i >= s.inter) continue;
        for (std::int64_t b = 0; b < s.k / 2; ++b) {
          const int byte = plain.w13(e, row, b);
          negative_zeros += (byte % 16 == 8) + (byte / 16 == 8);
          w13.data()[e * 2 * s.inter * (s.k / 2) + TileMajorOffset(to, b, s.k / 2)] =
              static_cast<std::uint8_t>(WithoutNegativeZeros(byte));
        }
      }
      for (std::int64_t row = 0; row < s.hidden; ++row) {
        for (std::int64_t b = 0; b < s.inter / 2; ++b) {
          const int byte = plain.w2(e, row, b);
          negative_zeros += (byte % 16 == 8) + (byte / 16 == 8);
          w2.data()[e * s.hidden * (s.inter / 2) + TileMajorOffset(row, b, s.inter / 2)] =
              static_cast<std::uint8_t>(WithoutNegativeZeros(byte));
        }
        for (std::int64_t c = 0; c < s.padded / 32; ++c) {
          if (c < s.inter / 32) {
            w2_codes(e, row, c) = plain.w2_codes(e, row, c);
          } else {
            discarded += plain.w2_codes(e, row, c) != 0;
          }
        }
      }
    }
    EXPECT_TRUE(Same(w13, copies.w13));
    EXPECT_TRUE(Same(w13_codes, copies.w13_codes));
    EXPECT_TRUE(Same(w2, copies.w2));
    EXPECT_TRUE(Same(w2_codes, copies.w2_codes));
    EXPECT_EQ(copied->negative_zeros, negative_zeros);
    EXPECT_EQ(copied->discarded_codes, discarded);
  }
}

TEST(MoeCopies, AreUndoneButForZeroSignsAndPaddingCodes) {
  for (const Sizes& s : kSizes) {
    for (const int padding_code : {0, 127}) {
      const Experts plain = RandomExperts(s, 41);
      const auto copied = MoeCopies(plain, s.inter);
      ASSERT_TRUE(copied.ok()) << copied.status();
      const auto back =
          UndoMoeCopies(copied->experts, s.padded, static_cast<std::uint8_t>(padding_code));
      ASSERT_TRUE(back.ok()) << back.status();
      Experts expected = plain;
      Fp4DropNegativeZero(&expected.w13);
      Fp4DropNegativeZero(&expected.w2);
      for (std::int64_t e = 0; e < s.experts; ++e) {
        for (std::int64_t row = 0; row < 2 * s.padded; ++row) {
          for (std::int64_t c = 0; c < s.k / 32 && row % s.padded >= s.inter; ++c) {
            expected.w13_codes(e, row, c) = static_cast<std::uint8_t>(padding_code);
          }
        }
        for (std::int64_t row = 0; row < s.hidden; ++row) {
          for (std::int64_t c = s.inter / 32; c < s.padded / 32; ++c) {
            expected.w2_codes(e, row, c) = static_cast<std::uint8_t>(padding_code);
          }
        }
      }
      EXPECT_TRUE(Same(expected.w13, back->w13));
      EXPECT_TRUE(Same(expected.w13_codes, back->w13_codes));
      EXPECT_TRUE(Same(expected.w2, back->w2));
      EXPECT_TRUE(Same(expected.w2_codes, back->w2_codes));
    }
  }
}

TEST(MoeCopies, RefuseDirtyPaddingWithItsCoordinate) {
  const Sizes s{2, 64, 96, 256, 16};
  const auto refusal = [&](auto change) {
    Experts plain = RandomExperts(s, 51);
    change(plain);
    return MoeCopies(plain, s.inter).status();
  };
  EXPECT_TRUE(refusal([](Experts&) {}).ok());
  const absl::Status gate = refusal([](Experts& t) { t.w13(1, 64, 3) = 1; });
  EXPECT_EQ(gate.message(),
            "w13[1, 64, 3] is 1 (0x01): the expert padding from 64 to 96 is not zero");
  const absl::Status up = refusal([](Experts& t) { t.w13(0, 191, 127) = 0x88; });  // Two -0.
  EXPECT_TRUE(absl::StrContains(up.message(), "w13[0, 191, 127] is 136 (0x88)")) << up;
  const absl::Status down = refusal([](Experts& t) { t.w2(1, 15, 32) = 0x80; });
  EXPECT_TRUE(absl::StrContains(down.message(), "w2[1, 15, 32] is 128 (0x80)")) << down;
}

TEST(MoeCopies, RefuseLargeCodesWhenAsked) {
  const Sizes s{1, 64, 96, 256, 16};
  Experts plain = RandomExperts(s, 61);
  plain.w13_codes.setConstant(249);
  plain.w2_codes.setConstant(249);
  plain.w13_codes(0, 64, 0) = 255;  // Padding.
  plain.w2_codes(0, 0, 2) = 255;    // Padding.
  EXPECT_TRUE(MoeCopies(plain, s.inter, Checks::All()).ok());
  Experts large = plain;
  large.w13_codes(0, 97, 7) = 250;
  EXPECT_TRUE(MoeCopies(large, s.inter).ok());
  EXPECT_TRUE(absl::StrContains(MoeCopies(large, s.inter, Checks::All()).status().message(),
                                "w13 codes[0, 97, 7] is 250"));
  large = plain;
  large.w2_codes(0, 9, 1) = 255;
  EXPECT_TRUE(absl::StrContains(MoeCopies(large, s.inter, Checks::All()).status().message(),
                                "w2 codes[0, 9, 1] is 255"));
}

TEST(MoeCopies, RefuseShapesThatDoNotBelongTogether) {
  const Sizes s{2, 64, 96, 256, 16};
  const Experts plain = RandomExperts(s, 71);
  EXPECT_FALSE(MoeCopies(plain, 128).ok());
  EXPECT_FALSE(MoeCopies(plain, -64).ok());
  EXPECT_FALSE(MoeCopies(plain, 48).ok());
  EXPECT_FALSE(MoeCopies(plain, 96).ok());  // Tiles want 64s, and 96 is no multiple.
  const auto with = [&](auto change) {
    Experts changed = plain;
    change(changed);
    return MoeCopies(changed, 64).status();
  };
  EXPECT_EQ(with([](Experts& t) { t.w13_codes = Bytes(2, 192, 9).setZero(); }).message(),
            "w13 codes [2, 192, 9]: expected [2, 192, 8] beside w13 [2, 192, 128]");
  EXPECT_FALSE(with([](Experts& t) { t.w2 = Bytes(2, 16, 64).setZero(); }).ok());
  EXPECT_FALSE(with([](Experts& t) { t.w2_codes = Bytes(2, 32, 3).setZero(); }).ok());
  EXPECT_FALSE(with([](Experts& t) { t.w2_codes = Bytes(1, 16, 3).setZero(); }).ok());
  EXPECT_FALSE(with([](Experts& t) {
                 t.w13 = Bytes(2, 193, 128).setZero();
                 t.w13_codes = Bytes(2, 193, 8).setZero();
               }).ok());
  // K = 128 is not a round of 8 blocks; 24 rows of w2 are not whole tiles.
  EXPECT_FALSE(MoeCopies(RandomExperts({1, 64, 64, 128, 16}, 72), 64).ok());
  EXPECT_FALSE(MoeCopies(RandomExperts({1, 64, 64, 256, 24}, 73), 64).ok());
}

TEST(UndoMoeCopies, RefusesWhatNoCopyHolds) {
  const Sizes s{1, 64, 96, 256, 16};
  const auto copied = MoeCopies(RandomExperts(s, 81), s.inter);
  ASSERT_TRUE(copied.ok());
  EXPECT_FALSE(UndoMoeCopies(copied->experts, 32).ok());
  EXPECT_FALSE(UndoMoeCopies(copied->experts, 80).ok());
  Experts copies = copied->experts;
  copies.w2(0, 0, 0) = 0x81;  // Lane 0: row 0, byte 0.
  EXPECT_TRUE(absl::StrContains(UndoMoeCopies(copies, 96).status().message(),
                                "w2[0, 0, 0] is 129 (0x81): a copy holds no -0 nibble"));
}

TEST(InterleaveGateUp, AlternatesGateAndUpRows) {
  // Two rows a half: gate 10 11, up 20 21.
  Bytes rows(1, 6, 1);
  rows.setValues({{{10}, {11}, {12}, {20}, {21}, {22}}});
  const auto out = InterleaveGateUp(rows, 2);
  ASSERT_TRUE(out.ok());
  Bytes expected(1, 4, 1);
  expected.setValues({{{10}, {20}, {11}, {21}}});
  EXPECT_TRUE(Same(expected, *out));
  Bytes padded(1, 6, 1);
  padded.setValues({{{10}, {11}, {0}, {20}, {21}, {0}}});
  const auto back = UndoInterleaveGateUp(*out, 3);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(Same(padded, *back));
  EXPECT_FALSE(UndoInterleaveGateUp(*out, 1).ok());
  EXPECT_FALSE(InterleaveGateUp(rows, 4).ok());
  EXPECT_FALSE(InterleaveGateUp(Bytes(1, 5, 1), 2).ok());
}

}  // namespace
}  // namespace lanewise::reference::gfx942
