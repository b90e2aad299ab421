#ifndef LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_
#define LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_

// Which kernel the gfx950 MXFP8 linear with 32 x 32 block scales uses for a shape: its form, tile
// and split of K, all of which are part of the result's definition (block32_gemm.h says how).
//
// Source: vLLM's tuned table for DeepSeek V4.1, of which the choices at M = 1 (and, quantizing in
// the kernel, at M = 1 and 16) are known. Our tiers between and beyond those points: the known
// choice for M = 16 serves M = 2 .. 16, and past a tuned tier the table for untuned shapes decides.
// The table is data so that measured tiers can be added.

#include <cstdint>
#include <optional>
#include <span>

namespace lanewise::reference::gfx950 {

enum class Block32Form {
  // One program computes a block_m x block_n tile, stepping block_k along K.
  kTiled,
  // Row t of the tile is token t / pack and K panel t % pack, so that a step covers pack * block_k
  // of K: for few tokens.
  kPacked,
};

// How one block32 GEMM runs.
struct Block32Config {
  Block32Form form = Block32Form::kTiled;
  int block_m = 0;
  int block_n = 0;
  int block_k = 0;
  // Packed only: panels of K side by side in the tile's rows.
  int pack = 1;
  // Programs that share K.
  int split = 1;
  // The split's last program adds the partial sums up itself; else a second launch does. The order
  // of addition, and so the result, is the same.
  bool fused_combine = false;

  bool operator==(const Block32Config&) const = default;
};

// The choice for up to max_m rows.
struct Block32Tier {
  std::int64_t max_m;
  Block32Config config;
};

// What is tuned for one weight shape, tiers ascending.
struct Block32Entry {
  std::int64_t n;
  std::int64_t k;
  std::span<const Block32Tier> quantized;   // x arrives quantized
  std::span<const Block32Tier> quantizing;  // x is bf16, quantized in the kernel
};

// The tuned shapes.
std::span<const Block32Entry> Block32Entries();

// The kernel for a quantized x [M, K] and w [N, K].
Block32Config SelectBlock32(std::int64_t m, std::int64_t n, std::int64_t k);

// The kernel for an x to be quantized in it; nullopt: quantize separately, then SelectBlock32.
std::optional<Block32Config> SelectBlock32Quantizing(std::int64_t m, std::int64_t n,
                                                     std::int64_t k);

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_
