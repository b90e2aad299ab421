#ifndef LANEWISE_WEIGHTS_EXPERT_SOURCE_H_
#define LANEWISE_WEIGHTS_EXPERT_SOURCE_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weights/tensor_plan.h"

namespace lanewise {

// Routed MXFP4 experts, wherever a checkpoint keeps them: fused or one tensor an expert, gate and up apart,
// interleaved or one after the other. Each function says where a row begins; packed e2m1 rows hold two
// elements a byte, low nibble first, and each row has one scale code for 32 elements.
//
// A tensor-parallel part takes intermediate columns inter_begin .. + inter: rows of gate and up, columns of
// down. The functions already name its experts.
struct ExpertSource {
  std::int64_t experts = 0;
  std::int64_t hidden = 0;  // K of gate and up
  std::int64_t inter = 0;   // rows of gate, of up, and K of down: the part's
  std::int64_t out = 0;     // rows of down

  // Row i of the gate (half 0) or up (half 1) weight of an expert, hidden / 2 bytes; its codes, hidden / 32.
  std::function<RowPlace(std::int64_t expert, int half, std::int64_t i)> w13;
  std::function<RowPlace(std::int64_t expert, int half, std::int64_t i)> w13_codes;
  // Row i of the down weight, inter / 2 bytes from the part's first column on; its codes, inter / 32.
  std::function<RowPlace(std::int64_t expert, std::int64_t i)> w2;
  std::function<RowPlace(std::int64_t expert, std::int64_t i)> w2_codes;
};

struct ExpertPlans {
  TensorPlan w13;
  TensorPlan w13_codes;
  TensorPlan w2;
  TensorPlan w2_codes;
};

// InvalidArgument unless hidden and inter are multiples of 32 and nothing is negative.
absl::Status CheckExpertSource(const ExpertSource& source);

// The order of the w13 rows in memory: i-th gate and up rows side by side, or all gate rows, then all up.
enum class GateUpOrder { kInterleaved, kGateThenUp };

// Row `row` of [experts, 2 padded_inter] rows in that order, padded beyond `inter`.
std::function<RowPlace(std::int64_t row)> GateUpRows(
    const std::function<RowPlace(std::int64_t, int, std::int64_t)>& place, GateUpOrder order,
    std::int64_t inter, std::int64_t padded_inter);

// Row `row` of [experts, out] rows.
std::function<RowPlace(std::int64_t row)> DownRows(
    const std::function<RowPlace(std::int64_t, std::int64_t)>& place, std::int64_t out);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_EXPERT_SOURCE_H_
