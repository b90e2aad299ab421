#include "weights/parallel.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <thread>
#include <vector>

namespace lanewise {

int ThreadCount(int threads) {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::vector<std::thread> StartThreads(std::int64_t count,
                                      const std::function<void(std::int64_t)>& body) {
  std::vector<std::thread> threads;
  try {
    for (std::int64_t i = 1; i < count; ++i) threads.emplace_back([body, i] { body(i); });
  } catch (const std::system_error&) {
    // A limit of the system's, on processes or on memory: those that there are do the work.
  }
  return threads;
}

void ParallelFor(std::int64_t count, int threads,
                 const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (count <= 0) return;
  const std::int64_t parts = std::min<std::int64_t>(count, ThreadCount(threads));
  const auto begin = [&](std::int64_t part) {
    return count / parts * part + std::min(part, count % parts);
  };
  const auto run = [&](std::int64_t part) {
    body(begin(part), begin(part + 1), static_cast<int>(part));
  };
  std::vector<std::thread> others = StartThreads(parts, run);
  run(0);
  for (std::int64_t part = 1 + std::ssize(others); part < parts; ++part) run(part);
  for (std::thread& other : others) other.join();
}

}  // namespace lanewise
