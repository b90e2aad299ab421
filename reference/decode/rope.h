#ifndef LANEWISE_REFERENCE_DECODE_ROPE_H_
#define LANEWISE_REFERENCE_DECODE_ROPE_H_

// Rotary position embedding of the decode steps: neighbouring values are a pair (GPT-J's order).
//
//   // the last 64 of a query head's 512 values, at position p of a table of 64 floats a row
//   LANEWISE_RETURN_IF_ERROR(Rope(head.subspan(448), table.subspan(64 * p, 64)));
//
//   pair i   a = x[2i], b = x[2i + 1], c = cos_sin[i], s = cos_sin[n / 2 + i]      n values
//   forward  x[2i] = a c - b s        x[2i + 1] = a s + b c
//   inverse  x[2i] = a c + b s        x[2i + 1] = b c - a s
// in float32: four products and two sums, each rounded, none fused. What is rounded to bf16 before
// and after is the caller's: queries and keys are, what goes back before wo_a is not.
//
// Source: vLLM's DeepSeek V4.1 mono decode (attention/front.py, attention/back.py).

#include <span>

#include "absl/status/status.h"

namespace lanewise::reference {

// Rotates `values` in place. InvalidArgument unless their number is even and cos_sin has as many.
absl::Status Rope(std::span<float> values, std::span<const float> cos_sin);
absl::Status InverseRope(std::span<float> values, std::span<const float> cos_sin);

// A whole head of which only the last cos_sin.size() values are rotated: the kernels for the KV
// record and for the attention's output rotate the pairs before them too, by cosine 1 and sine 0,
// which changes no number but the sign of a zero, and makes the neighbour of an infinity NaN.
// InvalidArgument also if there are fewer values than that.
absl::Status RopeOfHead(std::span<float> head, std::span<const float> cos_sin);
absl::Status InverseRopeOfHead(std::span<float> head, std::span<const float> cos_sin);

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_DECODE_ROPE_H_
