#ifndef LANEWISE_EMULATOR_HIP_API_RUNTIME_STATE_H_
#define LANEWISE_EMULATOR_HIP_API_RUNTIME_STATE_H_

// What the emulated HIP runtime keeps between calls. Device 0 is a gfx942, device 1 a gfx950.
//
// Every operation is complete when its call returns, so streams keep their order by themselves.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "emulator/checks.h"
#include "emulator/count/counters.h"
#include "emulator/count/traffic.h"
#include "emulator/launch/launch.h"
#include "emulator/load/code_object.h"
#include "emulator/memory/allocation_map.h"
#include "third_party/hip_api.h"

namespace lanewise::emulator {

inline constexpr int kDevices = 2;

constexpr Arch DeviceArch(int device) { return device == 0 ? Arch::kGfx942 : Arch::kGfx950; }

// A loaded module. hipModule_t points to one, hipFunction_t to one of its functions.
struct LoadedFunction;
struct LoadedModule {
  int device = 0;
  std::unique_ptr<CodeObject> object;
  std::vector<std::unique_ptr<LoadedFunction>> functions;
};
struct LoadedFunction {
  LoadedModule* module = nullptr;
  const Kernel* kernel = nullptr;
};

class RuntimeState {
 public:
  static RuntimeState& Get();

  // Memory of the devices, and of the host where every device may reach it.
  AllocationMap& device_memory(int device) { return device_memory_[device]; }
  AllocationMap& host_memory() { return host_memory_; }
  // The allocation around an address, and whose it is: a device, or kHost.
  static constexpr int kHost = -1;
  Allocation Find(const void* pointer, int& owner) const;
  uint64_t NextNumber() { return ++allocations_; }

  std::atomic<Checks> checks{kAllChecks};
  std::atomic<int> threads{0};

  // Remembers a launch that succeeded.
  void NoteLaunch(std::string_view kernel, const LaunchCounters& counters);
  LaunchCounters counters() const;

  // Notes the accesses of all launches while `recording`.
  std::atomic<bool> recording{false};
  TrafficRecorder& traffic() { return traffic_; }

 private:
  RuntimeState();

  AllocationMap device_memory_[kDevices];
  AllocationMap host_memory_;
  std::atomic<uint64_t> allocations_{0};
  mutable std::mutex mutex_;
  LaunchCounters counters_;
  TrafficRecorder traffic_;
};

// The calling thread's device.
int& CurrentDevice();

// Remembers and returns an error of an API call, and says on stderr what happened. Success clears
// nothing, as in HIP.
hipError_t Fail(hipError_t error, const char* function, std::string_view why);
hipError_t Fail(const char* function, const absl::Status& status);

// The error that Fail remembered last in this thread.
hipError_t& LastError();

// Runs a kernel on its module's device. `arguments` are the explicit kernarg bytes.
hipError_t LaunchFunction(const char* function, const LoadedFunction& loaded, Extent grid,
                          Extent block, uint32_t dynamic_lds, std::span<const uint8_t> arguments);

// Loads a code object or bundle for a device; `size` 0 where only the image's headers know it.
absl::StatusOr<std::unique_ptr<LoadedModule>> LoadModule(const void* image, uint64_t size,
                                                         int device);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_HIP_API_RUNTIME_STATE_H_
