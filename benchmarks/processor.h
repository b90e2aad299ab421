#ifndef LANEWISE_BENCHMARKS_PROCESSOR_H_
#define LANEWISE_BENCHMARKS_PROCESSOR_H_

// Which processor a figure was taken on, and with which of its instruction sets: a ratio to memcpy
// says little without. What a benchmark writes carries a Processor, and what draws or compares
// refuses figures that do not.
//
//   if (absl::Status status = UseInstructionSet("avx2"); !status.ok()) return status;
//   const std::string text = ThisProcessor().ToString();
//   // text: "AMD EPYC, 2 cores, L1 32 KiB, L2 512 KiB, L3 32 MiB, AVX2"

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lanewise::benchmarks {

struct Processor {
  std::string model;            // as the system names it
  int cores = 0;                // that this process may use
  std::string caches;           // "L1 32 KiB, L2 512 KiB, L3 32 MiB": what one core sees
  std::string instruction_set;  // Highway's name of the one in use: "AVX2"

  std::string ToString() const;
  friend bool operator==(const Processor&, const Processor&) = default;
};

// Of this machine; what the system does not tell is "unknown".
Processor ThisProcessor();

// Lets the vector code of this process use the instruction set of this name alone, in upper case or
// lower. InvalidArgument names those that the machine has.
absl::Status UseInstructionSet(const std::string& name);

// Those that the machine has, the best first.
std::vector<std::string> InstructionSets();

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PROCESSOR_H_
