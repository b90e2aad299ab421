#ifndef LANEWISE_CHECKPOINT_STREAM_MEMORY_BUDGET_H_
#define LANEWISE_CHECKPOINT_STREAM_MEMORY_BUDGET_H_

// How much memory work in flight may hold, and how much this process holds.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "absl/status/statusor.h"

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

// What a process may hold where nobody says.
inline constexpr int64_t kDefaultMemory = int64_t{1} << 30;

// How the memory that a process may hold is divided.
struct MemoryShares {
  int64_t pieces = 0;  // for work in flight
  int64_t passed = 0;  // for pages that were passed and are not yet given back (PassedPages)
};

// Divides `memory`: what the process holds now and `overhead` more are taken, and `least` of the
// rest is what the smallest work needs. InvalidArgument where that is too little, with a size that
// is enough (the process may hold a little more the next time: that is counted in) and `because`,
// the name of the tensor that takes most, if not "".
absl::StatusOr<MemoryShares> ShareMemory(int64_t memory, int64_t overhead, int64_t least,
                                         std::string_view because);

// The bytes of memory that this process holds now: its own, and pages of files that it has mapped
// and touched. 0 where the system does not tell.
int64_t ResidentBytes();

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_MEMORY_BUDGET_H_
