#ifndef LANEWISE_REFERENCE_DECODE_RMS_NORM_H_
#define LANEWISE_REFERENCE_DECODE_RMS_NORM_H_

// The root-mean-square norms of the decode steps: one formula, each with the order of its own sum of
// squares, which is part of the result.
//
//   std::vector<Bf16> q(1280);
//   LANEWISE_RETURN_IF_ERROR(LatentNorm(row.first(1280), 8, q_weight, q));   // q_norm
//   LANEWISE_RETURN_IF_ERROR(LatentNorm(row.last(512), 2, kv_weight, kv));   // kv_norm
//
// Everything is float32, rounded after every operation unless fma is written; rsq is
// hardware_math.h's, where a chip's instruction may be a unit in the last place off.
//
// Source: vLLM's DeepSeek V4.1 mono decode (attention/front.py, stages/seam.py) and MiniMax M3's
// (mono/ffn.py).

#include <span>

#include "absl/status/status.h"
#include "formats/formats.h"

namespace lanewise::reference {

// y = bf16((x rstd) w) of n values.

// q_norm and kv_norm: 256 threads, thread t with the columns per_thread * t .. in order,
// (x0 x0 + x1 x1) + ..; the lanes of a wave by xor 32, 16, 8, 4, 2, 1; then (w0 + w1) + (w2 + w3).
//   rstd = rsq(sum / n + 1e-20), the division IEEE's
// per_thread is 8 for q (n = 1280), 2 for kv (n = 512). InvalidArgument unless x, weight and y have
// n values each and n is a multiple of per_thread, at most 256 * per_thread.
absl::Status LatentNorm(std::span<const Bf16> x, int per_thread, std::span<const Bf16> weight,
                        std::span<Bf16> y);

// The norm of a layer's input: 256 threads, thread t with columns 8 t + 2048 c + j, j then c, from
// +0; lanes xor 1, 2, 4, 8, 16, 32; waves xor 1, 2.
//   rstd = rsq(fma(sum, 1 / n, epsilon))
// n is 5120 and epsilon 1e-20 for V4.1; V4-Pro has 7168 and 1e-6. InvalidArgument unless x, weight
// and y have n values each and n is a multiple of 8.
absl::Status LayerNorm(std::span<const Bf16> x, std::span<const Bf16> weight, float epsilon,
                       std::span<Bf16> y);

// MiniMax M3's norm before the experts, of float32 x that was not rounded: tasks of 48 columns,
// 16 threads of 3 columns each, ((0 + x0 x0) + x1 x1) + x2 x2, lanes xor 8, 4, 2, 1; the sums of
// the 128 tasks by lanes xor 32 .. 1 in two waves, these in order from +0.
//   rstd = 1 / sqrt(sum / n + 1e-6), square root and divisions IEEE's
//   y = bf16((x rstd) (1 + w))
// InvalidArgument unless x, weight and y have 6144 values each.
absl::Status GemmaNorm(std::span<const float> x, std::span<const Bf16> weight, std::span<Bf16> y);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_RMS_NORM_H_
