#ifndef LANEWISE_REFERENCE_DECODE_HYPER_CONNECTION_H_
#define LANEWISE_REFERENCE_DECODE_HYPER_CONNECTION_H_

// The seam between two sublayers of DeepSeek V4.1: four residual streams instead of one
// (hyper-connections). Each seam adds the last sublayer's output to the streams, makes the next
// sublayer's input of them, and computes, from the new streams, the mixes that the next seam uses.
//
//   LANEWISE_ASSIGN_OR_RETURN(std::vector<Bf16> streams, AddToStreams(old, pending, mixes));
//   LANEWISE_ASSIGN_OR_RETURN(std::vector<Bf16> input, CollapseStreams(streams, mixes.pre));
//   // the sublayer's input is LayerNorm(input, weight, 1e-20)
//   LANEWISE_ASSIGN_OR_RETURN(mixes, ComputeMixes(streams, gate));
//
// float32, rounded after every operation unless fma is written; exp2, rcp and rsq are
// hardware_math.h's. Streams are [4][n] of one token, n the hidden size (5120).
//
// Source: vLLM's DeepSeek V4.1 mono decode (stages/seam.py), gfx942 and gfx950 alike.

#include <array>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/formats.h"

namespace lanewise::reference {

inline constexpr int kStreams = 4;

struct StreamMixes {
  std::array<float, 4> pre;    // how much of each stream goes into the next sublayer's input
  std::array<float, 4> post;   // how much of the sublayer's output goes into each stream
  std::array<float, 16> comb;  // comb[4 h + o]: how much of stream h goes into stream o
};

// streams'[o] = bf16(fma(c3, r3, ((post[o] * pending + c0 * r0) + c1 * r1) + c2 * r2)), ch being
// comb[4 h + o] and rh stream h. `pending` is the sublayer's output, summed over the ranks (SumRanks).
// InvalidArgument unless streams has 4 values for each of pending's.
absl::StatusOr<std::vector<Bf16>> AddToStreams(std::span<const Bf16> streams,
                                               std::span<const Bf16> pending,
                                               const StreamMixes& mixes);

// bf16((((0 + pre[0] s0) + pre[1] s1) + pre[2] s2) + pre[3] s3). `pre` is the PREVIOUS seam's: the one
// that the streams were made with. InvalidArgument unless there are 4 streams.
absl::StatusOr<std::vector<Bf16>> CollapseStreams(std::span<const Bf16> streams,
                                                  const std::array<float, 4>& pre);

// The projection of the mixes: rows 0 .. 3 are pre's, 4 .. 7 post's, 8 .. 23 comb's.
struct MixGate {
  std::span<const float> weight;  // [24, 4 n], columns stream by stream
  std::array<float, 3> scale;     // of pre, post and comb
  std::span<const float> bias;    // [24]
};

// The mixes of the streams' normed projections:
//   weight   hi + lo with hi = bf16(f), lo = bf16(f - hi)
//   slice    32 columns of all 4 streams, 128 K (32 stream + column): wave w of 8 takes K 16 w + 4 i
//            + j, i then j, one fma each, and the waves are added in order from +0; sq is the sum of
//            x0 x0 + x1 x1 of neighbours by lanes xor 32, 16, 8, 4, 2, 1
//   whole    8 slices in order make a group, the groups are added in order; sq likewise
//   rstd     rsq(fma(sq, 1 / (4 n), 1e-20)), v = mix * rstd
//   pre      sig(fma(v, scale[0], bias)) + 1e-6        sig(z) = 1 / (1 + exp2(-z log2e)), IEEE
//   post     2 sig(fma(v, scale[1], bias))
//   comb     z = fma(v, scale[2], bias); e = exp2((z - the row's largest) log2e); rows, then columns:
//            e = fma(e, rcp(row sum), 1e-6); e = e * rcp(column sum + 1e-6); then 19 times
//            e = e * rcp(row sum + 1e-6), e = e * rcp(column sum + 1e-6); sums are
//            (e0 + e1) + (e2 + e3)
// InvalidArgument unless n is a multiple of 256 and weight and bias fit.
absl::StatusOr<StreamMixes> ComputeMixes(std::span<const Bf16> streams, const MixGate& gate);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_HYPER_CONNECTION_H_
