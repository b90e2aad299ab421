#include "weights/parallel.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace lanewise {
namespace {

void ExpectEachOnce(std::int64_t count, int threads) {
  std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
  ParallelFor(count, threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
  });
  for (std::int64_t i = 0; i < count; ++i) {
    ASSERT_EQ(calls[static_cast<std::size_t>(i)], 1) << i << " of " << count;
  }
}

TEST(ParallelForTest, CoversEachOnce) {
  for (const int threads : {1, 2, 7, 64}) {
    for (const std::int64_t count : {0, 1, 2, 6, 7, 8, 1000}) ExpectEachOnce(count, threads);
  }
}

// A process may have less address space than the threads' stacks take. The work is done all the
// same, by fewer.
TEST(ParallelForTest, ManagesWithTheThreadsThereAre) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit less = before;
  less.rlim_cur = rlim_t{1} << 30;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  std::vector<std::thread> threads = StartThreads(2000, [](std::int64_t) {});
  const std::size_t started = threads.size();
  for (std::thread& thread : threads) thread.join();
  ExpectEachOnce(5000, 2000);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_LT(started, 1999u) << "the limit was none, so this test shows nothing";
}

}  // namespace
}  // namespace lanewise
