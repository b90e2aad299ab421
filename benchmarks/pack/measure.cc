#include "benchmarks/pack/measure.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>

namespace lanewise::benchmarks {
namespace {

double MedianOf(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double Now(const MeasureOptions& options) {
  if (options.clock == Clock::kWall) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  timespec spent = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return (static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec)) /
         options.threads;
}

double SecondsOf(const std::function<void()>& body, int calls, const MeasureOptions& options) {
  const double begin = Now(options);
  for (int i = 0; i < calls; ++i) body();
  return (Now(options) - begin) / calls;
}

}  // namespace

double Samples::Best() const {
  return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end());
}

double Samples::Median() const { return MedianOf(seconds); }

std::vector<Samples> MeasureInTurn(std::span<const std::function<void()>> bodies,
                                   const MeasureOptions& options) {
  std::vector<Samples> samples(bodies.size());
  std::vector<int> calls;
  for (const std::function<void()>& body : bodies) {
    body();
    const double once = std::max(SecondsOf(body, 1, options), 1e-9);
    calls.push_back(
        static_cast<int>(std::clamp(std::ceil(options.sample_seconds / once), 1., 1e6)));
  }
  for (int repetition = 0; repetition < options.repetitions; ++repetition) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      samples[i].seconds.push_back(SecondsOf(bodies[i], calls[i], options));
    }
  }
  return samples;
}

double MedianRatio(const Samples& a, const Samples& b, const Samples& subject) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < subject.seconds.size(); ++i) {
    ratios.push_back(std::min(a.seconds[i], b.seconds[i]) / subject.seconds[i]);
  }
  return MedianOf(std::move(ratios));
}

}  // namespace lanewise::benchmarks
