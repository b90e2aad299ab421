#ifndef LANEWISE_REFERENCE_DECODE_ROUTER_H_
#define LANEWISE_REFERENCE_DECODE_ROUTER_H_

// Which experts a token goes to, and with what weight: the routers of the decode steps.
//
//   LANEWISE_ASSIGN_OR_RETURN(const std::vector<float> logits,
//                             DeepSeekLogits(x, gate, 384, RouterChip::kGfx950));
//   LANEWISE_ASSIGN_OR_RETURN(const Picks picks, DeepSeekRoute(logits, bias, 6));
//
// exp2, log2 and rcp are hardware_math.h's, the nearest float32; a chip's may be a unit in the last
// place off, so there a kernel's weights, and picks of nearly equal scores, may differ from these.
//
// Source: vLLM's DeepSeek V4.1 mono decode (stages/router.py, stages/moe.py) and MiniMax M3's
// (mono/ffn.py).

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/formats.h"

namespace lanewise::reference {

// A token's picks, in the order they were made.
struct Picks {
  std::vector<std::int32_t> experts;
  std::vector<float> weights;
};

// Whose matrix core multiplies.
enum class RouterChip { kGfx942, kGfx950 };

// The float32 logits [experts] of a token's normed row x [K] bf16 and a bf16 gate [experts, K].
//   K in 4 contiguous parts; in a part wave w of 8 takes its steps of 32 w, w + 8, ..; a step is
//   v_mfma_f32_16x16x32_bf16 on gfx950, and on gfx942 two of 16x16x16: first K 8 j + 0 .. 3 of the
//   step for j = 0 .. 3, then 8 j + 4 .. 7. Waves in order from +0, then parts in order from +0.
// InvalidArgument unless gate has experts * K values and K is a multiple of 1024.
absl::StatusOr<std::vector<float>> DeepSeekLogits(std::span<const Bf16> x,
                                                  std::span<const Bf16> gate, std::int64_t experts,
                                                  RouterChip chip);

// DeepSeek V4.1's route: top_k of score + bias.
//   score  sqrt(x) above 20, else sqrt(log2(1 + exp2(x log2e)) ln2)
//   pick   lane l of 64 has experts l, l + 64, .., which a sorting network brings into falling order
//          of score + bias: of equal ones the network's place counts (kSortingNetwork in the .cc),
//          not the expert's number. A pick is the largest of the lanes' first ones; of equal ones
//          the lowest lane wins.
//   weight score * (1.5 / max(sum of the picked scores, 1e-20)), the sum in pick order
// NaN: a maximum with a NaN is NaN, and no lane equals it, so that lane 0 wins whatever it holds.
// One NaN among the lanes' first ones therefore makes all the picks lane 0's, in its order, as long as
// it has any; then expert 0 with weight 0. A NaN itself weighs 0. InvalidArgument unless logits and
// bias have 128 or 384 values and 1 <= top_k <= 64.
absl::StatusOr<Picks> DeepSeekRoute(std::span<const float> logits, std::span<const float> bias,
                                    int top_k);

// The float32 logits [128] of a token's normed row x [6144] bf16 and a float32 gate [128, 6144].
//   16 parts of 384; in a part wave w of 8 has 48 columns, of which v_mfma_f32_16x16x4_f32 number
//   4 c + i (c < 3, i < 4) takes K 16 c + 4 j + i, j = 0 .. 3, one fma each. Waves in order from +0;
//   then four sums of 4 parts in order, each from +0, and those in order from +0.
// InvalidArgument for other sizes.
absl::StatusOr<std::vector<float>> MiniMaxLogits(std::span<const Bf16> x,
                                                 std::span<const float> gate);

// MiniMax M3's route: s = rcp(1 + exp2(-x log2e)); the top_k of s + bias, NaN as -infinity, of equal
// ones the lower expert; weight s * (2 / max(sum of the picked s, 1e-20)), the sum in pick order. A
// NaN s weighs 0. InvalidArgument unless logits and bias have 128 values and 1 <= top_k <= 128.
absl::StatusOr<Picks> MiniMaxRoute(std::span<const float> logits, std::span<const float> bias,
                                   int top_k);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_ROUTER_H_
