#ifndef LANEWISE_CHECKPOINT_MEMORY_BUDGET_H_
#define LANEWISE_CHECKPOINT_MEMORY_BUDGET_H_

// How much memory work in flight may hold, and how much this process holds.

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace lanewise {

// Counts bytes that are taken before they are used and given back after. From any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(int64_t bytes) : total_(bytes), free_(bytes) {}

  int64_t total() const { return total_; }

  // Waits until `bytes` are free and takes them; at once where nothing is taken, so that what is
  // larger than the whole budget still passes, alone. False after Close, taking nothing.
  bool Take(int64_t bytes);
  void GiveBack(int64_t bytes);

  // Ends every wait: Take returns false from now on.
  void Close();

 private:
  const int64_t total_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t free_;
  bool closed_ = false;
};

// The bytes of memory that this process holds now: its own, and pages of files that it has mapped
// and touched. 0 where the system does not tell.
int64_t ResidentBytes();

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_MEMORY_BUDGET_H_
