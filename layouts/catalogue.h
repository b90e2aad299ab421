#ifndef LANEWISE_LAYOUTS_CATALOGUE_H_
#define LANEWISE_LAYOUTS_CATALOGUE_H_

// The layouts this project knows, one entry each, with all that is particular to them. Tests,
// benchmarks, kernels, prepared files, the command and the documentation all ask this list. To add
// one: an entry here, and its reference in reference/ spelled out with Eigen; tests/differential
// compares the two.
//
// Lanes are numbered as on the GPU: lane l of a wave of 64 has lane group l / 16 and r = l % 16
// (for the 32-row instructions l / 32 and l % 32). An entry without `lanes` is one whose kernel
// reads it by coordinates, or by rules that its source does not give.

#include <string_view>

#include "layouts/lanes.h"
#include "layouts/layout.h"

namespace lanewise {

inline constexpr Layout kCatalogue[] = {
    {.tag = "plain",
     .unit = Unit::kByte,
     .main = "row byte -> row byte",
     .prepared_format = 1,
     .purpose = "row-major, as the source has it",
     .source = "every checkpoint"},
    // ---- prepared weights: gfx942 ----
    {.tag = "gfx942/dense",
     .unit = Unit::kFnuzByte,
     .main = "row(tile r:16) k(step half:2 block:2 group:4 byte:8) -> "
             "tile step half group r block byte",
     .lanes = "lane(group:4 r:16) load(step half) byte(block byte)",
     .forbidden = Forbidden::kFnuzNan,
     .prepared_format = 1,
     .purpose = "MXFP8 linears as the gfx942 GEMV loads them: a tile of 16 rows and a 128-wide K "
                "step is 2 KiB; lane 16 group + r takes its first 16 bytes (blocks 0, 1) from the "
                "first KiB and its second 16 (blocks 2, 3) from the second, so each 16-byte load "
                "of a wave is 1 KiB without a gap",
     .source = "vLLM's gfx942 mono decode, dense_copy"},
    {.tag = "gfx942/dense_chunk_q",
     .unit = Unit::kFnuzByte,
     .main = "row(tile r:16) k(step half:2 block:2 group:4 pair:4 parity:2) -> "
             "tile step half group r block parity pair",
     .lanes = "lane(group:4 r:16) load(step half) byte(block parity pair)",
     .forbidden = Forbidden::kFnuzNan,
     .prepared_format = 1,
     .purpose = "gfx942/dense with the even K before the odd K in every 8-byte chunk, the order in "
                "which the FP4 conversion of the routed experts yields its bytes",
     .source = "vLLM's gfx942 mono decode, dense_copy with chunk_q"},
    {.tag = "gfx942/dense_codes",
     .unit = Unit::kE8m0Code,
     .main = "row byte -> row byte",
     .forbidden = Forbidden::kUnraisedCode,
     .padded_to = {1, 4, 1, 1},
     .prepared_format = 1,
     .purpose = "scale codes beside gfx942/dense, [N / 32, Kp / 32], each raised by one because an "
                "OCP byte read as FNUZ is half its value; 128 where K is padded",
     .source = "vLLM's gfx942 mono decode, dense_copy"},
    {.tag = "gfx942/row_codes",
     .unit = Unit::kE8m0Code,
     .main = "row byte -> row byte",
     .forbidden = Forbidden::kLargeCode,
     .prepared_format = 1,
     .purpose =
         "scale codes of the routed down weights, row-major: a lane group reads 4 whole rows",
     .source = "vLLM's gfx942 mono decode, moe_copies"},
    {.tag = "gfx942/codes_tile_rounds",
     .unit = Unit::kE8m0Code,
     .main = "row(tile r:16) k(round block:blocks) -> tile round r block",
     .lanes = "lane(r:4 column:16) load(round r:2) byte(r:2 block)",
     .forbidden = Forbidden::kLargeCode,
     .prepared_format = 1,
     .purpose = "scale codes of the routed up/gate weights: for each 16-row tile and round of "
                "`blocks` K blocks (8), 16 x blocks bytes together, so a lane group reads the "
                "codes of its 4 rows from one line",
     .source = "vLLM's gfx942 mono decode, codes_tile_rounds"},
    {.tag = "gfx942/fp4_lane_major",
     .unit = Unit::kE2m1Pair,
     .main = "row byte(step block:4 group:4 pair:4) -> row step group block pair",
     .lanes = "lane(group:4 row:16) load(step) byte(block pair)",
     .remainder = "row byte(block:2 group:4 pair:4) -> row group block pair",
     .remainder_lanes = "lane(group:4 row:16) byte(block pair)",
     .forbidden = Forbidden::kNegativeZeroPair,
     .prepared_format = 1,
     .purpose = "each row's bytes in lane order: lane group j's four dwords of a 64-byte step "
                "(128 K) stand together, so one 16-byte load a lane takes them; a last 32-byte "
                "step keeps two dwords a group",
     .source = "vLLM's gfx942 mono decode, fp4_lane_major"},
    {.tag = "gfx942/fp4_tile_major",
     .unit = Unit::kE2m1Pair,
     .main = "row(tile r:16) byte(step block:4 group:4 pair:4) -> tile step group r block pair",
     .lanes = "lane(group:4 r:16) load(step) byte(block pair)",
     .remainder = "row(tile r:16) byte(block:2 group:4 pair:4) -> tile group r block pair",
     .remainder_lanes = "lane(group:4 r:16) byte(block pair)",
     .forbidden = Forbidden::kNegativeZeroPair,
     .prepared_format = 1,
     .purpose = "MXFP4 experts as the gfx942 routed GEMVs load them: 64 lanes' 16 bytes of a step "
                "in lane order, 1 KiB without a gap; a last 32-byte step with 8 bytes a lane, 512 "
                "bytes",
     .source = "vLLM's gfx942 mono decode, fp4_tile_major"},
    {.tag = "gfx942/gate_up_interleave",
     .unit = Unit::kByteOrCode,
     .main = "expert half:2 row byte -> expert row half byte",
     .purpose = "gate row i at 2 i and up row i at 2 i + 1, from all gate rows, then all up rows",
     .source = "vLLM's gfx942 mono decode, moe_copies"},
    // ---- prepared weights: AITER's post-load order, read on gfx950 ----
    {.tag = "aiter/shuffle_weight_16x16",
     .unit = Unit::kE2m1Pair,
     .main = "row(tile r:16) byte(step chunk:2 byte_in:16) -> tile step chunk r byte_in",
     .lanes = "lane(step:2 chunk:2 r:16) load(step) byte(byte_in)",
     .prepared_format = 1,
     .purpose = "MXFP4 weights as A16W4 kernels load them: a 16-row group's 128-wide K step is 1 "
                "KiB, and lane l's 16 bytes hold row l % 16, K 32 (l / 16) .. + 32",
     .source = "the A16W4 decode MoE; AITER shuffle_weight(layout=(16, 16))"},
    {.tag = "aiter/e8m0_shuffle",
     .unit = Unit::kE8m0Code,
     .main = "row(block half:2 r:16) k(step pair:2 group:4) -> block step group r pair half",
     .lanes = "lane(group:4 r:16) load(step) byte(pair half)",
     .padded_to = {256, 8, 1, 1},
     .prepared_format = 1,
     .purpose = "scale codes beside it: lane l's dword holds its row's codes of two K steps for "
                "both 16-row halves of a 32-row block",
     .source = "the A16W4 decode MoE; AITER e8m0_shuffle"},
    // ---- prepared weights: FlashMLA's mega-attention, whose kernels are not public ----
    {.tag = "flashmla/q_fused",
     .unit = Unit::kByteOrCode,
     .main = "row(head chunk:chunks dim:16) byte -> chunk head dim byte",
     .prepared_format = 1,
     .purpose = "wq_b's rows in the order in which the attention kernel reads Q: 16-element "
                "head-dim chunks interleaved across the heads; chunks = head_dim / 16",
     .source = "FlashMLA's fused layout, q_fused_permutation and permute_wq_b"},
    {.tag = "flashmla/o_fused",
     .unit = Unit::kE4m3Byte,
     .main = "row column(head chunk:chunks dim:32) -> row chunk head dim",
     .prepared_format = 1,
     .purpose = "wo_a's input columns in the order in which the attention kernel writes O: "
                "32-element chunks interleaved across the heads of a group; chunks = head_dim / 32",
     .source = "FlashMLA's fused layout, o_fused_permutation and permute_wo_a"},
    {.tag = "flashmla/o_fused_chunk",
     .unit = Unit::kE8m0Code,
     .main = "row column(head chunk:chunks) -> row chunk head",
     .prepared_format = 1,
     .purpose = "the scale codes of wo_a, one for each 32-element chunk",
     .source = "FlashMLA's fused layout, o_fused_chunk_permutation"},
    // ---- matrix-core operands: memory = lane * (units a lane) + position in the lane ----
    {.tag = "mfma/gfx942_16x16x32_fp8",
     .unit = Unit::kFp8Byte,
     .main = "row:16 k(group:4 byte:8) -> group row byte",
     .lanes = "lane(group:4 row:16) byte(byte)",
     .purpose = "A[row][k] of v_mfma_f32_16x16x32 fp8/bf8: lane 16 (k / 8) + row, byte k % 8; B "
                "alike by column",
     .source = "CDNA3 ISA"},
    {.tag = "mfma/gfx942_32x32x16_fp8",
     .unit = Unit::kFp8Byte,
     .main = "row:32 k(group:2 byte:8) -> group row byte",
     .lanes = "lane(group:2 row:32) byte(byte)",
     .purpose = "A of v_mfma_f32_32x32x16 fp8/bf8: lane 32 (k / 8) + row, byte k % 8",
     .source = "CDNA3 ISA"},
    {.tag = "mfma/gfx942_16x16x16_bf16",
     .unit = Unit::kHalf,
     .main = "row:16 k(group:4 half:4) -> group row half",
     .lanes = "lane(group:4 row:16) unit(half)",
     .purpose = "A of v_mfma_f32_16x16x16 bf16/f16: lane 16 (k / 4) + row, half k % 4",
     .source = "CDNA3 ISA"},
    {.tag = "mfma/gfx942_32x32x8_bf16",
     .unit = Unit::kHalf,
     .main = "row:32 k(group:2 half:4) -> group row half",
     .lanes = "lane(group:2 row:32) unit(half)",
     .purpose = "A of v_mfma_f32_32x32x8 bf16/f16: lane 32 (k / 4) + row, half k % 4",
     .source = "CDNA3 ISA"},
    {.tag = "mfma/gfx950_16x16x32_bf16",
     .unit = Unit::kHalf,
     .main = "row:16 k(group:4 half:8) -> group row half",
     .lanes = "lane(group:4 row:16) unit(half)",
     .purpose = "A of v_mfma_f32_16x16x32 bf16/f16: lane 16 (k / 8) + row, half k % 8",
     .source = "CDNA4 ISA"},
    {.tag = "mfma/gfx950_16x16x128_fp8",
     .unit = Unit::kFp8Byte,
     .main = "row:16 k(half:2 group:4 byte:16) -> group row half byte",
     .lanes = "lane(group:4 row:16) byte(half byte)",
     .purpose = "A of v_mfma_scale_f32_16x16x128 with 8-bit elements: lane 16 ((k / 16) % 4) + "
                "row, byte 16 (k / 64) + k % 16",
     .source = "CDNA4 ISA"},
    {.tag = "mfma/gfx950_16x16x128_fp4",
     .unit = Unit::kE2m1Nibble,
     .main = "row:16 k(group:4 nibble:32) -> group row nibble",
     .lanes = "lane(group:4 row:16) unit(nibble)",
     .purpose = "A of v_mfma_scale_f32_16x16x128 with e2m1 elements: lane 16 (k / 32) + row, "
                "nibble k % 32",
     .source = "CDNA4 ISA"},
    {.tag = "mfma/gfx950_32x32x64_fp8",
     .unit = Unit::kFp8Byte,
     .main = "row:32 k(half:2 group:2 byte:16) -> group row half byte",
     .lanes = "lane(group:2 row:32) byte(half byte)",
     .purpose = "A of v_mfma_scale_f32_32x32x64 with 8-bit elements: lane 32 ((k / 16) % 2) + "
                "row, byte 16 (k / 32) + k % 16",
     .source = "CDNA4 ISA"},
    {.tag = "mfma/gfx950_32x32x64_fp4",
     .unit = Unit::kE2m1Nibble,
     .main = "row:32 k(group:2 nibble:32) -> group row nibble",
     .lanes = "lane(group:2 row:32) unit(nibble)",
     .purpose = "A of v_mfma_scale_f32_32x32x64 with e2m1 elements: lane 32 (k / 32) + row, "
                "nibble k % 32",
     .source = "CDNA4 ISA"},
    {.tag = "mfma/d_16x16",
     .unit = Unit::kFloat,
     .main = "row(group:4 register:4) column:16 -> group column register",
     .lanes = "lane(group:4 column:16) unit(register)",
     .purpose = "C and D of every 16 x 16 instruction: row 4 (lane / 16) + register, column "
                "lane % 16",
     .source = "CDNA3 ISA"},
    {.tag = "mfma/d_32x32",
     .unit = Unit::kFloat,
     .main = "row(high:4 group:2 low:4) column:32 -> group column high low",
     .lanes = "lane(group:2 column:32) unit(high low)",
     .purpose = "C and D of every 32 x 32 instruction: register 4 high + low holds row 8 high + "
                "4 (lane / 32) + low, column lane % 32",
     .source = "CDNA3 ISA"},
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

// Whether each layout's lanes read its pattern; if not, the compile error says why.
consteval bool LanesReadTheirPatterns() {
  for (const Layout& layout : kCatalogue) {
    if (layout.HasLanes()) ReportFault(FitLanes(layout.main, layout.lanes).fault);
    if (layout.HasLanes() && layout.HasRemainder()) {
      ReportFault(FitLanes(layout.remainder, layout.remainder_lanes).fault);
    }
  }
  return true;
}
static_assert(LanesReadTheirPatterns());
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

// The same tag, for code that names a layout: another one does not compile.
consteval std::string_view LayoutTag(std::string_view tag) { return CatalogueLayout(tag).tag; }

}  // namespace lanewise

#endif  // LANEWISE_LAYOUTS_CATALOGUE_H_
