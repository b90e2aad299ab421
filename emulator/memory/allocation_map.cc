#include "emulator/memory/allocation_map.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {
namespace {

bool BaseBefore(const Allocation& a, const Allocation& b) { return a.base < b.base; }

// The first allocation that begins after `address`.
std::vector<Allocation>::const_iterator After(const std::vector<Allocation>& allocations,
                                              uint64_t address) {
  return std::upper_bound(allocations.begin(), allocations.end(), address,
                          [](uint64_t value, const Allocation& a) { return value < a.base; });
}

}  // namespace

AllocationSnapshot::AllocationSnapshot(std::vector<Allocation> allocations)
    : allocations_(std::move(allocations)) {
  std::sort(allocations_.begin(), allocations_.end(), BaseBefore);
}

const Allocation* AllocationSnapshot::Find(uint64_t address, uint64_t bytes) const {
  const auto after = After(allocations_, address);
  if (after == allocations_.begin()) return nullptr;
  const Allocation& candidate = *(after - 1);
  const uint64_t offset = address - candidate.base;
  return offset <= candidate.size && bytes <= candidate.size - offset ? &candidate : nullptr;
}

std::string AllocationSnapshot::Describe(uint64_t address) const {
  const auto after = After(allocations_, address);
  const Allocation* below = after == allocations_.begin() ? nullptr : &*(after - 1);
  const Allocation* above = after == allocations_.end() ? nullptr : &*after;
  if (below == nullptr && above == nullptr) return "there is no allocation at all";
  const uint64_t past = below == nullptr || address < below->end() ? 0 : address - below->end();
  if (below != nullptr && address < below->end()) {
    return absl::StrCat("it reaches past the end of ", below->name, ", from byte ",
                        address - below->base, " of ", below->size);
  }
  if (below != nullptr && (above == nullptr || past <= above->base - address)) {
    return absl::StrCat("the nearest is ", below->name, " of ", below->size, " bytes, which ends ",
                        past, " bytes before");
  }
  return absl::StrCat("the nearest is ", above->name, " of ", above->size, " bytes, which begins ",
                      above->base - address, " bytes after");
}

void AllocationMap::Insert(uint64_t base, uint64_t size, std::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Allocation allocation{base, size, std::string(name)};
  allocations_.insert(After(allocations_, base), std::move(allocation));
}

bool AllocationMap::Remove(uint64_t base) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto after = After(allocations_, base);
  if (after == allocations_.begin() || (after - 1)->base != base) return false;
  allocations_.erase(after - 1);
  return true;
}

bool AllocationMap::Rename(uint64_t base, std::string_view name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Allocation& allocation : allocations_) {
    if (allocation.base == base) {
      allocation.name = name;
      return true;
    }
  }
  return false;
}

Allocation AllocationMap::Around(uint64_t address) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto after = After(allocations_, address);
  if (after == allocations_.begin()) return {};
  const Allocation& candidate = *(after - 1);
  return address < candidate.end() ? candidate : Allocation{};
}

std::vector<Allocation> AllocationMap::All() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return allocations_;
}

}  // namespace lanewise::emulator
