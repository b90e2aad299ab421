#ifndef LANEWISE_REFERENCE_GFX950_TILE_SELECTION_H_
#define LANEWISE_REFERENCE_GFX950_TILE_SELECTION_H_

// Which tile the gfx950 MXFP8 linears with row scales use, as ordered rules: the first rule that a
// shape meets decides. The tile fixes how K is cut, so it is part of a result's definition.
//
// Source: vLLM's _select_cfg and _select_fused_quant_cfg (kernels/linear/mxfp8/rocm_native).

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace lanewise::reference::gfx950 {

// A program's tile of the output, its step in K, and how it is launched.
struct TileConfig {
  int block_m;
  int block_n;
  int block_k;
  int warps;
  int stages;

  bool operator==(const TileConfig&) const = default;
};

// Both ends included.
struct Bounds {
  std::int64_t from = std::numeric_limits<std::int64_t>::min();
  std::int64_t to = std::numeric_limits<std::int64_t>::max();

  constexpr bool Contain(std::int64_t value) const { return from <= value && value <= to; }
};

constexpr Bounds Exactly(std::int64_t value) { return {value, value}; }
constexpr Bounds UpTo(std::int64_t value) { return {.to = value}; }
constexpr Bounds AtLeast(std::int64_t value) { return {.from = value}; }

// One line of the selection: a condition on the product [M, K] x [N, K] and the tile it gives.
struct TileRule {
  Bounds m = {};
  Bounds n = {};
  Bounds k = {};
  // K must be a multiple of it.
  std::int64_t k_multiple = 1;
  // Of ceil(M / 256) * ceil(N / 128), the programs of a launch of 256 x 128 tiles.
  Bounds occupancy = {};
  // Only where the device is a gfx950.
  bool gfx950_only = false;
  // stages may be kBk256Stages.
  TileConfig config = {};
};

// In TileRule: the platform's own number (TilePlatform::bk256_stages).
inline constexpr int kBk256Stages = -1;

// What of the platform the rules look at.
struct TilePlatform {
  bool gfx950 = true;
  // Pipeline stages of the 128 x 128 x 256 tile: 2 with current Triton.
  int bk256_stages = 2;
};

// The rules in order. The last one takes every shape.
std::span<const TileRule> TileRules();

// The tile for x [M, K] already quantized, or to be quantized separately. Defined for all integers;
// block_k divides K wherever K is a multiple of 128, as the kernel demands.
TileConfig SelectTile(std::int64_t m, std::int64_t n, std::int64_t k,
                      const TilePlatform& platform = {});

// The rules for the kernel that quantizes x itself, and their answer; nullopt: quantize
// separately. Callers use it for M <= 16 only; the rules do not say so.
std::span<const TileRule> FusedQuantTileRules();
std::optional<TileConfig> SelectFusedQuantTile(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_TILE_SELECTION_H_
