#ifndef LANEWISE_BENCHMARKS_END_TO_END_PROCESS_H_
#define LANEWISE_BENCHMARKS_END_TO_END_PROCESS_H_

// Whole processes, measured as a user sees them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanewise::benchmarks {

struct ProcessCost {
  double seconds = 0;  // from before its start until it has ended
  double user_seconds = 0;
  double system_seconds = 0;
  std::int64_t peak_bytes = 0;  // largest resident set, mapped files included
};

// Runs command[0], found on PATH, with the rest as arguments and its stdout discarded. An error
// names the command where it cannot be run or ends with another status than 0.
absl::StatusOr<ProcessCost> RunProcess(const std::vector<std::string>& command);

// Writes a file's dirty pages to disk and takes its pages out of the cache.
absl::Status DropFromCache(const std::string& path);

// Reads a file, so that the cache holds it.
absl::Status ReadIntoCache(const std::string& path);

// Writes `bytes` zeros to a file at `path` and removes it, so that as much memory was just freed: a
// virtual machine may have given what was free for some seconds back to its host,
// and waits for it anew.
absl::Status TouchMemory(const std::string& path, std::int64_t bytes);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_END_TO_END_PROCESS_H_
