#ifndef LANEWISE_REFERENCE_GEMM_PARALLEL_H_
#define LANEWISE_REFERENCE_GEMM_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace lanewise::reference {

// Calls function(i) once for every i in [0, count), on all cores; returns when all calls have.
// Calls for different i run at the same time, so they must write to different places.
template <class Function>
void ParallelFor(std::int64_t count, const Function& function) {
  const std::int64_t cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  std::atomic<std::int64_t> next = 0;
  const auto work = [&] {
    for (std::int64_t i = next++; i < count; i = next++) function(i);
  };
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace lanewise::reference

#endif  // LANEWISE_REFERENCE_GEMM_PARALLEL_H_
