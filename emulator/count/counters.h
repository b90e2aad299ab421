#ifndef LANEWISE_EMULATOR_COUNT_COUNTERS_H_
#define LANEWISE_EMULATOR_COUNT_COUNTERS_H_

// What one launch did, counted exactly: the same on every machine and for any number of threads.

#include <cstdint>
#include <string>

#include "emulator/instruction.h"

namespace lanewise::emulator {

struct MemoryCounters {
  uint64_t bytes = 0;     // asked for by active lanes
  uint64_t lines = 0;     // distinct 128-byte lines, summed over instructions
  uint64_t segments = 0;  // distinct 64-byte segments, summed over instructions
};

struct LaunchCounters {
  // Executed by waves, whatever EXEC.
  uint64_t instructions[static_cast<int>(InstructionClass::kCount)] = {};
  uint64_t matrix_cycles = 0;  // cycles of the matrix core, by LLVM's scheduling table of the chip
  MemoryCounters loads;        // global, flat to global memory, buffer; global-to-LDS included
  MemoryCounters stores;
  MemoryCounters atomics;
  uint64_t scalar_load_bytes = 0;
  uint64_t lds_read_bytes = 0;
  uint64_t lds_write_bytes = 0;
  // Cycles beyond the conflict-free ones: lanes go in groups of 128 bytes (32 lanes of 4 bytes, 16
  // of 8, 8 of 16), 32 banks of 4 bytes; a group costs as many cycles as its busiest bank has
  // distinct dwords.
  uint64_t lds_bank_conflicts = 0;
  uint64_t scratch_bytes = 0;
  uint64_t workgroups = 0;
  uint64_t waves = 0;

  // Of the kernel, not of the run.
  int64_t vgprs = 0;  // architectural and accumulation registers together, as allocated
  int64_t agprs = 0;
  int64_t sgprs = 0;
  int64_t lds_bytes = 0;       // static and dynamic
  int64_t private_bytes = 0;   // scratch a lane
  int64_t waves_per_simd = 0;  // occupancy that registers, LDS and the workgroup's size allow

  uint64_t Count(InstructionClass klass) const { return instructions[static_cast<int>(klass)]; }
  uint64_t TotalInstructions() const;
  void Add(const LaunchCounters& other);  // the run's counts; the kernel's own stay
};

const char* InstructionClassName(InstructionClass klass);

// One counter a line, "name: value", zeros left out of the instruction classes.
std::string CountersText(const LaunchCounters& counters);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_COUNT_COUNTERS_H_
