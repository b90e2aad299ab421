#include "weights/parallel.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace lanewise {

int ThreadCount(int threads) {
  if (threads > 0) return threads;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void ParallelFor(std::int64_t count, int threads,
                 const std::function<void(std::int64_t, std::int64_t, int)>& body) {
  if (count <= 0) return;
  const std::int64_t parts = std::min<std::int64_t>(count, ThreadCount(threads));
  const auto begin = [&](std::int64_t part) {
    return count / parts * part + std::min(part, count % parts);
  };
  std::vector<std::thread> others;
  for (int part = 1; part < parts; ++part) {
    others.emplace_back([&, part] { body(begin(part), begin(part + 1), part); });
  }
  body(0, begin(1), 0);
  for (std::thread& other : others) other.join();
}

}  // namespace lanewise
