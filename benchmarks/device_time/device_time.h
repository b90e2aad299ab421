#ifndef LANEWISE_BENCHMARKS_DEVICE_TIME_DEVICE_TIME_H_
#define LANEWISE_BENCHMARKS_DEVICE_TIME_DEVICE_TIME_H_

// How long kernels take on a card, by the device's own events, beside a copy by the driver.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"

namespace lanewise::benchmarks {

// Queues the work once; owns the memory it needs.
using Work = std::function<absl::Status(const hip::Stream&)>;

struct TimedCase {
  std::string kernel;  // "quantize e4m3fn"
  std::string shape;   // "bf16 65536 x 5120"
  int64_t bytes = 0;   // read and written, each once
  // Allocates on the device, which is current, and fills with random bytes.
  std::function<absl::StatusOr<Work>(const hip::Device&)> prepare;
};

struct TimedRow {
  std::string kernel, shape;
  int64_t bytes = 0;
  double microseconds = 0;  // the median
  double spread = 0;        // from the first to the third quartile, as a share of the median
  double BytesPerSecond() const { return 1e6 * static_cast<double>(bytes) / microseconds; }
};

// The driver's own copy first, then hip/common's kernels: weights and activations of `rows` times
// 5120, a multiple of 128.
std::vector<TimedCase> TimedCases(int64_t rows);

// Three launches that nobody times, then `repeats`, each between two events.
absl::StatusOr<TimedRow> Time(const TimedCase& timed_case, const hip::Device& device, int repeats);

// The rows as a Markdown table, GB/s also as a share of the first row's, the copy.
std::string TimedTable(const std::vector<TimedRow>& rows);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_DEVICE_TIME_DEVICE_TIME_H_
