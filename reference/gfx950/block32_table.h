#ifndef LANEWISE_REFERENCE_GFX950_BLOCK32_TABLE_H_
#define LANEWISE_REFERENCE_GFX950_BLOCK32_TABLE_H_

// What is tuned for gfx950's MXFP8 linear with 32 x 32 block scales, as data: for each weight shape
// and number of rows the tile, the split of K and how the kernel is launched. The reference selects
// from it (block32_selection.h), and kernels are instantiated from it:
//
//   template <Block32Config kConfig> __global__ void Block32(...);
//   for each entry of kBlock32Entries, for each tier of it: Block32<tier.config>
//
// This header needs nothing but the language, so that a device compiler takes it.
//
// Source: vLLM 0.33.0's table for DeepSeek V4.1 (its MXFP8 linears at tensor parallelism 2 and 4)
// and what it takes for every other shape.

#include <cstdint>

namespace lanewise::reference::gfx950 {

enum class Block32Form {
  // One program computes a block_m x block_n tile, stepping block_k along K.
  kTiled,
  // Row t of the tile is token t / pack and K panel t % pack, so that a step covers pack * block_k
  // of K: for few tokens.
  kPacked,
};

// How one block32 GEMM runs. form, block_k, pack and split decide the result's bits, the rest only
// how fast it comes.
struct Block32Config {
  Block32Form form = Block32Form::kTiled;
  int block_m = 0;
  int block_n = 0;
  int block_k = 0;
  // Packed only: panels of K side by side in the tile's rows. 1, 2 or 4.
  int pack = 1;
  // Programs that share K, at most: as many as there are runs of whole steps.
  int split = 1;
  // The split's last program adds the partial sums up itself; else a second launch does. The order
  // of addition, and so the result, is the same.
  bool fused_combine = false;
  // Rows and columns of the matrix instruction: 16 is 16x16x128, 32 is 32x32x64. By cdna4.h's
  // contract that does not show.
  int instruction = 16;
  // Waves of a program, stages of its software pipeline, waves wanted on a SIMD (0: no wish).
  int waves = 4;
  int stages = 2;
  int waves_per_simd = 0;
  // Neighbouring programs differ in their columns, not in their rows.
  bool n_first = false;

  bool operator==(const Block32Config&) const = default;
};

// The choice for up to max_m rows.
struct Block32Tier {
  std::int64_t max_m;
  Block32Config config;
};

// Tiers, their bounds ascending.
struct Block32Tiers {
  const Block32Tier* first = nullptr;
  int count = 0;

  constexpr const Block32Tier* begin() const { return first; }
  constexpr const Block32Tier* end() const { return first + count; }

  constexpr Block32Tiers() = default;
  template <int kCount>
  constexpr Block32Tiers(const Block32Tier (&tiers)[kCount]) : first(tiers), count(kCount) {}
};

// A weight shape [n, k] and its tiers. Rows beyond the last bound are served by the last tier.
struct Block32Entry {
  std::int64_t n;
  std::int64_t k;
  Block32Tiers tiers;
};

namespace block32_table {

using enum Block32Form;
inline constexpr std::int64_t kAnyM = INT64_MAX;

// Columns: M up to | form, tile of M, N, K | pack | split, fused | instruction, waves, stages,
// waves_per_simd, n_first.
//
// clang-format off
inline constexpr Block32Tier k1152x5120[] = {
    {    1, {kPacked,   8,  16, 1024, 2, 3, true,  16, 2, 2, 1, false}},
    {    2, {kPacked,   4,  32,  256, 4, 5, true,  16, 2, 2, 1, false}},
    {    4, {kPacked,   4,  32,  256, 4, 5, true,  16, 2, 2, 0, false}},
    {    8, {kPacked,   8,  16, 1024, 2, 3, true,  16, 2, 2, 0, false}},
    {   16, {kTiled,   16,  32,  512, 1, 5, true,  16, 2, 3, 0, true}},
    {   24, {kTiled,   32,  32,  512, 1, 5, true,  16, 4, 3, 1, true}},
    {   32, {kPacked,  32,  32, 1024, 1, 5, true,  16, 4, 2, 0, false}},
    {   48, {kTiled,   64,  32,  512, 1, 5, true,  16, 4, 3, 1, true}},
    {   64, {kTiled,   64,  32,  512, 1, 5, true,  16, 8, 3, 1, true}},
    {   96, {kTiled,   32,  16, 1024, 1, 1, false, 16, 2, 3, 1, true}},
    {  128, {kTiled,   64,  32,  512, 1, 3, true,  16, 8, 2, 0, true}},
    {  160, {kTiled,   64,  32,  512, 1, 2, true,  16, 8, 3, 0, true}},
    {  192, {kTiled,   32,  32, 1024, 1, 1, false, 16, 4, 2, 0, true}},
    {  256, {kTiled,   64,  32,  256, 1, 3, true,  16, 4, 3, 0, true}},
    {  320, {kTiled,   64,  32,  256, 1, 2, true,  16, 8, 3, 0, true}},
    {  384, {kTiled,   32,  32,  512, 1, 1, false, 16, 4, 2, 0, true}},
    {  512, {kTiled,   64,  64,  256, 1, 3, true,  16, 4, 2, 0, true}},
    {  768, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 0, true}},
    { 1024, {kTiled,  128, 128,  256, 1, 2, false, 16, 4, 2, 1, false}},
    { 1536, {kTiled,  128, 128,  256, 1, 2, false, 16, 4, 2, 0, false}},
    { 2048, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 0, false}},
    { 3072, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, false}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 8192, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, false}},
};
inline constexpr Block32Tier k1792x5120[] = {
    {    1, {kPacked,   8,  16, 1024, 2, 1, false, 16, 2, 3, 0, false}},
    {    8, {kPacked,   8,  16, 1024, 2, 1, false, 16, 2, 3, 1, false}},
    {   16, {kTiled,   16,  64, 1024, 1, 5, true,  16, 4, 2, 0, true}},
    {   32, {kPacked,  16,  16, 1024, 1, 1, false, 16, 2, 3, 1, false}},
    {   48, {kTiled,   64,  32,  512, 1, 4, true,  16, 8, 2, 0, true}},
    {   64, {kTiled,   64,  32,  512, 1, 4, true,  16, 8, 3, 1, true}},
    {   96, {kTiled,   64,  32,  512, 1, 2, true,  16, 8, 3, 0, true}},
    {  128, {kTiled,   64,  32,  256, 1, 4, true,  16, 4, 3, 0, true}},
    {  192, {kTiled,   64,  32,  256, 1, 3, true,  16, 4, 3, 0, true}},
    {  256, {kTiled,   64,  64,  512, 1, 2, true,  16, 4, 2, 1, true}},
    {  384, {kTiled,   64,  64,  256, 1, 3, true,  16, 4, 2, 0, true}},
    {  512, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  768, {kTiled,  128, 128,  256, 1, 2, true,  16, 4, 2, 1, true}},
    { 1024, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    { 2048, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, false}},
    { 3072, {kTiled,  128, 128,  256, 1, 1, false, 32, 8, 2, 1, false}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 16, 8, 2, 1, false}},
};
inline constexpr Block32Tier k2304x5120[] = {
    {    1, {kPacked,   8,  16, 1024, 2, 1, false, 16, 2, 3, 1, false}},
    {    8, {kPacked,   8,  16, 1024, 2, 1, false, 16, 2, 3, 0, false}},
    {   16, {kTiled,   16,  64, 1024, 1, 5, true,  16, 4, 3, 1, true}},
    {   24, {kPacked,  32,  32,  512, 1, 5, true,  16, 4, 2, 0, false}},
    {   32, {kPacked,  32,  32, 1024, 1, 3, true,  16, 4, 2, 1, false}},
    {   48, {kTiled,   64,  32,  512, 1, 3, true,  16, 8, 3, 0, true}},
    {   64, {kTiled,   64,  64,  512, 1, 5, true,  16, 8, 2, 0, true}},
    {  128, {kTiled,   64,  32,  256, 1, 3, true,  16, 4, 3, 0, true}},
    {  160, {kTiled,   64,  64,  512, 1, 2, true,  16, 8, 2, 1, true}},
    {  192, {kTiled,   64,  64,  512, 1, 2, true,  16, 4, 2, 0, true}},
    {  256, {kTiled,   64,  64,  256, 1, 3, true,  16, 4, 2, 0, true}},
    {  320, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 0, true}},
    {  384, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  512, {kTiled,  128, 128,  256, 1, 3, true,  16, 8, 2, 0, true}},
    {  768, {kTiled,  128, 128,  256, 1, 2, true,  16, 4, 2, 1, true}},
    { 1536, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 0, false}},
    { 2048, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 3072, {kTiled,  128, 128,  128, 1, 1, false, 16, 8, 2, 0, true}},
    { 4096, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, false}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 0, false}},
};
inline constexpr Block32Tier k4096x1280[] = {
    {    1, {kPacked,   4,  16,  256, 4, 1, false, 16, 4, 2, 1, false}},
    {    2, {kPacked,   4,  16,  256, 4, 1, false, 16, 4, 2, 0, false}},
    {    4, {kPacked,   4,  16,  256, 4, 1, false, 16, 4, 2, 1, false}},
    {    8, {kPacked,   8,  16,  256, 4, 1, false, 16, 4, 3, 1, false}},
    {   16, {kPacked,  16,  16,  512, 2, 1, false, 16, 2, 3, 1, false}},
    {   32, {kPacked,  32,  16, 1024, 1, 1, false, 16, 2, 3, 1, false}},
    {   64, {kTiled,   32,  32,  512, 1, 1, false, 16, 4, 3, 1, true}},
    {  128, {kTiled,   64,  32,  512, 1, 1, false, 16, 8, 3, 0, true}},
    {  192, {kTiled,   64,  32,  256, 1, 1, false, 16, 4, 3, 0, true}},
    {  256, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  384, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  512, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 0, true}},
    { 1024, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, true}},
    { 2048, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 3072, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 16, 4, 2, 0, true}},
};
inline constexpr Block32Tier k5120x576[] = {
    {    8, {kPacked,   8,  32,  256, 2, 1, false, 16, 2, 2, 1, false}},
    {   16, {kPacked,  16,  32,  512, 1, 1, false, 16, 2, 2, 0, false}},
    {   32, {kPacked,  32,  32,  256, 1, 1, false, 16, 8, 3, 1, false}},
    {   64, {kTiled,   32,  32,  128, 1, 1, false, 16, 4, 3, 0, true}},
    {   96, {kTiled,   32,  64,  256, 1, 1, false, 16, 4, 3, 0, true}},
    {  128, {kTiled,   32,  32,  256, 1, 1, false, 16, 2, 2, 0, true}},
    {  192, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 3, 0, true}},
    {  256, {kTiled,   64,  64,  256, 1, 1, false, 32, 2, 3, 1, true}},
    {  320, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  384, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 1, true}},
    {  512, {kTiled,   64,  64,  128, 1, 1, false, 32, 4, 2, 0, true}},
    {  768, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 1024, {kTiled,  128,  64,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 3072, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 0, true}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
};
inline constexpr Block32Tier k5120x1152[] = {
    {    1, {kPacked,   4,  32,  128, 4, 1, false, 16, 2, 3, 1, false}},
    {    8, {kPacked,   8,  32,  256, 2, 1, false, 16, 4, 3, 0, false}},
    {   32, {kPacked,  32,  32,  512, 1, 1, false, 16, 2, 3, 1, false}},
    {  128, {kTiled,   32,  32,  128, 1, 1, false, 16, 4, 3, 0, true}},
    {  192, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  320, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  384, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 1, true}},
    {  512, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, true}},
    {  768, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 0, true}},
    { 1024, {kTiled,  128,  64,  128, 1, 1, false, 32, 8, 2, 0, true}},
    { 1536, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 2048, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 0, true}},
    { 3072, {kTiled,  128, 256,  128, 1, 1, false, 32, 2, 2, 0, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 0, true}},
    { 8192, {kTiled,  128,  64,  128, 1, 1, false, 32, 8, 2, 1, true}},
};
inline constexpr Block32Tier k5120x2048[] = {
    {    1, {kPacked,   4,  32,  256, 4, 1, false, 16, 2, 2, 0, false}},
    {    4, {kPacked,   4,  32,  256, 4, 1, false, 16, 2, 2, 1, false}},
    {    8, {kPacked,   8,  32,  256, 4, 1, false, 16, 2, 3, 0, false}},
    {   16, {kTiled,   16,  32, 1024, 1, 1, false, 16, 2, 3, 0, true}},
    {   32, {kTiled,   32,  32,  512, 1, 1, false, 16, 4, 3, 1, false}},
    {   64, {kTiled,   32,  32,  512, 1, 1, false, 16, 4, 2, 0, true}},
    {   96, {kTiled,   32,  64,  512, 1, 1, false, 16, 8, 2, 0, true}},
    {  128, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 0, true}},
    {  192, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  320, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  384, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 0, true}},
    {  768, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 0, true}},
    { 1024, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 1536, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 2048, {kTiled,  128, 128,  256, 1, 1, false, 32, 8, 2, 1, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 32, 2, 2, 1, true}},
};
inline constexpr Block32Tier k5120x4096[] = {
    {    4, {kPacked,   4,  32,  512, 4, 1, false, 16, 2, 2, 0, false}},
    {    8, {kPacked,   8,  16,  128, 4, 2, true,  16, 2, 2, 0, false}},
    {   16, {kTiled,   16,  32,  256, 1, 4, true,  16, 2, 2, 0, true}},
    {   24, {kTiled,   32,  32,  256, 1, 4, true,  16, 4, 3, 0, true}},
    {   32, {kTiled,   32,  64,  512, 1, 3, true,  16, 8, 3, 0, true}},
    {   48, {kTiled,   64,  64,  512, 1, 3, true,  16, 8, 2, 1, true}},
    {   64, {kTiled,   64,  64,  512, 1, 3, true,  16, 8, 2, 0, true}},
    {  128, {kTiled,   64,  64,  256, 1, 3, true,  16, 4, 2, 0, true}},
    {  192, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 0, true}},
    {  256, {kTiled,  128, 128,  256, 1, 2, true,  16, 4, 2, 1, true}},
    {  320, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  384, {kTiled,  128, 128,  256, 1, 2, true,  16, 4, 2, 0, true}},
    {  768, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, true}},
    { 1024, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 1536, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 2048, {kTiled,  128, 128,  256, 1, 1, false, 32, 8, 2, 1, true}},
    { 3072, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 16, 8, 2, 1, true}},
    { 8192, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
};
inline constexpr Block32Tier k8192x1280[] = {
    {    1, {kPacked,   8,  32,  256, 2, 1, false, 16, 4, 3, 1, false}},
    {    8, {kPacked,   8,  32,  256, 2, 1, false, 16, 4, 3, 0, false}},
    {   16, {kPacked,  16,  32, 1024, 1, 1, false, 16, 2, 3, 1, false}},
    {   32, {kPacked,  32,  32,  512, 1, 1, false, 16, 2, 3, 0, false}},
    {   48, {kTiled,   64,  32,  512, 1, 1, false, 16, 8, 3, 1, true}},
    {   64, {kPacked,  32,  64,  256, 1, 1, false, 16, 4, 3, 1, false}},
    {  128, {kTiled,   64,  64,  512, 1, 1, false, 32, 4, 2, 1, true}},
    {  192, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 2, 0, true}},
    {  256, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 1, true}},
    {  384, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, true}},
    {  512, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 0, true}},
    { 1024, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 1536, {kTiled,  128, 128,  128, 1, 1, false, 16, 8, 2, 0, true}},
    { 4096, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 8192, {kTiled,  128, 256,  128, 1, 1, false, 32, 2, 2, 0, true}},
};
inline constexpr Block32Tier k16384x1280[] = {
    {    2, {kPacked,   4,  32,  128, 4, 1, false, 16, 2, 3, 1, false}},
    {    4, {kPacked,   4,  32,  128, 4, 1, false, 16, 4, 2, 0, false}},
    {    8, {kPacked,   8,  32,  256, 2, 1, false, 16, 4, 2, 0, false}},
    {   32, {kPacked,  32,  64,  256, 1, 1, false, 16, 4, 3, 1, false}},
    {   64, {kTiled,   64,  64,  256, 1, 1, false, 32, 4, 3, 1, false}},
    {  128, {kTiled,  128,  64,  256, 1, 1, false, 32, 8, 3, 0, true}},
    {  256, {kTiled,  128, 128,  256, 1, 1, false, 32, 4, 2, 1, true}},
    {  384, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    {  512, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 0, true}},
    {  768, {kTiled,  128, 128,  128, 1, 1, false, 16, 8, 2, 1, true}},
    { 1024, {kTiled,  128, 128,  128, 1, 1, false, 32, 8, 2, 1, true}},
    { 2048, {kTiled,  128, 128,  128, 1, 1, false, 32, 4, 2, 0, true}},
    { 8192, {kTiled,  128, 256,  128, 1, 1, false, 32, 2, 2, 0, true}},
};
// Every other shape.
inline constexpr Block32Tier kUntuned[] = {
    {    8, {kPacked,   8,  16,  256, 2, 1, false, 16, 2, 3, 0, false}},
    {   32, {kPacked,  32,  32,  256, 1, 1, false, 16, 2, 3, 0, false}},
    {  256, {kTiled,   64,  64,  256, 1, 1, false, 16, 4, 2, 0, true}},
    {kAnyM, {kTiled,  128, 128,  128, 1, 1, false, 16, 4, 2, 0, true}},
};
// clang-format on

}  // namespace block32_table

// The tuned shapes.
inline constexpr Block32Entry kBlock32Entries[] = {
    {1152, 5120, block32_table::k1152x5120}, {1792, 5120, block32_table::k1792x5120},
    {2304, 5120, block32_table::k2304x5120}, {4096, 1280, block32_table::k4096x1280},
    {5120, 576, block32_table::k5120x576},   {5120, 1152, block32_table::k5120x1152},
    {5120, 2048, block32_table::k5120x2048}, {5120, 4096, block32_table::k5120x4096},
    {8192, 1280, block32_table::k8192x1280}, {16384, 1280, block32_table::k16384x1280},
};

// The tiers of every other shape. The last one has no bound.
inline constexpr Block32Tiers kBlock32Untuned = block32_table::kUntuned;

}  // namespace lanewise::reference::gfx950

#endif  // LANEWISE_REFERENCE_GFX950_BLOCK32_TABLE_H_
