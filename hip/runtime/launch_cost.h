#ifndef LANEWISE_HIP_RUNTIME_LAUNCH_COST_H_
#define LANEWISE_HIP_RUNTIME_LAUNCH_COST_H_

// What a launcher's work costs in memory traffic, as its Cost(problem) says it beforehand: each
// byte counted once, however often caches serve it again.

#include <cstdint>

namespace lanewise::hip {

struct LaunchCost {
  int64_t weight_bytes = 0;      // read: prepared weights with their scale codes
  int64_t activation_bytes = 0;  // read: everything else
  int64_t output_bytes = 0;      // written
  int64_t workspace_bytes = 0;   // memory the caller provides beside the operands
  int64_t launches = 0;          // kernels queued

  int64_t TotalBytes() const { return weight_bytes + activation_bytes + output_bytes; }
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_LAUNCH_COST_H_
