#include "benchmarks/device_time/device_time.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lanewise::benchmarks {
namespace {

// Milliseconds between two events around the work.
absl::StatusOr<float> TimeOnce(const Work& work, const hip::Event& begin, const hip::Event& end,
                               const hip::Stream& stream) {
  if (absl::Status status = begin.Record(stream); !status.ok()) return status;
  if (absl::Status status = work(stream); !status.ok()) return status;
  if (absl::Status status = end.Record(stream); !status.ok()) return status;
  if (absl::Status status = end.Synchronize(); !status.ok()) return status;
  return begin.MillisecondsUntil(end);
}

}  // namespace

absl::StatusOr<TimedRow> Time(const TimedCase& timed_case, const hip::Device& device, int repeats) {
  const absl::StatusOr<Work> work = timed_case.prepare(device);
  if (!work.ok()) return work.status();
  const absl::StatusOr<hip::Stream> stream = hip::Stream::Create();
  if (!stream.ok()) return stream.status();
  const absl::StatusOr<hip::Event> begin = hip::Event::Create(), end = hip::Event::Create();
  if (!begin.ok()) return begin.status();
  if (!end.ok()) return end.status();
  constexpr int kWarmUps = 3;
  std::vector<double> times;
  for (int i = -kWarmUps; i < repeats; ++i) {
    const absl::StatusOr<float> milliseconds = TimeOnce(*work, *begin, *end, *stream);
    if (!milliseconds.ok()) return milliseconds.status();
    if (i >= 0) times.push_back(1e3 * static_cast<double>(*milliseconds));
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
