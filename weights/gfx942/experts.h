#ifndef LANEWISE_WEIGHTS_GFX942_EXPERTS_H_
#define LANEWISE_WEIGHTS_GFX942_EXPERTS_H_

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "weights/expert_source.h"

namespace lanewise::gfx942 {

struct ExpertOptions {
  // The sizes in memory: multiples of these, padded with zero nibbles and code 127. 1: no padding.
  std::int64_t hidden_multiple = 256;
  std::int64_t inter_multiple = 64;
  // The first scale code that is refused; 256: none. A kernel adds the weight's and the activation's code
  // in one exponent field, which codes of 250 and more overflow.
  int first_refused_code = 250;
};

// The copies that the gfx942 routed GEMVs read, without -0 nibbles; Kp and Ip are the padded sizes:
//   w13        gfx942/fp4_tile_major     [E, 2 Ip, Kp / 2], gate row i at 2 i and up row i at 2 i + 1
//   w13_codes  gfx942/codes_tile_rounds  [E, 2 Ip, Kp / 32], rounds of 8 blocks
//   w2         gfx942/fp4_tile_major     [E, out, Ip / 2]
//   w2_codes   gfx942/row_codes          [E, out, Ip / 32]
// Source: seed 000, moe_copies; reference/gfx942/moe.h says it element by element.
//
// InvalidArgument where the (padded) sizes do not fit the layouts: Kp and Ip multiples of 64, Kp / 32 of 8,
// out of 16.
absl::StatusOr<ExpertPlans> PlanExperts(const ExpertSource& source, const ExpertOptions& options);

// The plain expert tensors of vLLM, padded from `inter` to padded_inter: sources {w13 [E, 2 padded_inter,
// hidden / 2], its codes, w2 [E, out, padded_inter / 2], its codes}, w13's gate rows before its up rows.
ExpertSource PlainExperts(std::int64_t experts, std::int64_t hidden, std::int64_t inter,
                          std::int64_t padded_inter, std::int64_t out);

// Refuses padding of those tensors that is not zero: InvalidArgument names the tensor and the first
// coordinate. Their plans never read it.
absl::Status CheckPlainPadding(std::span<const std::uint8_t> w13, std::span<const std::uint8_t> w2,
                               const ExpertSource& source, std::int64_t padded_inter);

}  // namespace lanewise::gfx942

#endif  // LANEWISE_WEIGHTS_GFX942_EXPERTS_H_
