#ifndef LANEWISE_BENCHMARKS_PACK_MEASURE_H_
#define LANEWISE_BENCHMARKS_PACK_MEASURE_H_

// Times that can be compared although the machine does other things: what is compared runs in turn,
// many times, and what disturbs one disturbs the others.

#include <functional>
#include <span>
#include <vector>

namespace lanewise::benchmarks {

struct Samples {
  std::vector<double> seconds;  // of one call, one value a repetition
  double Best() const;
  double Median() const;  // the middle one, or the mean of the two; 0 of none
};

// What counts as time: what a clock on the wall shows, or what the processors spent on this process
// divided by its threads, which waits for a processor are not part of.
enum class Clock { kWall, kProcessor };

struct MeasureOptions {
  Clock clock = Clock::kWall;
  int threads = 1;  // that share the processors' time
  int repetitions = 9;
  // A sample is as many calls as take about this long, so that the clock and the start of threads
  // do not count.
  double sample_seconds = 1e-3;
};

// Calls each body once to warm up, then all in turn in every repetition.
std::vector<Samples> MeasureInTurn(std::span<const std::function<void()>> bodies,
                                   const MeasureOptions& options);

// Median over the repetitions of the smaller of a's and b's time by `subject`'s: above 1 where the
// subject is faster than the better of the two. All have as many samples.
double MedianRatio(const Samples& a, const Samples& b, const Samples& subject);

}  // namespace lanewise::benchmarks

#endif  // LANEWISE_BENCHMARKS_PACK_MEASURE_H_
