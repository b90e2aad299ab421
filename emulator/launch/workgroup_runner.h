#ifndef LANEWISE_EMULATOR_LAUNCH_WORKGROUP_RUNNER_H_
#define LANEWISE_EMULATOR_LAUNCH_WORKGROUP_RUNNER_H_

// Executes one workgroup, wave by wave, as far as barriers and a budget of instructions let it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "emulator/launch/dispatch_state.h"
#include "emulator/launch/launch.h"
#include "emulator/launch/random.h"
#include "emulator/machine/wave.h"
#include "emulator/machine/workgroup.h"

namespace lanewise::emulator {

class WorkgroupRunner {
 public:
  enum class Result { kDone, kFailed, kTurnOver };

  // `begin` is when the launch began: LaunchConfig::time_limit counts from there.
  WorkgroupRunner(const LaunchConfig& config, const DispatchState& dispatch,
                  const AllocationSnapshot& memory, std::chrono::steady_clock::time_point begin);

  // Begins workgroup `index` (x fastest). The runner may have run another one before.
  void Begin(uint64_t index);

  // Continues for about `budget` instructions, less where every wave waits for something that is
  // not there. Waves take turns (Schedule).
  Result Run(uint64_t budget);

  uint64_t index() const { return index_; }
  // After kFailed: where and why.
  std::string Failure() const;
  // Of all workgroups this runner has run.
  const LaunchCounters& counters() const { return context_.counters; }

 private:
  // What came of one turn of each wave.
  struct Round {
    bool alive = false;     // a wave has not ended
    bool running = false;   // a wave is not at a barrier either
    bool progress = false;  // a wave did something but wait
  };
  Round RunRound();
  void RunWave(Wave& wave, uint64_t budget);
  template <bool kChecking>
  void RunInstructions(Wave& wave, uint64_t budget);
  static void NoteBackward(Wave& wave);
  void RunIndexed(Wave& wave, const Instruction& inst);
  void Trace(const Wave& wave, const Instruction& inst) const;
  void ReleaseBarrier();
  void CheckTime(Wave& wave) const;

  const LaunchConfig& config_;
  const DispatchState& dispatch_;
  const std::chrono::steady_clock::time_point begin_;
  WorkgroupContext context_;
  std::vector<std::unique_ptr<Wave>> waves_;
  uint64_t index_ = 0;
  Extent id_;
  int failed_wave_ = -1;
  SplitMix random_;  // of this workgroup, where the schedule has a seed
  uint64_t rounds_ = 0;
  uint32_t failed_pc_ = 0;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LAUNCH_WORKGROUP_RUNNER_H_
