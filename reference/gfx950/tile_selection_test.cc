#include "reference/gfx950/tile_selection.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise::reference::gfx950 {
namespace {

// The source's branches, one to one.
TileConfig ByBranches(std::int64_t m, std::int64_t n, std::int64_t k, bool gfx950, int stages) {
  if (gfx950 && m <= 16) {
    if (k == 6144 && (n == 1536 || n == 2560)) return {16, 16, 1024, 2, 3};
    if (k == 768 && n == 6144) return {16, 16, 256, 2, 3};
  }
  if (m <= 64) {
    if (k % 1024 == 0) return {16, 16, 1024, 2, 2};
    if (k % 512 == 0) return {16, 16, 512, 2, 3};
    if (k % 256 == 0) return {16, 32, 256, 4, 3};
    return {16, 32, 128, 4, 3};
  }
  if ((m <= 256 && n <= 1280) || (m <= 128 && n <= 1536)) {
    if (k % 1024 == 0) return {16, 16, 1024, 2, 2};
    if (k % 512 == 0) return {16, 16, 512, 2, 3};
    if (k % 256 == 0) return {16, 16, 256, 2, 3};
    return {16, 16, 128, 2, 3};
  }
  const std::int64_t occ = ((m + 255) / 256) * ((n + 127) / 128);
  const bool k256 = k % 256 == 0;
  if (k <= 1024) {
    if (m <= 256) return k256 ? TileConfig{64, 64, 256, 8, 2} : TileConfig{64, 64, 128, 8, 2};
    if (m >= 4096 && k >= 1024 && k256 && occ >= 256) return {128, 128, 256, 8, stages};
    return {128, 128, 128, 8, 3};
  }
  if (m <= 256) {
    if (k % 512 == 0) return {64, 64, 512, 8, 2};
    return k256 ? TileConfig{64, 64, 256, 8, 2} : TileConfig{64, 64, 128, 8, 2};
  }
  if (m <= 1024) return k256 ? TileConfig{128, 64, 256, 8, 3} : TileConfig{128, 64, 128, 8, 3};
  if (k256 && ((1280 < n && n <= 1536) || (occ >= 128 && (k >= 4096 || m >= 4096)))) {
    return {128, 128, 256, 8, stages};
  }
  if (n <= 1024 && k256) return {128, 64, 256, 8, 3};
  return k256 ? TileConfig{128, 128, 256, 8, 2} : TileConfig{128, 256, 128, 8, 3};
}

std::optional<TileConfig> FusedByBranches(std::int64_t m, std::int64_t k) {
  if (k == 2048 && m <= 4) return TileConfig{16, 32, 512, 4, 3};
  if (k > 1024) return std::nullopt;
  if (k == 1024) return TileConfig{16, 32, 512, 4, 3};
  return TileConfig{16, 32, k % 256 == 0 ? 256 : 128, 4, 3};
}

// Every number that a branch compares with, one below and one above, and some between.
const std::vector<std::int64_t> kM = {1,    2,    3,    4,    5,    8,     15,    16,   17,
                                      32,   63,   64,   65,   100,  127,   128,   129,  200,
                                      255,  256,  257,  512,  768,  1023,  1024,  1025, 2048,
                                      4095, 4096, 4097, 8192, 9999, 16384, 32768, 65536};

std::vector<std::int64_t> Columns() {
  std::vector<std::int64_t> n;
  for (std::int64_t value = 16; value <= 4096; value += 16) n.push_back(value);
  for (const std::int64_t edge : {1024, 1280, 1536, 2560, 6144, 8192, 16384}) {
    for (const std::int64_t offset : {-1, 0, 1}) n.push_back(edge + offset);
  }
  return n;
}

std::vector<std::int64_t> Depths() {
  std::vector<std::int64_t> k;
  for (std::int64_t value = 32; value <= 8192; value += 32) k.push_back(value);
  k.push_back(12288);
  k.push_back(16384 + 128);
  return k;
}

TEST(TileSelection, RulesAnswerAsTheBranches) {
  for (const bool gfx950 : {true, false}) {
    for (const int stages : {2, 3}) {
      for (const std::int64_t m : kM) {
        for (const std::int64_t n : Columns()) {
          for (const std::int64_t k : Depths()) {
            ASSERT_EQ(SelectTile(m, n, k, {gfx950, stages}), ByBranches(m, n, k, gfx950, stages))
                << "M " << m << " N " << n << " K " << k << " gfx950 " << gfx950;
          }
        }
      }
    }
  }
  for (const std::int64_t m : kM) {
    for (const std::int64_t k : Depths()) {
      ASSERT_EQ(SelectFusedQuantTile(m, 5120, k), FusedByBranches(m, k)) << m << " " << k;
    }
  }
}

TEST(TileSelection, BlockKDividesEveryKOf128) {
  for (const std::int64_t m : kM) {
    for (const std::int64_t n : {64, 1280, 1408, 1536, 5120}) {
      for (std::int64_t k = 128; k <= 16384; k += 128) {
        ASSERT_EQ(k % SelectTile(m, n, k).block_k, 0) << "M " << m << " N " << n << " K " << k;
      }
    }
  }
}

// No rule is dead: each is the first match of some shape.
TEST(TileSelection, EveryRuleDecidesSomewhere) {
  std::vector<bool> used(TileRules().size(), false);
  for (const std::int64_t m : kM) {
    for (const std::int64_t n : Columns()) {
      for (const std::int64_t k : Depths()) {
        const std::int64_t occupancy = ((m + 255) / 256) * ((n + 127) / 128);
        for (std::size_t i = 0; i < TileRules().size(); ++i) {
          const TileRule& rule = TileRules()[i];
          if (rule.m.Contain(m) && rule.n.Contain(n) && rule.k.Contain(k) &&
              k % rule.k_multiple == 0 && rule.occupancy.Contain(occupancy)) {
            used[i] = true;
            break;
          }
        }
      }
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i) EXPECT_TRUE(used[i]) << "rule " << i;
}

}  // namespace
}  // namespace lanewise::reference::gfx950
