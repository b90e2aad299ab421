#include "hip/emulator/traffic.h"

#include <string_view>

namespace lanewise::emulator {
namespace {

constexpr int kLineShift = 7;

void Add(const MemoryCounters& from, MemoryCounters& to) {
  to.bytes += from.bytes;
  to.lines += from.lines;
  to.segments += from.segments;
}

}  // namespace

AllocationTraffic Recording::Named(std::string_view name) const {
  AllocationTraffic sum;
  sum.name = std::string(name);
  for (const AllocationTraffic& each : allocations) {
    if (each.name != name) continue;
    sum.size += each.size;
    Add(each.loads, sum.loads);
    Add(each.stores, sum.stores);
    Add(each.atomics, sum.atomics);
    sum.load_instructions += each.load_instructions;
    sum.distinct_lines += each.distinct_lines;
  }
  return sum;
}

void TrafficRecorder::Note(const Allocation& allocation, Kind kind, uint64_t bytes,
                           std::span<const uint64_t> lines, uint64_t segments) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[{allocation.base, allocation.name}];
  AllocationTraffic& traffic = entry.traffic;
  const uint64_t first = allocation.base >> kLineShift;
  if (traffic.size < allocation.size || entry.loaded.empty()) {
    traffic.name = allocation.name;
    traffic.size = allocation.size;
    entry.loaded.resize(((allocation.end() + 127) >> kLineShift) - first);
  }
  MemoryCounters& counters = kind == Kind::kLoad    ? traffic.loads
                             : kind == Kind::kStore ? traffic.stores
                                                    : traffic.atomics;
  Add({bytes, lines.size(), segments}, counters);
  if (kind != Kind::kLoad) return;
  ++traffic.load_instructions;
  for (const uint64_t line : lines) {
    if (entry.loaded[line - first]) continue;
    entry.loaded[line - first] = true;
    ++traffic.distinct_lines;
  }
}

void TrafficRecorder::NoteLaunch(std::string_view kernel, const LaunchCounters& counters) {
  const std::lock_guard<std::mutex> lock(mutex_);
  launches_.push_back({std::string(kernel), counters});
}

Recording TrafficRecorder::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  Recording recording;
  recording.launches = std::move(launches_);
  for (auto& [key, entry] : entries_) recording.allocations.push_back(std::move(entry.traffic));
  launches_.clear();
  entries_.clear();
  return recording;
}

}  // namespace lanewise::emulator
