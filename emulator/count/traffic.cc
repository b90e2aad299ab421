#include "emulator/count/traffic.h"

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
    sum.fetched_bytes += each.fetched_bytes;
    sum.distinct_lines += each.distinct_lines;
  }
  return sum;
}

void TrafficRecorder::Note(const Allocation& allocation, const Access& access) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Entry& entry = entries_[{allocation.base, allocation.name}];
  AllocationTraffic& traffic = entry.traffic;
  const uint64_t first = allocation.base >> kLineShift;
  if (traffic.size < allocation.size || entry.loaded.empty()) {
    traffic.name = allocation.name;
    traffic.size = allocation.size;
    entry.loaded.resize(((allocation.end() + 127) >> kLineShift) - first);
  }
  MemoryCounters& counters = access.kind == Kind::kLoad    ? traffic.loads
                             : access.kind == Kind::kStore ? traffic.stores
                                                           : traffic.atomics;
  Add({access.bytes, access.lines.size(), access.segments}, counters);
  if (access.kind != Kind::kLoad) return;
  ++traffic.load_instructions;
  traffic.fetched_bytes += access.different_bytes;
  for (const uint64_t line : access.lines) {
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
