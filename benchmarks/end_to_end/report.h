#ifndef LANEWISE_BENCHMARKS_END_TO_END_REPORT_H_
#define LANEWISE_BENCHMARKS_END_TO_END_REPORT_H_

// What was measured, as a table for people and as JSON for tools.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "benchmarks/end_to_end/process.h"

namespace lanewise::benchmarks {

// One operation, once a repetition.
struct Operation {
  std::string name;
  std::vector<ProcessCost> runs;
};

struct Measured {
  std::string checkpoint;  // what it was, for the reader
  std::int64_t bytes = 0;  // of the checkpoint's files: what every rate is about
  bool cold = false;       // inputs out of the cache before each run
  std::vector<Operation> operations;
  // The operations that the others are compared to.
  std::vector<std::string> baselines;
  std::string processor;  // benchmarks/processor.h
};

// The middle one, or the mean of the two; 0 of none.
double Median(std::vector<double> values);

// Median over repetitions of the baseline's time by the operation's: above 1 is faster. Both ran in
// each repetition, one soon after the other, so that what else the machine does meets both.
double RatioTo(const Operation& operation, const Operation& baseline);

// A line an operation: median seconds, GB/s (1e9 bytes of the checkpoint), ratios to the baselines,
// processor seconds, and the largest peak of memory.
std::string Table(const Measured& measured);

// {"processor", "checkpoint", "bytes", "cold", "operations": [{"name", "median_seconds",
// "gb_per_second", "ratios": {BASELINE: ...}, "peak_bytes", "runs": [{"seconds",
// "user_seconds", "system_seconds", "peak_bytes"}]}]}
std::string Json(const Measured& measured);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_END_TO_END_REPORT_H_
