// How fast the reference computes matrix instructions and exact sums, on one core.
// `items_per_second` counts multiply-adds, or terms of a sum.
// `./bazelw run //benchmarks:matrix_core`.

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "formats/formats.h"
#include "reference/exact/accumulator.h"
#include "reference/exact/rounding.h"
#include "reference/matrix_core/cdna3.h"
#include "reference/matrix_core/cdna4.h"
#include "reference/matrix_core/decoded.h"
#include "reference/matrix_core/instruction.h"

namespace lanewise {
namespace {

template <class Format>
void Append(std::vector<std::uint8_t>& bytes, float value) {
  const typename Format::Bits bits = Format::FromFloat(value).bits();
  const auto* first = reinterpret_cast<const std::uint8_t*>(&bits);
  bytes.insert(bytes.end(), first, first + sizeof(bits));
}

// `count` elements, normally distributed.
std::vector<std::uint8_t> Normal(OperandFormat format, std::int64_t count) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::uint8_t> bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const float value = normal(random);
    switch (format) {
      case OperandFormat::kE4m3Fn:
        Append<E4m3Fn>(bytes, value);
        break;
      case OperandFormat::kE4m3Fnuz:
        Append<E4m3Fnuz>(bytes, value);
        break;
      case OperandFormat::kE5m2:
        Append<E5m2>(bytes, value);
        break;
      case OperandFormat::kE5m2Fnuz:
        Append<E5m2Fnuz>(bytes, value);
        break;
      case OperandFormat::kE2m3:
        Append<E2m3>(bytes, value);
        break;
      case OperandFormat::kE3m2:
        Append<E3m2>(bytes, value);
        break;
      case OperandFormat::kE2m1:
        Append<E2m1>(bytes, value);
        break;
      case OperandFormat::kBf16:
        Append<Bf16>(bytes, value);
        break;
      case OperandFormat::kF16:
        Append<F16>(bytes, value);
        break;
      default:
        bytes.resize(bytes.size() + sizeof(value));
        std::memcpy(&bytes[bytes.size() - sizeof(value)], &value, sizeof(value));
    }
  }
  return bytes;
}

void SetMultiplyAdds(benchmark::State& state, std::int64_t each) {
  state.SetItemsProcessed(state.iterations() * each);
}

// One instruction on raw operands, as the emulator calls it: decoding included.
void RunInstruction(benchmark::State& state, const MatrixInstruction& instruction, bool cdna4) {
  const std::int64_t blocks = instruction.blocks;
  const bool f8f6f4 = instruction.a == OperandFormat::kF8f6f4;
  const OperandFormat a_format = f8f6f4 ? OperandFormat::kE4m3Fn : instruction.a;
  const OperandFormat b_format = f8f6f4 ? OperandFormat::kE2m1 : instruction.b;
  const auto a = Normal(a_format, blocks * instruction.m * instruction.k);
  const auto b = Normal(b_format, blocks * instruction.k * instruction.n);
  const std::vector<std::uint32_t> c(blocks * instruction.m * instruction.n);
  std::vector<std::uint32_t> d(c.size());
  for (auto _ : state) {
    if (f8f6f4) {
      cdna4::ExecuteF8f6f4(instruction, a_format, b_format, a.data(), b.data(), {}, c.data(),
                           d.data());
    } else if (cdna4) {
      cdna4::Execute(instruction, a.data(), b.data(), c.data(), d.data());
    } else {
      cdna3::Execute(instruction, a.data(), b.data(), c.data(), d.data());
    }
    benchmark::DoNotOptimize(d.data());
  }
  SetMultiplyAdds(state, blocks * instruction.m * instruction.n * instruction.k);
}

// A long K on operands decoded once, as planned GEMM references call it: 16 columns, K = 4096.
void RunPanel(benchmark::State& state, OperandFormat format) {
  constexpr std::int64_t kK = 4096;
  const auto a = Normal(format, kK);
  const auto b = Normal(format, kK * DecodedColumns::kPanelWidth);
  const DecodedRows rows({format, a.data(), 1, kK, kK, 1});
  const DecodedColumns columns({format, b.data(), DecodedColumns::kPanelWidth, kK, kK, 1});
  std::uint32_t accumulators[DecodedColumns::kPanelWidth] = {};
  for (auto _ : state) {
    cdna3::Accumulate(rows, 0, columns, 0, 0, kK, accumulators);
    benchmark::DoNotOptimize(accumulators);
  }
  SetMultiplyAdds(state, kK * DecodedColumns::kPanelWidth);
}

std::vector<double> NormalDoubles() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> values(4096);
  for (double& value : values) value = normal(random);
  return values;
}

void ExactSum(benchmark::State& state) {
  const std::vector<double> values = NormalDoubles();
  const std::int64_t terms = state.range(0);
  ExactAccumulator sum;
  for (auto _ : state) {
    sum.Clear();
    for (std::int64_t i = 0; i < terms; ++i) sum.AddDouble(values[i], static_cast<int>(i % 8));
    benchmark::DoNotOptimize(sum.ToFloat());
  }
  state.SetItemsProcessed(state.iterations() * terms);
}
BENCHMARK(ExactSum)->Arg(16)->Arg(128)->Arg(4096);

void RoundedSum(benchmark::State& state) {
  const std::vector<double> values = NormalDoubles();
  float sum = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum = AddScaled(sum, values[i], static_cast<int>(i % 8));
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}
BENCHMARK(RoundedSum);

void RegisterAll() {
  for (const MatrixInstruction& instruction : cdna3::kInstructions) {
    benchmark::RegisterBenchmark(("cdna3/" + std::string(instruction.name)).c_str(), RunInstruction,
                                 instruction, false);
  }
  for (const MatrixInstruction& instruction : cdna4::kInstructions) {
    benchmark::RegisterBenchmark(("cdna4/" + std::string(instruction.name)).c_str(), RunInstruction,
                                 instruction, true);
  }
  benchmark::RegisterBenchmark("cdna3_panel/fp8", RunPanel, OperandFormat::kE4m3Fnuz);
  benchmark::RegisterBenchmark("cdna3_panel/bf16", RunPanel, OperandFormat::kBf16);
}

}  // namespace
}  // namespace lanewise

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  lanewise::RegisterAll();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
