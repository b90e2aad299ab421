#include "emulator/count/counters.h"

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {
namespace {

constexpr int kClasses = static_cast<int>(InstructionClass::kCount);

void AddMemory(const MemoryCounters& from, MemoryCounters& to) {
  to.bytes += from.bytes;
  to.lines += from.lines;
  to.segments += from.segments;
}

void AppendMemory(const char* name, const MemoryCounters& counters, std::string& text) {
  absl::StrAppend(&text, name, " bytes: ", counters.bytes, "\n", name,
                  " 128-byte lines: ", counters.lines, "\n", name,
                  " 64-byte segments: ", counters.segments, "\n");
}

}  // namespace

uint64_t LaunchCounters::TotalInstructions() const {
  uint64_t total = 0;
  for (const uint64_t count : instructions) total += count;
  return total;
}

void LaunchCounters::Add(const LaunchCounters& other) {
  for (int i = 0; i < kClasses; ++i) instructions[i] += other.instructions[i];
  matrix_cycles += other.matrix_cycles;
  AddMemory(other.loads, loads);
  AddMemory(other.stores, stores);
  AddMemory(other.atomics, atomics);
  scalar_load_bytes += other.scalar_load_bytes;
  lds_read_bytes += other.lds_read_bytes;
  lds_write_bytes += other.lds_write_bytes;
  lds_bank_conflicts += other.lds_bank_conflicts;
  scratch_bytes += other.scratch_bytes;
  workgroups += other.workgroups;
  waves += other.waves;
}

const char* InstructionClassName(InstructionClass klass) {
  switch (klass) {
    case InstructionClass::kScalar:
      return "scalar";
    case InstructionClass::kBranch:
      return "branch";
    case InstructionClass::kWait:
      return "wait";
    case InstructionClass::kBarrier:
      return "barrier";
    case InstructionClass::kScalarMemory:
      return "scalar memory";
    case InstructionClass::kVector:
      return "vector";
    case InstructionClass::kVectorTranscendental:
      return "vector transcendental";
    case InstructionClass::kMatrix:
      return "matrix";
    case InstructionClass::kCrossLane:
      return "cross-lane";
    case InstructionClass::kLds:
      return "LDS";
    case InstructionClass::kGlobalLoad:
      return "global load";
    case InstructionClass::kGlobalStore:
      return "global store";
    case InstructionClass::kAtomic:
      return "atomic";
    case InstructionClass::kScratch:
      return "scratch";
    case InstructionClass::kOther:
      return "other";
    case InstructionClass::kCount:
      break;
  }
  return "?";
}

std::string CountersText(const LaunchCounters& counters) {
  std::string text = absl::StrCat("workgroups: ", counters.workgroups, "\nwaves: ", counters.waves,
                                  "\ninstructions: ", counters.TotalInstructions(), "\n");
  for (int i = 0; i < kClasses; ++i) {
    const uint64_t count = counters.instructions[i];
    if (count == 0) continue;
    absl::StrAppend(&text, "  ", InstructionClassName(static_cast<InstructionClass>(i)), ": ",
                    count, "\n");
  }
  absl::StrAppend(&text, "matrix cycles: ", counters.matrix_cycles, "\n");
  AppendMemory("global load", counters.loads, text);
  AppendMemory("global store", counters.stores, text);
  AppendMemory("atomic", counters.atomics, text);
  absl::StrAppend(&text, "scalar load bytes: ", counters.scalar_load_bytes,
                  "\nLDS read bytes: ", counters.lds_read_bytes,
                  "\nLDS write bytes: ", counters.lds_write_bytes,
                  "\nLDS bank conflict cycles: ", counters.lds_bank_conflicts,
                  "\nscratch bytes: ", counters.scratch_bytes, "\n");
  absl::StrAppend(&text, "VGPRs: ", counters.vgprs, " (of them AGPRs: ", counters.agprs,
                  ")\nSGPRs: ", counters.sgprs, "\nLDS bytes: ", counters.lds_bytes,
                  "\nscratch bytes a lane: ", counters.private_bytes,
                  "\nwaves a SIMD: ", counters.waves_per_simd, "\n");
  return text;
}

}  // namespace lanewise::emulator
