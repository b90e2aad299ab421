#ifndef LANEWISE_WEIGHTS_PARALLEL_H_
#define LANEWISE_WEIGHTS_PARALLEL_H_

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace lanewise {

// How many threads `threads` asks for: itself, or all of the machine's where it is 0.
int ThreadCount(int threads);

// Starts body(1) .. body(count - 1), each on a thread of its own: as many of them, in order, as the
// system gives threads. Join them.
std::vector<std::thread> StartThreads(std::int64_t count,
                                      const std::function<void(std::int64_t)>& body);

// Calls body(begin, end, part) for `parts` = at most ThreadCount(threads) ranges that together are
// 0 .. count - 1, each on a thread of its own, the first on the caller's, and those as well that
// the system has no thread for; returns when all are done. part counts the ranges from 0. The body
// must not throw.
void ParallelFor(std::int64_t count, int threads,
                 const std::function<void(std::int64_t begin, std::int64_t end, int part)>& body);

}  // namespace lanewise

#endif  // LANEWISE_WEIGHTS_PARALLEL_H_
