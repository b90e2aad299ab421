#include "checkpoint/memory_budget.h"

#include <unistd.h>

#include <fstream>

namespace lanewise {

bool MemoryBudget::Take(int64_t bytes) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return closed_ || bytes <= free_ || free_ == total_; });
  if (closed_) return false;
  free_ -= bytes;
  return true;
}

void MemoryBudget::GiveBack(int64_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    free_ += bytes;
  }
  changed_.notify_all();
}

void MemoryBudget::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  if (!(statm >> size >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace lanewise
