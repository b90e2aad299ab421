#ifndef LANEWISE_WEIGHTS_EXPERT_SOURCE_H_
#define LANEWISE_WEIGHTS_EXPERT_SOURCE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Routed MXFP4 experts, wherever a checkpoint keeps them: fused or one tensor an expert, gate and
// up apart, interleaved or one after the other. The functions say where a row of an expert begins
// and where its codes do; packed e2m1 rows hold two elements a byte, low nibble first, and have one
// code for 32 elements.
//
// A tensor-parallel part is a source of its own: its functions name the part's experts, and its
// rows of gate and up or its columns of down.
struct GateUpSource {
  using Place = std::function<RowPlace(std::int64_t expert, int half, std::int64_t i)>;

  std::int64_t experts = 0;
  std::int64_t hidden = 0;  // columns
  std::int64_t inter = 0;   // rows of gate and rows of up
  // Row i of gate (half 0) or up (half 1): hidden / 2 bytes, and hidden / 32 codes.
  Place rows;
  Place codes;
};

struct DownSource {
  using Place = std::function<RowPlace(std::int64_t expert, std::int64_t i)>;

  std::int64_t experts = 0;
  std::int64_t out = 0;    // rows
  std::int64_t inter = 0;  // columns
  // Row i: inter / 2 bytes, and inter / 32 codes.
  Place rows;
  Place codes;
};

// InvalidArgument unless hidden and inter are multiples of 32, out is one of 16 and nothing is
// negative.
absl::Status CheckExperts(const GateUpSource& source);
absl::Status CheckExperts(const DownSource& source);

// The order of the w13 rows in memory: i-th gate and up rows side by side, or all gate rows, then
// all up.
enum class GateUpRowOrder { kInterleaved, kGateThenUp };

// Row `row` of [experts, 2 padded_inter] rows in that order, padded beyond `inter`.
std::function<RowPlace(std::int64_t row)> GateUpRows(const GateUpSource::Place& place,
                                                     GateUpRowOrder order, std::int64_t inter,
                                                     std::int64_t padded_inter);

// Row `row` of [experts, out] rows.
std::function<RowPlace(std::int64_t row)> DownRows(const DownSource::Place& place,
                                                   std::int64_t out);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_EXPERT_SOURCE_H_
