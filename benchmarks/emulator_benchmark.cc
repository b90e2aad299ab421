// Lane-operations a second of the emulator on one core: vector instructions executed times 64
// lanes. The goal: 5e8 with checks, 1e9 without.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <vector>

#include "emulator/corpus/counting.h"
#include "emulator/hip_api/control.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/module.h"
#include "hip/runtime/stream.h"

namespace lanewise {
namespace {

using emulator::InstructionClass;

// Runs kernels of the counting corpus on one thread; errors end the benchmark.
class Runner {
 public:
  Runner(benchmark::State& state, emulator::Checks checks) : state_(state) {
    emulator::SetThreads(1);
    emulator::SetChecks(checks);
    auto device = hip::Device::OfArch("gfx942");
    if (device.ok()) module_ = hip::Module::Load(hip::CountingCodeObjects(), *device);
    if (!module_.ok()) state_.SkipWithError("no device or module");
  }

  template <typename... Args>
  bool Launch(const char* name, uint32_t workgroups, const Args&... args) {
    const absl::StatusOr<hip::Kernel> kernel = module_->Find(name);
    const hip::Stream stream = hip::Stream::Default();
    if (kernel.ok() && kernel->Launch({{workgroups}, {64}}, stream, args...).ok()) return true;
    state_.SkipWithError("the kernel failed");
    return false;
  }

 private:
  benchmark::State& state_;
  absl::StatusOr<hip::Module> module_ = absl::UnavailableError("not loaded");
};

void VectorBound(benchmark::State& state, emulator::Checks checks) {
  Runner runner(state, checks);
  const std::vector<float> ones(64, 1.0f);
  auto in = hip::Buffer::Of(std::span<const float>(ones), "in");
  auto out = hip::Buffer::Allocate(64 * sizeof(float), "out");
  if (!in.ok() || !out.ok()) return state.SkipWithError("no memory");
  double operations = 0;
  for (auto _ : state) {
    if (!runner.Launch("MultiplyAdd", 1, *in, *out, 2000)) return;
    operations +=
        64.0 * static_cast<double>(emulator::LastLaunchCounters().Count(InstructionClass::kVector));
  }
  state.counters["lane-operations/s"] = benchmark::Counter(operations, benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(VectorBound, without_checks, emulator::Checks{0});
BENCHMARK_CAPTURE(VectorBound, with_checks, emulator::kAllChecks);

// Four 16 x 16 x 32 fp8 matrix instructions a wave.
void MatrixBound(benchmark::State& state) {
  Runner runner(state, 0);
  const std::vector<int64_t> operands(64, 0x3830283038302838);
  auto in = hip::Buffer::Of(std::span<const int64_t>(operands), "in");
  auto out = hip::Buffer::Allocate(64 * 16, "out");
  if (!in.ok() || !out.ok()) return state.SkipWithError("no memory");
  double products = 0;
  for (auto _ : state) {
    if (!runner.Launch("FourMatrixInstructions", 16, *in, *out)) return;
    products += 16.0 * 4 * 16 * 16 * 32;
  }
  state.counters["products/s"] = benchmark::Counter(products, benchmark::Counter::kIsRate);
}
BENCHMARK(MatrixBound);

}  // namespace
}  // namespace lanewise

BENCHMARK_MAIN();
