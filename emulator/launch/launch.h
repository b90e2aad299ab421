#ifndef LANEWISE_EMULATOR_LAUNCH_LAUNCH_H_
#define LANEWISE_EMULATOR_LAUNCH_LAUNCH_H_

// Executes a kernel over a grid of workgroups.
//
// Workgroups run on several host threads. Where their order could show in the result (atomics that
// return a value or add floats, loads that watch what other workgroups write), they run one after
// the other in ascending order, each for a fixed number of instructions at most before the next one
// gets a turn (Schedule), so that a workgroup may wait for another. So a launch's results, its counters and
// the failure it reports do not depend on the number of threads. What workgroups race for by plain
// stores is undefined, as on the device.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/checks.h"
#include "emulator/count/counters.h"
#include "emulator/count/traffic.h"
#include "emulator/load/code_object.h"
#include "emulator/memory/allocation_map.h"

namespace lanewise::emulator {

struct Extent {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t Count() const { return uint64_t{x} * y * z; }
};

// Prints each instruction of one wave.
struct TraceOptions {
  std::FILE* out = nullptr;  // no trace where null
  uint64_t workgroup = 0;    // x fastest
  int wave = 0;
};

// Whose turn it is. Turns are short, since on a device all waves run at once: kernels rely on it, as
// where one workgroup clears what others add to later. A wave also gives up its turn at s_sleep, and
// where it branches backward having looked at memory that others write (LDS, atomics, loads past the
// caches) and stored nothing; a workgroup whose waves all do so gives up its own.
struct Schedule {
  uint64_t turn = 32;          // instructions of a wave before the workgroup's next wave has a turn
  uint64_t group_turn = 1024;  // of a workgroup before the next one, where workgroups run in order
  // With a seed, workgroups and waves take turns in a random order and of random lengths, the same
  // for the same seed: a way to find what depends on the schedule. One workgroup runs at a time.
  std::optional<uint64_t> seed;
};

struct LaunchConfig {
  const CodeObject* object = nullptr;
  const Kernel* kernel = nullptr;
  Extent grid;   // workgroups
  Extent block;  // work-items of a workgroup
  uint32_t dynamic_lds = 0;
  std::span<const uint8_t> arguments;  // the explicit part of the kernarg segment
  std::vector<Allocation> memory;      // what the kernel may access, its own image apart
  Checks checks = kAllChecks;
  int threads = 0;  // 0: one for each processor
  TraceOptions trace;
  Schedule schedule;
  // What runs longer fails where it then is; none: it may.
  std::optional<std::chrono::steady_clock::duration> time_limit;
  TrafficRecorder* traffic = nullptr;  // notes each access, where there is one
};

// Runs to the end, or to the first failure in ascending order of workgroups: a fault or a report of
// the checker, with kernel, workgroup, wave, pc, source line and instruction.
absl::StatusOr<LaunchCounters> Launch(const LaunchConfig& config);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LAUNCH_LAUNCH_H_
