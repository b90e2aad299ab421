#ifndef LANEWISE_EMULATOR_MEMORY_ALLOCATION_MAP_H_
#define LANEWISE_EMULATOR_MEMORY_ALLOCATION_MAP_H_

// Which host memory belongs to the emulated devices. A device address is a host address.

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::emulator {

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0;
  std::string name;

  uint64_t end() const { return base + size; }
};

// A fixed view for one launch, ascending by base, without overlaps.
class AllocationSnapshot {
 public:
  AllocationSnapshot() = default;
  explicit AllocationSnapshot(std::vector<Allocation> allocations);

  // The allocation that holds all of [address, address + bytes), or nullptr.
  const Allocation* Find(uint64_t address, uint64_t bytes) const;

  // For messages: where `address` lies with respect to the nearest allocation.
  std::string Describe(uint64_t address) const;

 private:
  std::vector<Allocation> allocations_;
};

// All live allocations of the process. Safe to use from several threads.
class AllocationMap {
 public:
  void Insert(uint64_t base, uint64_t size, std::string_view name);
  // False where no allocation begins there.
  bool Remove(uint64_t base);
  bool Rename(uint64_t base, std::string_view name);
  // The allocation around an address; size 0 where there is none.
  Allocation Around(uint64_t address) const;
  std::vector<Allocation> All() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Allocation> allocations_;  // ascending by base
};

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_MEMORY_ALLOCATION_MAP_H_
