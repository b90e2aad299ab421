#ifndef LANEWISE_LAYOUTS_CATALOGUE_H_
#define LANEWISE_LAYOUTS_CATALOGUE_H_

// The layouts this project knows, one entry each. Tests, benchmarks, the command and the
// documentation all loop over this list. To add one: an entry here, and its reference in reference/
// spelled out with Eigen; tests/differential compares the two.
//
// Lanes are numbered as on the GPU: lane l of a wave of 64 has lane group l / 16 and r = l % 16
// (for the 32-row instructions l / 32 and l % 32).

#include <span>
#include <string_view>

#include "layouts/layout.h"

namespace lanewise {

inline constexpr Layout kCatalogue[] = {
    {"plain",
     "byte",
     "row byte -> row byte",
     {},
     "row-major, as the source has it",
     "every checkpoint"},
    // ---- prepared weights: gfx942 ----
    {"gfx942/dense",
     "FNUZ e4m3 byte",
     "row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> tile step half group r block byte",
     {},
     "MXFP8 linears as the gfx942 GEMV loads them: a tile of 16 rows and a 128-wide K step is 2 "
     "KiB; lane "
     "16 group + r takes its first 16 bytes (blocks 0, 1) from the first KiB and its second 16 "
     "(blocks 2, "
     "3) from the second, so each 16-byte load of a wave is 1 KiB without a gap",
     "seed 000, dense_copy"},
    {"gfx942/dense_chunk_q",
     "FNUZ e4m3 byte",
     "row(tile r:16) k(step half:2 block:2 group:4 pair:4 parity:2) -> "
     "tile step half group r block parity pair",
     {},
     "gfx942/dense with the even K before the odd K in every 8-byte chunk, the order in which the "
     "FP4 "
     "conversion of the routed experts yields its bytes",
     "seed 000, dense_copy with chunk_q"},
    {"gfx942/dense_codes",
     "E8M0 code",
     "row byte -> row byte",
     {},
     "scale codes beside gfx942/dense, [N / 32, Kp / 32], each raised by one because an OCP byte "
     "read as "
     "FNUZ is half its value; 128 where K is padded",
     "seed 000, dense_copy"},
    {"gfx942/row_codes",
     "E8M0 code",
     "row byte -> row byte",
     {},
     "scale codes of the routed down weights, row-major: a lane group reads 4 whole rows",
     "seed 000, moe_copies"},
    {"gfx942/codes_tile_rounds",
     "E8M0 code",
     "row(tile r:16) k(round block:blocks) -> tile round r block",
     {},
     "scale codes of the routed up/gate weights: for each 16-row tile and round of `blocks` K "
     "blocks (8), "
     "16 x blocks bytes together, so a lane group reads the codes of its 4 rows from one line",
     "seed 000, codes_tile_rounds"},
    {"gfx942/fp4_lane_major", "packed e2m1 pair",
     "row byte(step block:4 group:4 pair:4) -> row step group block pair",
     "row byte(block:2 group:4 pair:4) -> row group block pair",
     "each row's bytes in lane order: lane group j's four dwords of a 64-byte step (128 K) stand "
     "together, "
     "so one 16-byte load a lane takes them; a last 32-byte step keeps two dwords a group",
     "seed 000, fp4_lane_major"},
    {"gfx942/fp4_tile_major", "packed e2m1 pair",
     "row(tile r:16) byte(step block:4 group:4 pair:4) -> tile step group r block pair",
     "row(tile r:16) byte(block:2 group:4 pair:4) -> tile group r block pair",
     "MXFP4 experts as the gfx942 routed GEMVs load them: 64 lanes' 16 bytes of a step in lane "
     "order, 1 KiB "
     "without a gap; a last 32-byte step with 8 bytes a lane, 512 bytes",
     "seed 000, fp4_tile_major"},
    {"gfx942/gate_up_interleave",
     "row byte or code",
     "expert half:2 row byte -> expert row half byte",
     {},
     "gate row i at 2 i and up row i at 2 i + 1, from all gate rows, then all up rows",
     "seed 000, moe_copies"},
    // ---- prepared weights: AITER's post-load order, read on gfx950 ----
    {"aiter/shuffle_weight_16x16",
     "packed e2m1 pair",
     "row(tile r:16) byte(step chunk:2 byte_in:16) -> tile step chunk r byte_in",
     {},
     "MXFP4 weights as A16W4 kernels load them: a 16-row group's 128-wide K step is 1 KiB, and "
     "lane l's 16 "
     "bytes hold row l % 16, K 32 (l / 16) .. + 32",
     "seed 002; AITER shuffle_weight(layout=(16, 16))"},
    {"aiter/e8m0_shuffle",
     "E8M0 code",
     "row(block half:2 r:16) k(step pair:2 group:4) -> block step group r pair half",
     {},
     "scale codes beside it: lane l's dword holds its row's codes of two K steps for both 16-row "
     "halves of "
     "a 32-row block",
     "seed 002; AITER e8m0_shuffle"},
    // ---- prepared weights: FlashMLA's mega-attention ----
    {"flashmla/q_fused",
     "row byte or code",
     "row(head chunk:chunks dim:16) byte -> chunk head dim byte",
     {},
     "wq_b's rows in the order in which the attention kernel reads Q: 16-element head-dim chunks "
     "interleaved across the heads; chunks = head_dim / 16",
     "seed 003, q_fused_permutation and permute_wq_b"},
    {"flashmla/o_fused",
     "e4m3 byte",
     "row column(head chunk:chunks dim:32) -> row chunk head dim",
     {},
     "wo_a's input columns in the order in which the attention kernel writes O: 32-element chunks "
     "interleaved across the heads of a group; chunks = head_dim / 32",
     "seed 003, o_fused_permutation and permute_wo_a"},
    {"flashmla/o_fused_chunk",
     "E8M0 code",
     "row column(head chunk:chunks) -> row chunk head",
     {},
     "the scale codes of wo_a, one for each 32-element chunk",
     "seed 003, o_fused_chunk_permutation"},
    // ---- matrix-core operands: memory = lane * (units a lane) + position in the lane ----
    {"mfma/gfx942_16x16x32_fp8",
     "fp8 byte",
     "row:16 k(group:4 byte:8) -> group row byte",
     {},
     "A[row][k] of v_mfma_f32_16x16x32 fp8/bf8: lane 16 (k / 8) + row, byte k % 8; B alike by "
     "column",
     "CDNA3 ISA"},
    {"mfma/gfx942_32x32x16_fp8",
     "fp8 byte",
     "row:32 k(group:2 byte:8) -> group row byte",
     {},
     "A of v_mfma_f32_32x32x16 fp8/bf8: lane 32 (k / 8) + row, byte k % 8",
     "CDNA3 ISA"},
    {"mfma/gfx942_16x16x16_bf16",
     "half",
     "row:16 k(group:4 half:4) -> group row half",
     {},
     "A of v_mfma_f32_16x16x16 bf16/f16: lane 16 (k / 4) + row, half k % 4",
     "CDNA3 ISA"},
    {"mfma/gfx942_32x32x8_bf16",
     "half",
     "row:32 k(group:2 half:4) -> group row half",
     {},
     "A of v_mfma_f32_32x32x8 bf16/f16: lane 32 (k / 4) + row, half k % 4",
     "CDNA3 ISA"},
    {"mfma/gfx950_16x16x32_bf16",
     "half",
     "row:16 k(group:4 half:8) -> group row half",
     {},
     "A of v_mfma_f32_16x16x32 bf16/f16: lane 16 (k / 8) + row, half k % 8",
     "CDNA4 ISA"},
    {"mfma/gfx950_16x16x128_fp8",
     "fp8 byte",
     "row:16 k(half:2 group:4 byte:16) -> group row half byte",
     {},
     "A of v_mfma_scale_f32_16x16x128 with 8-bit elements: lane 16 ((k / 16) % 4) + row, byte "
     "16 (k / 64) + k % 16",
     "CDNA4 ISA"},
    {"mfma/gfx950_16x16x128_fp4",
     "e2m1 nibble",
     "row:16 k(group:4 nibble:32) -> group row nibble",
     {},
     "A of v_mfma_scale_f32_16x16x128 with e2m1 elements: lane 16 (k / 32) + row, nibble k % 32",
     "CDNA4 ISA"},
    {"mfma/gfx950_32x32x64_fp8",
     "fp8 byte",
     "row:32 k(half:2 group:2 byte:16) -> group row half byte",
     {},
     "A of v_mfma_scale_f32_32x32x64 with 8-bit elements: lane 32 ((k / 16) % 2) + row, byte "
     "16 (k / 32) + k % 16",
     "CDNA4 ISA"},
    {"mfma/gfx950_32x32x64_fp4",
     "e2m1 nibble",
     "row:32 k(group:2 nibble:32) -> group row nibble",
     {},
     "A of v_mfma_scale_f32_32x32x64 with e2m1 elements: lane 32 (k / 32) + row, nibble k % 32",
     "CDNA4 ISA"},
    {"mfma/d_16x16",
     "f32",
     "row(group:4 register:4) column:16 -> group column register",
     {},
     "C and D of every 16 x 16 instruction: row 4 (lane / 16) + register, column lane % 16",
     "CDNA3 ISA"},
    {"mfma/d_32x32",
     "f32",
     "row(high:4 group:2 low:4) column:32 -> group column high low",
     {},
     "C and D of every 32 x 32 instruction: register 4 high + low holds row 8 high + 4 (lane / 32) "
     "+ low, "
     "column lane % 32",
     "CDNA3 ISA"},
};

// The entry of this tag, or nullptr.
constexpr const Layout* FindLayout(std::string_view tag) {
  for (const Layout& layout : kCatalogue) {
    if (layout.tag == tag) return &layout;
  }
  return nullptr;
}

namespace internal {
void no_layout_of_this_tag_is_in_the_catalogue();  // never defined: calling it is the compile error
}  // namespace internal

// The entry of a tag known when the program is written; another tag does not compile.
consteval const Layout& CatalogueLayout(std::string_view tag) {
  // Not by FindLayout: under -fsanitize=undefined GCC 12 does not compare its result with nullptr
  // in a constant expression.
  for (const Layout& layout : kCatalogue) {
    if (layout.tag == tag) return layout;
  }
  internal::no_layout_of_this_tag_is_in_the_catalogue();
  return kCatalogue[0];
}

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_CATALOGUE_H_
