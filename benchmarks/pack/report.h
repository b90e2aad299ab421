#ifndef LANEWISE_BENCHMARKS_PACK_REPORT_H_
#define LANEWISE_BENCHMARKS_PACK_REPORT_H_

// The packing table, for people and as JSON.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/processor.h"

namespace lanewise::benchmarks {

// One case at one size with a number of threads. GB/s are 1e9 bytes of half the traffic (read and
// written), which is what memcpy is rated by.
struct Row {
  std::string layout, direction, rewrite;
  std::int64_t bytes = 0;  // half the traffic
  int threads = 0;
  double gb_per_second = 0;            // of its best repetition
  double memcpy_gb_per_second = 0;     // in the same turns
  double streaming_gb_per_second = 0;  // ... and so
  double ratio = 0;                    // best to the better copy's best
  double median_ratio = 0;             // median of the ratios of each turn
  double target = 0;

  // From here on a target holds.
  static constexpr std::int64_t kTargetFrom = std::int64_t{4} << 20;
  bool BelowTarget() const {
    return bytes >= kTargetFrom * 9 / 10 && ratio < target && median_ratio < target;
  }
};

struct Report {
  Processor processor;
  std::string pages;  // "small" or "huge"
  std::string clock;  // "wall" or "processor"
  int repetitions = 0;
  std::vector<Row> rows;
};

std::string TableHeading();
std::string TableLine(const Row& row);

std::string ToJson(const Report& report);
// InvalidArgument names what is missing or is not what ToJson writes: the processor above all,
// without which the figures say nothing.
absl::StatusOr<Report> FromJson(std::string_view text);

// "4 MiB"
std::string Size(std::int64_t bytes);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PACK_REPORT_H_
