#include "emulator/hip_api/runtime_state.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "emulator/hip_api/control.h"
#include "emulator/load/offload_bundle.h"

namespace lanewise::emulator {
namespace {

std::string& Report() {
  thread_local std::string report;
  return report;
}

hipError_t ErrorOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return hipSuccess;
    case absl::StatusCode::kInvalidArgument:
      return hipErrorInvalidValue;
    case absl::StatusCode::kNotFound:
      return hipErrorNotFound;
    case absl::StatusCode::kUnimplemented:
      return hipErrorNotSupported;
    case absl::StatusCode::kResourceExhausted:
      return hipErrorOutOfMemory;
    case absl::StatusCode::kAborted:
      return hipErrorLaunchFailure;
    default:
      return hipErrorUnknown;
  }
}

// The handlers are compiled for vectors that an old processor does not have.
void RequireHostVectors() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
  std::fputs("lanewise emulator: this processor lacks AVX2 or FMA, which the emulator needs\n",
             stderr);
  std::exit(1);
#endif
}

}  // namespace

RuntimeState& RuntimeState::Get() {
  static auto* const kState = new RuntimeState();
  return *kState;
}

RuntimeState::RuntimeState() {
  RequireHostVectors();
  if (const char* text = std::getenv("LANEWISE_EMULATOR_CHECKS")) {
    const absl::StatusOr<Checks> parsed = ParseChecks(text);
    if (parsed.ok()) {
      checks = *parsed;
    } else {
      std::fprintf(stderr, "LANEWISE_EMULATOR_CHECKS: %s\n",
                   std::string(parsed.status().message()).c_str());
    }
  }
  if (const char* text = std::getenv("LANEWISE_EMULATOR_THREADS")) {
    int number = 0;
    if (absl::SimpleAtoi(text, &number) && number >= 0) {
      threads = number;
    } else {
      std::fprintf(stderr, "LANEWISE_EMULATOR_THREADS: \"%s\" is no number\n", text);
    }
  }
}

Allocation RuntimeState::Find(const void* pointer, int& owner) const {
  const auto address = reinterpret_cast<uint64_t>(pointer);
  for (int device = 0; device < kDevices; ++device) {
    owner = device;
    Allocation found = device_memory_[device].Around(address);
    if (found.base != 0) return found;
  }
  owner = kHost;
  return host_memory_.Around(address);
}

void RuntimeState::NoteLaunch(std::string_view kernel, const LaunchCounters& counters) {
  if (recording) traffic_.NoteLaunch(kernel, counters);
  const std::lock_guard<std::mutex> lock(mutex_);
  counters_ = counters;
}

LaunchCounters RuntimeState::counters() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

int& CurrentDevice() {
  thread_local int device = 0;
  return device;
}

hipError_t& LastError() {
  thread_local hipError_t error = hipSuccess;
  return error;
}

hipError_t Fail(hipError_t error, const char* function, std::string_view why) {
  LastError() = error;
  Report() = absl::StrCat(function, ": ", std::string(why));
  std::fprintf(stderr, "%s\n", Report().c_str());
  return error;
}

hipError_t Fail(const char* function, const absl::Status& status) {
  const absl::string_view message = status.message();
  return Fail(ErrorOf(status.code()), function, std::string_view(message.data(), message.size()));
}

absl::StatusOr<std::unique_ptr<LoadedModule>> LoadModule(const void* image, uint64_t size,
                                                         int device) {
  const auto* bytes = static_cast<const uint8_t*>(image);
  if (size == 0) {
    absl::StatusOr<uint64_t> own = ImageSize(bytes);
    if (!own.ok()) return own.status();
    size = *own;
  }
  absl::StatusOr<std::unique_ptr<CodeObject>> object =
      CodeObject::Load({bytes, size}, DeviceArch(device));
  if (!object.ok()) return object.status();
  auto module = std::make_unique<LoadedModule>();
  module->device = device;
  module->object = *std::move(object);
  for (const Kernel& kernel : module->object->kernels()) {
    module->functions.push_back(
        std::make_unique<LoadedFunction>(LoadedFunction{module.get(), &kernel}));
  }
  // Its variables are memory that copies may name.
  RuntimeState::Get().device_memory(device).Insert(
      reinterpret_cast<uint64_t>(module->object->image()), module->object->image_size(),
      "the code object");
  return module;
}

hipError_t LaunchFunction(const char* function, const LoadedFunction& loaded, Extent grid,
                          Extent block, uint32_t dynamic_lds, std::span<const uint8_t> arguments) {
  RuntimeState& state = RuntimeState::Get();
  LaunchConfig config;
  config.object = loaded.module->object.get();
  config.kernel = loaded.kernel;
  config.grid = grid;
  config.block = block;
  config.dynamic_lds = dynamic_lds;
  config.arguments = arguments;
  config.checks = state.checks;
  config.threads = state.threads;
  if (state.recording) config.traffic = &state.traffic();
  config.memory = state.device_memory(loaded.module->device).All();
  for (Allocation& allocation : state.host_memory().All()) {
    config.memory.push_back(std::move(allocation));
  }
  const absl::StatusOr<LaunchCounters> counters = Launch(config);
  if (!counters.ok()) return Fail(function, counters.status());
  state.NoteLaunch(loaded.kernel->name, *counters);
  return hipSuccess;
}

void SetChecks(Checks checks) { RuntimeState::Get().checks = checks; }
void SetThreads(int threads) { RuntimeState::Get().threads = threads; }
LaunchCounters LastLaunchCounters() { return RuntimeState::Get().counters(); }
std::string LastReport() { return Report(); }

void StartRecording() {
  RuntimeState::Get().traffic().Take();
  RuntimeState::Get().recording = true;
}
Recording StopRecording() {
  RuntimeState::Get().recording = false;
  return RuntimeState::Get().traffic().Take();
}

bool NameAllocation(const void* pointer, std::string_view name) {
  const auto base = reinterpret_cast<uint64_t>(pointer);
  RuntimeState& state = RuntimeState::Get();
  bool found = state.host_memory().Rename(base, name);
  for (int device = 0; device < kDevices; ++device) {
    found = state.device_memory(device).Rename(base, name) || found;
  }
  return found;
}

}  // namespace lanewise::emulator
