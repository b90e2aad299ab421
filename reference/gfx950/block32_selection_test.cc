#include "reference/gfx950/block32_selection.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lanewise::reference::gfx950 {
namespace {

// The source's table written down apart from ours, as "rows up to:form tile/pack": P packed
// m.n.k/pack, T tiled m.n.k[/split by a second launch]; fN N programs that share K and combine in
// the last; w the 32x32x64 instruction.
struct Shape {
  std::int64_t n;
  std::int64_t k;
  const char* tiers;
  // Sums over the source's tiers i = 1, 2 .. of i * waves, i * stages, i * waves_per_simd, i *
  // n_first, by which the launch numbers are held.
  std::array<int, 4> launch;
};
const Shape kShapes[] = {
    {1152,
     5120,
     "1:P8.16.1024/2f3 2:P4.32.256/4f5 4:P4.32.256/4f5 8:P8.16.1024/2f3 16:T16.32.512f5 "
     "24:T32.32.512f5 32:P32.32.1024/1f5 48:T64.32.512f5 64:T64.32.512f5 96:T32.16.1024 "
     "128:T64.32.512f3 160:T64.32.512f2 192:T32.32.1024 256:T64.32.256f3 320:T64.32.256f2 "
     "384:T32.32.512 512:T64.64.256f3 768:T64.64.512w 1024:T128.128.256/2 "
     "1536:T128.128.256/2 2048:T128.128.256w 3072:T128.128.256w 4096:T128.128.128w "
     "8192:T128.128.256w",
     {1338, 679, 101, 177}},
    {1792,
     5120,
     "1:P8.16.1024/2 8:P8.16.1024/2 16:T16.64.1024f5 32:P16.16.1024/1 48:T64.32.512f4 "
     "64:T64.32.512f4 96:T64.32.512f2 128:T64.32.256f4 192:T64.32.256f3 256:T64.64.512f2 "
     "384:T64.64.256f3 512:T64.64.512w 768:T128.128.256f2 1024:T64.64.256w "
     "2048:T128.128.256w 3072:T128.128.256w 4096:T128.128.128w 8192:T128.128.128",
     {878, 379, 96, 115}},
    {2304,
     5120,
     "1:P8.16.1024/2 8:P8.16.1024/2 16:T16.64.1024f5 24:P32.32.512/1f5 32:P32.32.1024/1f3 "
     "48:T64.32.512f3 64:T64.64.512f5 128:T64.32.256f3 160:T64.64.512f2 192:T64.64.512f2 "
     "256:T64.64.256f3 320:T64.64.512w 384:T64.64.512w 512:T128.128.256f3 "
     "768:T128.128.256f2 1536:T128.128.256w 2048:T128.128.128w 3072:T128.128.128 "
     "4096:T128.128.256w 8192:T128.128.128w",
     {1130, 440, 65, 143}},
    {4096,
     1280,
     "1:P4.16.256/4 2:P4.16.256/4 4:P4.16.256/4 8:P8.16.256/4 16:P16.16.512/2 "
     "32:P32.16.1024/1 64:T32.32.512 128:T64.32.512 192:T64.32.256 256:T64.64.512w "
     "384:T64.64.256w 512:T128.64.256w 1024:T128.128.256w 2048:T128.128.128w "
     "3072:T128.128.128w 4096:T128.128.128w 8192:T128.128.128",
     {730, 357, 64, 132}},
    {5120,
     576,
     "8:P8.32.256/2 16:P16.32.512/1 32:P32.32.256/1 64:T32.32.128 96:T32.64.256 "
     "128:T32.32.256 192:T64.64.256w 256:T64.64.256w 320:T64.64.256w 384:T128.64.256w "
     "512:T64.64.128w 768:T128.128.128w 1024:T128.64.128w 3072:T128.128.128w "
     "4096:T128.128.128w 8192:T128.128.128w",
     {726, 309, 48, 130}},
    {5120,
     1152,
     "1:P4.32.128/4 8:P8.32.256/2 32:P32.32.512/1 128:T32.32.128 192:T64.64.512w "
     "320:T64.64.256w 384:T128.64.256w 512:T128.128.256w 768:T128.128.256w "
     "1024:T128.64.128w 1536:T128.128.128w 2048:T128.128.128w 3072:T128.256.128w "
     "4096:T128.128.128w 8192:T128.64.128w",
     {722, 257, 50, 114}},
    {5120,
     2048,
     "1:P4.32.256/4 4:P4.32.256/4 8:P8.32.256/4 16:T16.32.1024 32:T32.32.512 64:T32.32.512 "
     "96:T32.64.512 128:T64.64.512w 192:T64.64.512w 320:T64.64.256w 384:T128.64.256w "
     "768:T128.128.256w 1024:T128.128.128w 1536:T128.128.128w 2048:T128.128.256w "
     "4096:T128.128.128w 8192:T128.128.128w",
     {806, 329, 77, 142}},
    {5120,
     4096,
     "4:P4.32.512/4 8:P8.16.128/4f2 16:T16.32.256f4 24:T32.32.256f4 32:T32.64.512f3 "
     "48:T64.64.512f3 64:T64.64.512f3 128:T64.64.256f3 192:T64.64.512w 256:T128.128.256f2 "
     "320:T64.64.256w 384:T128.128.256f2 768:T128.128.256w 1024:T128.128.128w "
     "1536:T128.128.128w 2048:T128.128.256w 3072:T128.128.128w 4096:T128.128.128 "
     "8192:T128.128.128w",
     {1012, 389, 77, 187}},
    {8192,
     1280,
     "1:P8.32.256/2 8:P8.32.256/2 16:P16.32.1024/1 32:P32.32.512/1 48:T64.32.512 "
     "64:P32.64.256/1 128:T64.64.512w 192:T64.64.256w 256:T128.64.256w 384:T128.128.256w "
     "512:T128.128.256w 1024:T128.128.128w 1536:T128.128.128 4096:T128.128.128w "
     "8192:T128.256.128w",
     {544, 270, 41, 104}},
    {16384,
     1280,
     "2:P4.32.128/4 4:P4.32.128/4 8:P8.32.256/2 32:P32.64.256/1 64:T64.64.256w "
     "128:T128.64.256w 256:T128.128.256w 384:T128.128.128w 512:T128.128.128w "
     "768:T128.128.128 1024:T128.128.128w 2048:T128.128.128w 8192:T128.256.128w",
     {480, 198, 38, 76}},
};

std::string TextOf(const Block32Tier& tier) {
  const Block32Config& config = tier.config;
  const bool packed = config.form == Block32Form::kPacked;
  std::string text = absl::StrCat(tier.max_m, ":", packed ? "P" : "T", config.block_m, ".",
                                  config.block_n, ".", config.block_k);
  if (packed) absl::StrAppend(&text, "/", config.pack);
  if (!packed && config.pack != 1) absl::StrAppend(&text, " and pack ", config.pack);
  if (config.split > 1) absl::StrAppend(&text, config.fused_combine ? "f" : "/", config.split);
  if (config.split == 1 && config.fused_combine) absl::StrAppend(&text, "f1");
  return text + (config.instruction == 32 ? "w" : config.instruction == 16 ? "" : "?");
}

TEST(Block32Selection, TableIsTheSources) {
  ASSERT_EQ(std::size(kBlock32Entries), std::size(kShapes));
  for (std::size_t i = 0; i < std::size(kShapes); ++i) {
    const Block32Entry& entry = kBlock32Entries[i];
    EXPECT_EQ(entry.n, kShapes[i].n);
    EXPECT_EQ(entry.k, kShapes[i].k);
    std::string text;
    std::array<int, 4> launch = {};
    int place = 0;
    for (const Block32Tier& tier : entry.tiers) {
      absl::StrAppend(&text, text.empty() ? "" : " ", TextOf(tier));
      ++place;
      launch[0] += place * tier.config.waves;
      launch[1] += place * tier.config.stages;
      launch[2] += place * tier.config.waves_per_simd;
      launch[3] += place * (tier.config.n_first ? 1 : 0);
    }
    EXPECT_EQ(text, kShapes[i].tiers) << entry.n << " x " << entry.k;
    EXPECT_EQ(launch, kShapes[i].launch) << entry.n << " x " << entry.k;
  }
}

// A line of the table, whole.
TEST(Block32Selection, OneRowOf1152x5120) {
  const Block32Config config = SelectBlock32(1, 1152, 5120);
  EXPECT_EQ(config,
            (Block32Config{Block32Form::kPacked, 8, 16, 1024, 2, 3, true, 16, 2, 2, 1, false}));
}

TEST(Block32Selection, TheFirstTierThatReachesAndElseTheLast) {
  EXPECT_EQ(SelectBlock32(2, 1792, 5120), SelectBlock32(8, 1792, 5120));
  EXPECT_NE(SelectBlock32(1, 1792, 5120), SelectBlock32(2, 1792, 5120));
  EXPECT_EQ(SelectBlock32(9, 1792, 5120).block_k, 1024);
  EXPECT_EQ(SelectBlock32(9, 1792, 5120).split, 5);
  for (const Shape& shape : kShapes) {
    const Block32Config last = SelectBlock32(8192, shape.n, shape.k);
    EXPECT_EQ(SelectBlock32(8193, shape.n, shape.k), last) << shape.n << " x " << shape.k;
    EXPECT_EQ(SelectBlock32(std::int64_t{1} << 40, shape.n, shape.k), last);
  }
}

TEST(Block32Selection, UntunedShapes) {
  const Block32Config few = {Block32Form::kPacked, 8, 16, 256, 2, 1, false, 16, 2, 3, 0, false};
  const Block32Config some = {Block32Form::kPacked, 32, 32, 256, 1, 1, false, 16, 2, 3, 0, false};
  const Block32Config more = {Block32Form::kTiled, 64, 64, 256, 1, 1, false, 16, 4, 2, 0, true};
  const Block32Config many = {Block32Form::kTiled, 128, 128, 128, 1, 1, false, 16, 4, 2, 0, true};
  for (const std::int64_t k : {96, 5120, 6144}) {
    EXPECT_EQ(SelectBlock32(1, 64, k), few);
    EXPECT_EQ(SelectBlock32(8, 64, k), few);
    EXPECT_EQ(SelectBlock32(9, 64, k), some);
    EXPECT_EQ(SelectBlock32(32, 64, k), some);
    EXPECT_EQ(SelectBlock32(33, 64, k), more);
    EXPECT_EQ(SelectBlock32(256, 64, k), more);
    EXPECT_EQ(SelectBlock32(257, 64, k), many);
    EXPECT_EQ(SelectBlock32(1 << 20, 64, k), many);
  }
}

TEST(Block32Selection, Quantizing) {
  const auto select = SelectBlock32Quantizing;
  EXPECT_EQ(select(16, 5120, 4096), (Block32Config{Block32Form::kPacked, 16, 64, 256, 1, 5, true}));
  EXPECT_TRUE(select(8, 5120, 2048).has_value());
  EXPECT_FALSE(select(9, 5120, 2048).has_value());
  EXPECT_FALSE(select(17, 1152, 5120).has_value());
  EXPECT_EQ(select(4, 64, 96), (Block32Config{Block32Form::kPacked, 4, 32, 128, 4, 1, false}));
  EXPECT_FALSE(select(5, 64, 96).has_value());
}

TEST(Block32Selection, TiersAreWellFormed) {
  std::vector<Block32Tiers> all = {kBlock32Untuned};
  for (const Block32Entry& entry : kBlock32Entries) all.push_back(entry.tiers);
  for (const Block32Entry& entry : Block32QuantizingEntries()) all.push_back(entry.tiers);
  for (const Block32Tiers& tiers : all) {
    std::int64_t last = 0;
    for (const Block32Tier& tier : tiers) {
      EXPECT_GT(tier.max_m, last) << TextOf(tier);
      last = tier.max_m;
      EXPECT_EQ(tier.config.block_m % tier.config.pack, 0) << TextOf(tier);
      EXPECT_EQ(tier.config.block_k % 32, 0) << TextOf(tier);
      EXPECT_GE(tier.config.split, 1) << TextOf(tier);
    }
  }
}

}  // namespace
}  // namespace lanewise::reference::gfx950
