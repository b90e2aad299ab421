#ifndef LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_
#define LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_

// Which kernel the gfx950 MXFP8 linear with 32 x 32 block scales uses for a shape: its form, tile
// and split of K, all of which are part of the result's definition (block32_gemm.h says how).
//
//   const Block32Config config = SelectBlock32(/*m=*/16, /*n=*/1792, /*k=*/5120);
//   // config.form is kTiled, its block_k 1024, its split 5
//
// Source: vLLM 0.33.0's table (block32_table.h). The choices for an activation that the kernel
// quantizes itself are of a later version, of which no package is published: they are known at 1
// and 16 rows and not verified. Our tiers there: the known choice for 16 rows serves 2 .. 16.

#include <cstdint>
#include <optional>
#include <span>

#include "reference/gfx950/block32_table.h"

namespace lanewise::reference::gfx950 {

// The kernel for a quantized x [M, K] and w [N, K]: the first tier of the shape whose bound is not
// below m, else its last one; for shapes that are not tuned, of kBlock32Untuned.
Block32Config SelectBlock32(std::int64_t m, std::int64_t n, std::int64_t k);

// The kernel for an x to be quantized in it; nullopt: quantize separately, then SelectBlock32.
std::optional<Block32Config> SelectBlock32Quantizing(std::int64_t m, std::int64_t n,
                                                     std::int64_t k);

// The tuned shapes of the kernel that quantizes.
std::span<const Block32Entry> Block32QuantizingEntries();

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_BLOCK32_SELECTION_H_
