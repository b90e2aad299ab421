#include "reference/decode/rms_norm.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "base/status.h"
#include "reference/decode/lane_sum.h"
#include "reference/gemm/hardware_math.h"

namespace lanewise::reference {
namespace {

constexpr std::size_t kThreads = 256;
constexpr std::size_t kLanes = 64;
constexpr std::size_t kGemmaColumns = 6144;

Bf16 ToBf16(float value) { return std::isnan(value) ? Bf16::Nan() : Bf16::FromFloat(value); }

absl::Status CheckSizes(std::size_t x, std::size_t weight, std::size_t y, std::size_t multiple,
                        std::size_t most) {
  if (x == weight && x == y && x % multiple == 0 && x <= most) return absl::OkStatus();
  return InvalidArgument("norm of ", x, " values with ", weight, " weights into ", y,
                         ": expected as many of each, a multiple of ", multiple, " up to ", most);
}

void Scale(std::span<const Bf16> x, float rstd, std::span<const Bf16> weight, std::span<Bf16> y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = ToBf16((x[i].ToFloat() * rstd) * weight[i].ToFloat());
  }
}

// The lanes' sums of each wave.
std::vector<float> WaveSums(const std::vector<float>& threads,
                            std::initializer_list<std::size_t> distances) {
  std::vector<float> waves;
  for (std::size_t first = 0; first < threads.size(); first += kLanes) {
    const auto begin = threads.begin() + static_cast<std::ptrdiff_t>(first);
    waves.push_back(LaneSum({begin, begin + static_cast<std::ptrdiff_t>(kLanes)}, distances));
  }
  return waves;
}

}  // namespace

absl::Status LatentNorm(std::span<const Bf16> x, int per_thread, std::span<const Bf16> weight,
                        std::span<Bf16> y) {
  if (per_thread < 1) return InvalidArgument("norm of ", per_thread, " values a thread");
  const auto each = static_cast<std::size_t>(per_thread);
  LANEWISE_RETURN_IF_ERROR(CheckSizes(x.size(), weight.size(), y.size(), each, kThreads * each));
  std::vector<float> threads(kThreads, 0.0f);
  for (std::size_t t = 0; t < x.size() / each; ++t) {
    for (std::size_t j = 0; j < each; ++j) {
      const float value = x[each * t + j].ToFloat();
      const float square = value * value;
      threads[t] = j == 0 ? square : threads[t] + square;
    }
  }
  const std::vector<float> waves = WaveSums(threads, {32, 16, 8, 4, 2, 1});
  const float sum = (waves[0] + waves[1]) + (waves[2] + waves[3]);
  Scale(x, ReciprocalSquareRoot(sum / static_cast<float>(x.size()) + 1e-20f), weight, y);
  return absl::OkStatus();
}

absl::Status LayerNorm(std::span<const Bf16> x, std::span<const Bf16> weight, float epsilon,
                       std::span<Bf16> y) {
  LANEWISE_RETURN_IF_ERROR(CheckSizes(x.size(), weight.size(), y.size(), 8, std::size_t{1} << 24));
  std::vector<float> threads(kThreads, 0.0f);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t first = 8 * t; first < x.size(); first += 8 * kThreads) {
      for (std::size_t j = 0; j < 8; ++j) {
        const float value = x[first + j].ToFloat();
        threads[t] = threads[t] + value * value;
      }
    }
  }
  const float sum = LaneSum(WaveSums(threads, {1, 2, 4, 8, 16, 32}), {1, 2});
  const float of_one = 1.0f / static_cast<float>(x.size());
  Scale(x, ReciprocalSquareRoot(std::fma(sum, of_one, epsilon)), weight, y);
  return absl::OkStatus();
}

absl::Status GemmaNorm(std::span<const float> x, std::span<const Bf16> weight, std::span<Bf16> y) {
  LANEWISE_RETURN_IF_ERROR(
      CheckSizes(x.size(), weight.size(), y.size(), kGemmaColumns, kGemmaColumns));
  if (x.empty()) return InvalidArgument("norm of no values, expected ", kGemmaColumns);
  std::vector<float> tasks;
  for (std::size_t first = 0; first < x.size(); first += 48) {
    std::vector<float> threads(16, 0.0f);
    for (std::size_t i = 0; i < 48; ++i) {
      const float value = x[first + i];
      threads[i / 3] = threads[i / 3] + value * value;
    }
    tasks.push_back(LaneSum(threads, {8, 4, 2, 1}));
  }
  float sum = 0.0f;
  for (const float wave : WaveSums(tasks, {32, 16, 8, 4, 2, 1})) sum += wave;
  const float rstd = 1.0f / std::sqrt(sum / static_cast<float>(x.size()) + 1e-6f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = ToBf16((x[i] * rstd) * (1.0f + weight[i].ToFloat()));
  }
  return absl::OkStatus();
}

}  // namespace lanewise::reference
