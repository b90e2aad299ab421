#include "reference/decode/router.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/status.h"
#include "reference/gemm/hardware_math.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"

namespace lanewise::reference {
namespace {

constexpr std::size_t kLanes = 64;
constexpr std::size_t kWaves = 8;
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
const float kLog2E = std::bit_cast<float>(std::uint32_t{0x3FB8AA3B});
const float kLn2 = std::bit_cast<float>(std::uint32_t{0x3F317218});

// Comparators (p, q) of the network for 6 values and for 2: q comes first if it is larger.
constexpr std::pair<std::size_t, std::size_t> kSortingNetwork6[] = {
    {0, 1}, {2, 3}, {4, 5}, {0, 2}, {1, 4}, {3, 5}, {0, 1}, {2, 3}, {4, 5}, {1, 2}, {3, 4}, {2, 3}};
constexpr std::pair<std::size_t, std::size_t> kSortingNetwork2[] = {{0, 1}};

// IEEE's maximum: NaN if either is.
float Maximum(float a, float b) { return std::isnan(a) || a > b ? a : b; }

// acc plus the products of 32 columns, by the chip's bf16 instructions.
float AddStep(RouterChip chip, std::span<const Bf16> w, std::span<const Bf16> x, float acc) {
  if (chip == RouterChip::kGfx950) {
    std::array<float, 32> a, b;
    for (std::size_t k = 0; k < 32; ++k) {
      a[k] = w[k].ToFloat();
      b[k] = x[k].ToFloat();
    }
    return cdna4::AddDot(OperandFormat::kBf16, OperandFormat::kBf16, a.data(), b.data(), 32, 0,
                         acc);
  }
  for (const std::size_t half : {0, 1}) {
    std::array<std::uint16_t, 16> a, b;
    for (std::size_t k = 0; k < 16; ++k) {
      const std::size_t column = 8 * (k / 4) + 4 * half + k % 4;
      a[k] = w[column].bits();
      b[k] = x[column].bits();
    }
    acc = std::bit_cast<float>(cdna3::DotAccumulate(OperandFormat::kBf16, OperandFormat::kBf16,
                                                    a.data(), b.data(), 16,
                                                    std::bit_cast<std::uint32_t>(acc)));
  }
  return acc;
}

// One product of a float32 matrix instruction: an exact zero is +0.
float FusedMultiplyAdd(float a, float b, float c) {
  const bool zero = static_cast<double>(a) * b + static_cast<double>(c) == 0.0;
  return zero ? 0.0f : std::fma(a, b, c);
}

// A lane's expert.
struct Candidate {
  float value = kMinusInfinity;
  float score = 0.0f;
  std::int32_t expert = 0;
};

float DeepSeekScore(float x) {
  return std::sqrt(x > 20.0f ? x : Log2(1.0f + Exp2(x * kLog2E)) * kLn2);
}

void Sort(std::vector<Candidate>* lane) {
  const auto network = lane->size() == 6
                           ? std::span<const std::pair<std::size_t, std::size_t>>(kSortingNetwork6)
                           : kSortingNetwork2;
  for (const auto& [p, q] : network) {
    if ((*lane)[p].value < (*lane)[q].value) std::swap((*lane)[p], (*lane)[q]);
  }
}

void ScaleWeights(float factor, float total, Picks* picks) {
  const float scale = factor / Maximum(total, 1e-20f);
  for (float& weight : picks->weights) weight *= scale;
}

}  // namespace

absl::StatusOr<std::vector<float>> DeepSeekLogits(std::span<const Bf16> x,
                                                  std::span<const Bf16> gate, std::int64_t experts,
                                                  RouterChip chip) {
  constexpr std::size_t kParts = 4, kStep = 32;
  const std::size_t k = x.size();
  if (experts < 0 || k % (kParts * kWaves * kStep) != 0 ||
      gate.size() != static_cast<std::size_t>(experts) * k) {
    return InvalidArgument("router of ", experts, " experts and K = ", k, " with a gate of ",
                           gate.size(), " values: expected experts * K, K a multiple of ",
                           kParts * kWaves * kStep);
  }
  std::vector<float> logits(static_cast<std::size_t>(experts), 0.0f);
  const std::size_t part_steps = k / kStep / kParts;
  for (std::size_t e = 0; e < logits.size(); ++e) {
    const std::span<const Bf16> row = gate.subspan(e * k, k);
    for (std::size_t part = 0; part < kParts; ++part) {
      float sum = 0.0f;
      for (std::size_t wave = 0; wave < kWaves; ++wave) {
        float acc = 0.0f;
        for (std::size_t step = wave; step < part_steps; step += kWaves) {
          const std::size_t first = (part * part_steps + step) * kStep;
          acc = AddStep(chip, row.subspan(first, kStep), x.subspan(first, kStep), acc);
        }
        sum += acc;
      }
      logits[e] += sum;
    }
  }
  return logits;
}

absl::StatusOr<Picks> DeepSeekRoute(std::span<const float> logits, std::span<const float> bias,
                                    int top_k) {
  if (logits.size() != bias.size() || (logits.size() != 128 && logits.size() != 384) || top_k < 1 ||
      top_k > 64) {
    return InvalidArgument("route of ", logits.size(), " logits and ", bias.size(), " biases, top ",
                           top_k, ": expected 128 or 384 of each, and 1 to 64 picks");
  }
  std::vector<std::vector<Candidate>> lanes(kLanes);
  for (std::size_t e = 0; e < logits.size(); ++e) {
    const float score = DeepSeekScore(logits[e]);
    lanes[e % kLanes].push_back({Maximum(score + bias[e], kMinusInfinity),
                                 std::isnan(score) ? 0.0f : score, static_cast<std::int32_t>(e)});
  }
  for (std::vector<Candidate>& lane : lanes) Sort(&lane);

  Picks picks;
  float total = 0.0f;
  std::vector<std::size_t> taken(kLanes, 0);
  for (int pick = 0; pick < top_k; ++pick) {
    std::vector<Candidate> first(kLanes);
    float best = kMinusInfinity;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      if (taken[lane] < lanes[lane].size()) first[lane] = lanes[lane][taken[lane]];
      best = Maximum(first[lane].value, best);
      if (std::isnan(best)) best = std::numeric_limits<float>::quiet_NaN();
    }
    std::size_t winner = 0;  // Also where no lane equals the best, which is NaN then.
    while (winner < kLanes && first[winner].value != best) ++winner;
    if (winner == kLanes) winner = 0;
    const bool has_one = taken[winner] < lanes[winner].size();
    picks.experts.push_back(first[winner].expert);
    picks.weights.push_back(has_one ? first[winner].score : 0.0f);
    total += picks.weights.back();
    if (has_one) ++taken[winner];
  }
  ScaleWeights(1.5f, total, &picks);
  return picks;
}

absl::StatusOr<std::vector<float>> MiniMaxLogits(std::span<const Bf16> x,
                                                 std::span<const float> gate) {
  constexpr std::size_t kK = 6144, kExperts = 128, kParts = 16, kPart = kK / kParts;
  if (x.size() != kK || gate.size() != kExperts * kK) {
    return InvalidArgument("router of ", x.size(), " values and a gate of ", gate.size(),
                           ": expected ", kK, " and ", kExperts, " * ", kK);
  }
  std::vector<float> logits(kExperts, 0.0f);
  for (std::size_t e = 0; e < kExperts; ++e) {
    float quarter = 0.0f;
    for (std::size_t part = 0; part < kParts; ++part) {
      float sum = 0.0f;
      for (std::size_t wave = 0; wave < kWaves; ++wave) {
        const std::size_t first = part * kPart + wave * (kPart / kWaves);
        float acc = 0.0f;
        for (std::size_t instruction = 0; instruction < 12; ++instruction) {
          for (std::size_t j = 0; j < 4; ++j) {
            const std::size_t k = first + 16 * (instruction / 4) + 4 * j + instruction % 4;
            acc = FusedMultiplyAdd(gate[e * kK + k], x[k].ToFloat(), acc);
          }
        }
        sum += acc;
      }
      quarter += sum;
      if (part % 4 == 3) {
        logits[e] += quarter;
        quarter = 0.0f;
      }
    }
  }
  return logits;
}

absl::StatusOr<Picks> MiniMaxRoute(std::span<const float> logits, std::span<const float> bias,
                                   int top_k) {
  constexpr std::size_t kExperts = 128;
  if (logits.size() != kExperts || bias.size() != kExperts || top_k < 1 || top_k > 128) {
    return InvalidArgument("route of ", logits.size(), " logits and ", bias.size(), " biases, top ",
                           top_k, ": expected 128 of each, and 1 to 128 picks");
  }
  std::vector<float> scores, values;
  for (std::size_t e = 0; e < kExperts; ++e) {
    const float score = Reciprocal(1.0f + Exp2(-logits[e] * kLog2E));
    const float value = score + bias[e];
    scores.push_back(std::isnan(score) ? 0.0f : score);
    values.push_back(std::isnan(value) ? kMinusInfinity : value);
  }
  Picks picks;
  float total = 0.0f;
  for (int pick = 0; pick < top_k; ++pick) {
    const auto best = std::max_element(values.begin(), values.end());
    const auto e = static_cast<std::size_t>(best - values.begin());
    picks.experts.push_back(static_cast<std::int32_t>(e));
    picks.weights.push_back(scores[e]);
    total += scores[e];
    *best = kMinusInfinity;
  }
  ScaleWeights(2.0f, total, &picks);
  return picks;
}

}  // namespace lanewise::reference
