#include "reference/decode/hyper_connection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "reference/decode/lane_sum.h"
#include "reference/gemm/hardware_math.h"

namespace lanewise::reference {
namespace {

constexpr std::size_t kMixes = 24;
constexpr std::size_t kSliceColumns = 32;
constexpr std::size_t kSliceK = kStreams * kSliceColumns;
constexpr std::size_t kGroupSlices = 8;
constexpr std::size_t kWaves = 8;
constexpr float kEpsilon = 1e-6f;
const float kLog2E = std::bit_cast<float>(std::uint32_t{0x3FB8AA3B});

Bf16 ToBf16(float value) { return std::isnan(value) ? Bf16::Nan() : Bf16::FromFloat(value); }

float Sigmoid(float z) { return 1.0f / (1.0f + Exp2(-z * kLog2E)); }

// One product of a float32 matrix instruction: an exact zero is +0.
float FusedMultiplyAdd(float a, float b, float c) {
  const bool zero = static_cast<double>(a) * b + static_cast<double>(c) == 0.0;
  return zero ? 0.0f : std::fma(a, b, c);
}

// The weight as two bf16 numbers hold it.
float TwoBf16(float f) {
  const float high = ToBf16(f).ToFloat();
  return high + ToBf16(f - high).ToFloat();
}

// A slice's values, stream by stream.
std::vector<float> SliceOf(std::span<const Bf16> streams, std::size_t n, std::size_t slice) {
  std::vector<float> values;
  for (std::size_t k = 0; k < kSliceK; ++k) {
    const std::size_t column = slice * kSliceColumns + k % kSliceColumns;
    values.push_back(streams[k / kSliceColumns * n + column].ToFloat());
  }
  return values;
}

float SliceMix(const std::vector<float>& x, std::span<const float> row, std::size_t n,
               std::size_t slice) {
  float sum = 0.0f;
  for (std::size_t wave = 0; wave < kWaves; ++wave) {
    float acc = 0.0f;
    for (std::size_t k = 16 * wave; k < 16 * wave + 16; ++k) {
      const std::size_t column = slice * kSliceColumns + k % kSliceColumns;
      acc = FusedMultiplyAdd(TwoBf16(row[k / kSliceColumns * n + column]), x[k], acc);
    }
    sum += acc;
  }
  return sum;
}

float SliceSquares(const std::vector<float>& x) {
  std::vector<float> lanes;
  for (std::size_t k = 0; k < kSliceK; k += 2) lanes.push_back(x[k] * x[k] + x[k + 1] * x[k + 1]);
  return LaneSum(lanes, {32, 16, 8, 4, 2, 1});
}

// part(slice) over all slices: groups of 8, each from its first, then the groups.
template <class Part>
float SumOfSlices(std::size_t slices, Part part) {
  float sum = 0.0f;
  for (std::size_t first = 0; first < slices; first += kGroupSlices) {
    float group = part(first);
    for (std::size_t slice = first + 1; slice < first + kGroupSlices; ++slice) group += part(slice);
    sum = first == 0 ? group : sum + group;
  }
  return sum;
}

using Comb = std::array<float, 16>;

float RowSum(const Comb& e, std::size_t r) {
  return (e[4 * r] + e[4 * r + 1]) + (e[4 * r + 2] + e[4 * r + 3]);
}
float ColumnSum(const Comb& e, std::size_t c) { return (e[c] + e[4 + c]) + (e[8 + c] + e[12 + c]); }

void ScaleColumns(Comb* e) {
  const Comb old = *e;
  for (std::size_t i = 0; i < 16; ++i) {
    (*e)[i] = old[i] * Reciprocal(ColumnSum(old, i % 4) + kEpsilon);
  }
}

// Sinkhorn's iteration: rows and columns that sum to about 1.
void Balance(Comb* e) {
  const Comb z = *e;
  for (std::size_t i = 0; i < 16; ++i) {
    const float* row = &z[i / 4 * 4];
    const float largest = std::max(std::max(row[0], row[1]), std::max(row[2], row[3]));
    (*e)[i] = Exp2((z[i] - largest) * kLog2E);
  }
  const Comb exponentials = *e;
  for (std::size_t i = 0; i < 16; ++i) {
    (*e)[i] = std::fma(exponentials[i], Reciprocal(RowSum(exponentials, i / 4)), kEpsilon);
  }
  ScaleColumns(e);
  for (int round = 1; round < 20; ++round) {
    const Comb old = *e;
    for (std::size_t i = 0; i < 16; ++i) {
      (*e)[i] = old[i] * Reciprocal(RowSum(old, i / 4) + kEpsilon);
    }
    ScaleColumns(e);
  }
}

}  // namespace

absl::StatusOr<std::vector<Bf16>> AddToStreams(std::span<const Bf16> streams,
                                               std::span<const Bf16> pending,
                                               const StreamMixes& mixes) {
  const std::size_t n = pending.size();
  if (streams.size() != kStreams * n) {
    return InvalidArgument("residual streams of ", streams.size(), " values beside an output of ",
                           n, ", expected ", kStreams, " for each");
  }
  std::vector<Bf16> sums(streams.size());
  for (std::size_t o = 0; o < kStreams; ++o) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto r = [&](std::size_t h) { return streams[h * n + i].ToFloat(); };
      const auto c = [&](std::size_t h) { return mixes.comb[4 * h + o]; };
      float v = mixes.post[o] * pending[i].ToFloat() + c(0) * r(0);
      v = v + c(1) * r(1);
      v = v + c(2) * r(2);
      sums[o * n + i] = ToBf16(std::fma(c(3), r(3), v));
    }
  }
  return sums;
}

absl::StatusOr<std::vector<Bf16>> CollapseStreams(std::span<const Bf16> streams,
                                                  const std::array<float, 4>& pre) {
  if (streams.size() % kStreams != 0) {
    return InvalidArgument("residual streams of ", streams.size(), " values, expected ", kStreams,
                           " streams");
  }
  const std::size_t n = streams.size() / kStreams;
  std::vector<Bf16> input(n);
  for (std::size_t i = 0; i < n; ++i) {
    float sum = 0.0f;
    for (std::size_t h = 0; h < kStreams; ++h) sum = sum + pre[h] * streams[h * n + i].ToFloat();
    input[i] = ToBf16(sum);
  }
  return input;
}

absl::StatusOr<StreamMixes> ComputeMixes(std::span<const Bf16> streams, const MixGate& gate) {
  const std::size_t n = streams.size() / kStreams, k = streams.size();
  if (streams.size() % (kStreams * kSliceColumns * kGroupSlices) != 0 || n == 0 ||
      gate.weight.size() != kMixes * k || gate.bias.size() != kMixes) {
    return InvalidArgument("mixes of residual streams of ", streams.size(), " values, a weight of ",
                           gate.weight.size(), " and ", gate.bias.size(),
                           " biases: expected 4 n with n a multiple of ",
                           kSliceColumns * kGroupSlices, ", 24 * 4 n, and 24");
  }
  const std::size_t slices = n / kSliceColumns;
  std::vector<std::vector<float>> x;
  for (std::size_t slice = 0; slice < slices; ++slice) x.push_back(SliceOf(streams, n, slice));
  const float squares = SumOfSlices(slices, [&](std::size_t s) { return SliceSquares(x[s]); });
  const float rstd = ReciprocalSquareRoot(std::fma(squares, 1.0f / static_cast<float>(k), 1e-20f));

  StreamMixes mixes = {};
  for (std::size_t j = 0; j < kMixes; ++j) {
    const std::span<const float> row = gate.weight.subspan(j * k, k);
    const float mix = SumOfSlices(slices, [&](std::size_t s) { return SliceMix(x[s], row, n, s); });
    const std::size_t kind = j < 4 ? 0 : j < 8 ? 1 : 2;
    const float z = std::fma(mix * rstd, gate.scale[kind], gate.bias[j]);
    if (kind == 0) mixes.pre[j] = Sigmoid(z) + kEpsilon;
    if (kind == 1) mixes.post[j - 4] = Sigmoid(z) * 2.0f;
    if (kind == 2) mixes.comb[j - 8] = z;
  }
  Balance(&mixes.comb);
  return mixes;
}

}  // namespace lanewise::reference
