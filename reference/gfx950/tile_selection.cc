#include "reference/gfx950/tile_selection.h"

namespace lanewise::reference::gfx950 {
namespace {

constexpr TileRule kTileRules[] = {
    // Decode at the shapes of MiniMax-M3, tuned one by one.
    {.m = UpTo(16),
     .n = Exactly(1536),
     .k = Exactly(6144),
     .gfx950_only = true,
     .config = {16, 16, 1024, 2, 3}},
    {.m = UpTo(16),
     .n = Exactly(2560),
     .k = Exactly(6144),
     .gfx950_only = true,
     .config = {16, 16, 1024, 2, 3}},
    {.m = UpTo(16),
     .n = Exactly(6144),
     .k = Exactly(768),
     .gfx950_only = true,
     .config = {16, 16, 256, 2, 3}},

    // Decode: narrow tiles, so that many programs stream the weight; long steps in K.
    {.m = UpTo(64), .k_multiple = 1024, .config = {16, 16, 1024, 2, 2}},
    {.m = UpTo(64), .k_multiple = 512, .config = {16, 16, 512, 2, 3}},
    {.m = UpTo(64), .k_multiple = 256, .config = {16, 32, 256, 4, 3}},
    {.m = UpTo(64), .config = {16, 32, 128, 4, 3}},

    // More rows, few columns: narrow tiles still fill the device better. Up to 256 rows for N <=
    // 1280,
    // up to 128 for N <= 1536.
    {.m = UpTo(256), .n = UpTo(1280), .k_multiple = 1024, .config = {16, 16, 1024, 2, 2}},
    {.m = UpTo(256), .n = UpTo(1280), .k_multiple = 512, .config = {16, 16, 512, 2, 3}},
    {.m = UpTo(256), .n = UpTo(1280), .k_multiple = 256, .config = {16, 16, 256, 2, 3}},
    {.m = UpTo(256), .n = UpTo(1280), .config = {16, 16, 128, 2, 3}},
    {.m = UpTo(128), .n = UpTo(1536), .k_multiple = 1024, .config = {16, 16, 1024, 2, 2}},
    {.m = UpTo(128), .n = UpTo(1536), .k_multiple = 512, .config = {16, 16, 512, 2, 3}},
    {.m = UpTo(128), .n = UpTo(1536), .k_multiple = 256, .config = {16, 16, 256, 2, 3}},
    {.m = UpTo(128), .n = UpTo(1536), .config = {16, 16, 128, 2, 3}},

    // Short K.
    {.m = UpTo(256), .k = UpTo(1024), .k_multiple = 256, .config = {64, 64, 256, 8, 2}},
    {.m = UpTo(256), .k = UpTo(1024), .config = {64, 64, 128, 8, 2}},
    {.m = AtLeast(4096),
     .k = Exactly(1024),
     .occupancy = AtLeast(256),
     .config = {128, 128, 256, 8, kBk256Stages}},
    {.k = UpTo(1024), .config = {128, 128, 128, 8, 3}},

    // Long K, by rows: wide decode and small prefill, then medium prefill.
    {.m = UpTo(256), .k_multiple = 512, .config = {64, 64, 512, 8, 2}},
    {.m = UpTo(256), .k_multiple = 256, .config = {64, 64, 256, 8, 2}},
    {.m = UpTo(256), .config = {64, 64, 128, 8, 2}},
    {.m = UpTo(1024), .k_multiple = 256, .config = {128, 64, 256, 8, 3}},
    {.m = UpTo(1024), .config = {128, 64, 128, 8, 3}},

    // Large prefill.
    {.n = {1281, 1536}, .k_multiple = 256, .config = {128, 128, 256, 8, kBk256Stages}},
    {.k = AtLeast(4096),
     .k_multiple = 256,
     .occupancy = AtLeast(128),
     .config = {128, 128, 256, 8, kBk256Stages}},
    {.m = AtLeast(4096),
     .k_multiple = 256,
     .occupancy = AtLeast(128),
     .config = {128, 128, 256, 8, kBk256Stages}},
    {.n = UpTo(1024), .k_multiple = 256, .config = {128, 64, 256, 8, 3}},
    {.k_multiple = 256, .config = {128, 128, 256, 8, 2}},
    {.config = {128, 256, 128, 8, 3}},
};

constexpr TileRule kFusedQuantTileRules[] = {
    {.m = UpTo(4), .k = Exactly(2048), .config = {16, 32, 512, 4, 3}},
    {.k = Exactly(1024), .config = {16, 32, 512, 4, 3}},
    {.k = UpTo(1024), .k_multiple = 256, .config = {16, 32, 256, 4, 3}},
    {.k = UpTo(1024), .config = {16, 32, 128, 4, 3}},
};

constexpr std::int64_t CeilDivide(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

std::optional<TileConfig> FirstMatch(std::span<const TileRule> rules, std::int64_t m,
                                     std::int64_t n, std::int64_t k, const TilePlatform& platform) {
  const std::int64_t occupancy = CeilDivide(m, 256) * CeilDivide(n, 128);
  for (const TileRule& rule : rules) {
    if (rule.gfx950_only && !platform.gfx950) continue;
    if (!rule.m.Contain(m) || !rule.n.Contain(n) || !rule.k.Contain(k)) continue;
    if (k % rule.k_multiple != 0 || !rule.occupancy.Contain(occupancy)) continue;
    TileConfig config = rule.config;
    if (config.stages == kBk256Stages) config.stages = platform.bk256_stages;
    return config;
  }
  return std::nullopt;
}

}  // namespace

std::span<const TileRule> TileRules() { return kTileRules; }

TileConfig SelectTile(std::int64_t m, std::int64_t n, std::int64_t k,
                      const TilePlatform& platform) {
  // The last rule has no condition.
  return *FirstMatch(kTileRules, m, n, k, platform);
}

std::span<const TileRule> FusedQuantTileRules() { return kFusedQuantTileRules; }

std::optional<TileConfig> SelectFusedQuantTile(std::int64_t m, std::int64_t n, std::int64_t k) {
  return FirstMatch(kFusedQuantTileRules, m, n, k, TilePlatform());
}

}  // namespace lanewise::reference::gfx950
