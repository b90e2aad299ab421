#ifndef LANEWISE_WEIGHTS_GFX942_EXPERTS_H_
#define LANEWISE_WEIGHTS_GFX942_EXPERTS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weights/expert_source.h"
#include "weights/linear_source.h"

namespace lanewise::gfx942 {

struct ExpertOptions {
  // The sizes in memory: multiples of these, padded with zero nibbles and code 127. 1: no padding.
  std::int64_t hidden_multiple = 256;
  std::int64_t inter_multiple = 64;
  // The first scale code that is refused; 256: none. A kernel adds the weight's and the
  // activation's code in one exponent field, which codes of 250 and more overflow.
  int first_refused_code = 250;
};

// The copies that the gfx942 routed GEMVs read, without -0 nibbles; Kp and Ip are the padded sizes:
//   w13        gfx942/fp4_tile_major     [E, 2 Ip, Kp / 2], gate row i at 2 i and up row i at 2 i +
//   1 w13_codes  gfx942/codes_tile_rounds  [E, 2 Ip, Kp / 32], rounds of 8 blocks w2
//   gfx942/fp4_tile_major     [E, out, Ip / 2] w2_codes   gfx942/row_codes          [E, out, Ip /
//   32]
// Source: seed 000, moe_copies; reference/gfx942/moe.h says it element by element.
//
// InvalidArgument where the (padded) sizes do not fit the layouts: Kp and Ip multiples of 64, Kp /
// 32 of 8, out of 16.
absl::StatusOr<WeightPlans> PlanGateUp(const GateUpSource& source, const ExpertOptions& options);
absl::StatusOr<WeightPlans> PlanDown(const DownSource& source, const ExpertOptions& options);

// The plain expert tensors of vLLM, padded with zeros from `inter` to `padded_inter`, w13's gate
// rows before its up rows.
struct PlainExperts {
  std::int64_t experts = 0;
  std::int64_t hidden = 0;
  std::int64_t inter = 0;
  std::int64_t padded_inter = 0;
  std::int64_t out = 0;

  // Sources: {w13 [E, 2 padded_inter, hidden / 2], its codes}, and {w2 [E, out, padded_inter / 2],
  // its codes}.
  GateUpSource GateUp() const;
  DownSource Down() const;

  // Refuses padding that is not zero: InvalidArgument names the tensor and the first coordinate.
  // The plans never read it.
  absl::Status CheckPadding(std::span<const std::uint8_t> w13,
                            std::span<const std::uint8_t> w2) const;
};

}  // namespace lanewise::gfx942

#endif  // LANEWISE_WEIGHTS_GFX942_EXPERTS_H_
