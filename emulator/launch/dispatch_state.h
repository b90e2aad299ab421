#ifndef LANEWISE_EMULATOR_LAUNCH_DISPATCH_STATE_H_
#define LANEWISE_EMULATOR_LAUNCH_DISPATCH_STATE_H_

// The state in which a kernel's waves begin: kernarg segment, scalar and vector registers, MODE.
// Source: "Initial Kernel Execution State" of LLVM's AMDGPU guide, with architected flat scratch
// and packed work-item ids as gfx942 and gfx950 have them.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "emulator/launch/launch.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {

class DispatchState {
 public:
  explicit DispatchState(const LaunchConfig& config);
  DispatchState(const DispatchState&) = delete;
  DispatchState& operator=(const DispatchState&) = delete;

  // Sets up wave `id` of workgroup (x, y, z); `shadow` is null without checks.
  void Begin(Wave& wave, int id, const Extent& workgroup, WaveShadow* shadow) const;

  // The kernarg segment and the dispatch packet, which kernels may read.
  std::vector<Allocation> Memory() const;

  int waves_per_workgroup() const { return waves_; }

 private:
  void FillKernarg();
  void FillPacket();
  int UserRegisters(Wave& wave, WaveShadow* shadow) const;

  const LaunchConfig& config_;
  int waves_ = 0;
  std::vector<uint64_t> kernarg_;  // in 8-byte units for its alignment
  std::vector<uint64_t> packet_;
  std::vector<uint64_t> queue_;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LAUNCH_DISPATCH_STATE_H_
