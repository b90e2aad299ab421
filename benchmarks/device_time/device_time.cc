#include "benchmarks/device_time/device_time.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status.h"

namespace lanewise::benchmarks {
namespace {

// Milliseconds between two events around the work.
absl::StatusOr<float> TimeOnce(const Work& work, const hip::Event& begin, const hip::Event& end,
                               const hip::Stream& stream) {
  LANEWISE_RETURN_IF_ERROR(begin.Record(stream));
  LANEWISE_RETURN_IF_ERROR(work(stream));
  LANEWISE_RETURN_IF_ERROR(end.Record(stream));
  LANEWISE_RETURN_IF_ERROR(end.Synchronize());
  return begin.MillisecondsUntil(end);
}

}  // namespace

absl::StatusOr<TimedRow> Time(const TimedCase& timed_case, const hip::Device& device, int repeats) {
  LANEWISE_ASSIGN_OR_RETURN(const Work work, timed_case.prepare(device));
  LANEWISE_ASSIGN_OR_RETURN(const hip::Stream stream, hip::Stream::Create());
  const absl::StatusOr<hip::Event> begin = hip::Event::Create(), end = hip::Event::Create();
  if (!begin.ok()) return begin.status();
  if (!end.ok()) return end.status();
  constexpr int kWarmUps = 3;
  std::vector<double> times;
  for (int i = -kWarmUps; i < repeats; ++i) {
    LANEWISE_ASSIGN_OR_RETURN(const float milliseconds, TimeOnce(work, *begin, *end, stream));
    if (i >= 0) times.push_back(1e3 * static_cast<double>(milliseconds));
  }
  std::sort(times.begin(), times.end());
  TimedRow row = {timed_case.kernel, timed_case.shape, timed_case.bytes};
  row.microseconds = times[times.size() / 2];
  row.spread = (times[times.size() * 3 / 4] - times[times.size() / 4]) / row.microseconds;
  return row;
}

std::string TimedTable(const std::vector<TimedRow>& rows) {
  std::string text =
      "| kernel | shape | bytes moved | us | spread | GB/s | of the copy |\n"
      "|---|---|--:|--:|--:|--:|--:|\n";
  for (const TimedRow& row : rows) {
    absl::StrAppend(&text, absl::StrFormat("| %s | %s | %d | %.1f | %.1f %% | %.0f | %.0f %% |\n",
                                           row.kernel, row.shape, row.bytes, row.microseconds,
                                           100 * row.spread, row.BytesPerSecond() / 1e9,
                                           100 * row.BytesPerSecond() / rows[0].BytesPerSecond()));
  }
  return text;
}

}  // namespace lanewise::benchmarks
