#ifndef LANEWISE_EMULATOR_COUNT_TRAFFIC_H_
#define LANEWISE_EMULATOR_COUNT_TRAFFIC_H_

// Which memory launches used, allocation by allocation: what was asked for, and how many different
// lines that was. A kernel that loads each byte of its weights once asks for as many lines as the
// weights have.

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "emulator/count/counters.h"
#include "emulator/memory/allocation_map.h"

namespace lanewise::emulator {

// The bytes of one allocation over some launches. Loads of the scalar unit count as loads here, an
// instruction's one access each.
struct AllocationTraffic {
  std::string name;
  uint64_t size = 0;  // bytes
  MemoryCounters loads, stores, atomics;
  uint64_t load_instructions = 0;  // a wave's, that touch the allocation
  // Bytes loaded, lanes of one instruction that ask for the same byte counted once.
  uint64_t fetched_bytes = 0;
  uint64_t distinct_lines = 0;  // 128-byte lines that any load touched
};

struct LaunchRecord {
  std::string kernel;
  LaunchCounters counters;
};

struct Recording {
  std::vector<LaunchRecord> launches;          // in their order
  std::vector<AllocationTraffic> allocations;  // those that were touched, ascending by address

  // The traffic of all allocations of this name together.
  AllocationTraffic Named(std::string_view name) const;
};

// Gathers a Recording. Safe to use from several threads.
class TrafficRecorder {
 public:
  enum class Kind { kLoad, kStore, kAtomic };

  // One instruction's access to an allocation.
  struct Access {
    Kind kind = Kind::kLoad;
    uint64_t bytes = 0;               // that its lanes ask for
    uint64_t different_bytes = 0;     // of them
    std::span<const uint64_t> lines;  // the distinct 128-byte lines: addresses / 128
    uint64_t segments = 0;            // distinct 64-byte segments
  };
  void Note(const Allocation& allocation, const Access& access);
  void NoteLaunch(std::string_view kernel, const LaunchCounters& counters);

  Recording Take();

 private:
  struct Entry {
    AllocationTraffic traffic;
    std::vector<bool> loaded;  // a line each
  };

  std::mutex mutex_;
  // By base and name: memory that was freed may be somebody else's later.
  std::map<std::pair<uint64_t, std::string>, Entry> entries_;
  std::vector<LaunchRecord> launches_;
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_COUNT_TRAFFIC_H_
