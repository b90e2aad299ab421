#ifndef LANEWISE_TOOLS_DEMO_DECODE_STEP_H_
#define LANEWISE_TOOLS_DEMO_DECODE_STEP_H_

// The demo's decode step: a layer's MXFP4 experts and its MXFP8 shared expert are prepared for
// gfx942, their bytes go to the device, and hip/gfx942's kernels take some tokens through them.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace lanewise::tools {

struct DecodeStep {
  // DeepSeek V4.1-Flash's, by 4 ranks, but for 192 of its 576 intermediate columns and 8
  // of its 384 experts.
  std::int64_t hidden = 5120;
  std::int64_t inter = 192;  // of routed experts and the shared one
  std::int64_t experts = 8;
  std::int64_t tokens = 4;
  std::int64_t top_k = 6;
};

struct DecodeReport {
  std::string device;
  std::int64_t launches = 0;
  std::int64_t experts_used = 0;
  std::int64_t weight_bytes = 0;  // of the experts used and the shared one
  std::int64_t elements = 0;      // of the output
  std::int64_t different = 0;     // of those, from the reference
  std::string first_difference;   // or empty
};

// Works in `directory`, which exists.
absl::StatusOr<DecodeReport> RunDecodeStep(const DecodeStep& step, const std::string& directory);

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_DEMO_DECODE_STEP_H_
