#include "checkpoint/stream/memory_budget.h"

#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace lanewise {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kMostPassed = 32 * kMiB;

int64_t PassedBytes(int64_t memory) { return std::min(memory / 16, kMostPassed); }

// The smallest memory that leaves `rest` beside the passed pages.
int64_t MemoryFor(int64_t rest) { return std::min(rest + rest / 15 + 1, rest + kMostPassed); }

}  // namespace

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

absl::StatusOr<MemoryShares> ShareMemory(int64_t memory, int64_t overhead, int64_t least,
                                         std::string_view because) {
  const int64_t passed = PassedBytes(memory);
#ifdef __GLIBC__
  malloc_trim(0);  // what was freed before and only kept is no need of this work
#endif
  const int64_t held = ResidentBytes() + overhead;
  if (memory - passed - held >= least) return MemoryShares{memory - passed - held, passed};
  // Of its own pages and libraries' a process holds some more or less from run to run.
  constexpr int64_t kDrift = 6 * kMiB;
  return absl::InvalidArgumentError(
      absl::StrCat("--memory ", memory, " bytes are too little: ", held + passed,
                   " are taken by the program and the plan, and pieces in flight need ", least,
                   because.empty() ? "" : ", because of ", AbslView(because), "; give at least ",
                   (MemoryFor(held + least + kDrift) + kMiB - 1) / kMiB, "M"));
}

int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  if (!(statm >> size >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

}  // namespace lanewise
