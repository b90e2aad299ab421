// HIP's NVIDIA platform: the functions of HIP's runtime API that hip/runtime calls, over the CUDA
// driver. A device's primary context is used, as CUDA's own runtime does, so that memory and
// streams of an engine in the same process are good here.

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hip/runtime/cuda/driver.h"
#include "hip/runtime/error.h"
#include "third_party/hip_api.h"

namespace lanewise::hip::cuda {
namespace {

// What is known once the driver was asked for its devices. `error` is why there are none.
struct Platform {
  const Driver* driver = nullptr;
  hipError_t error = hipSuccess;
  std::string why;
  std::vector<DeviceNumber> devices;
  std::mutex mutex;               // of what follows
  std::vector<Context> contexts;  // the devices' primary contexts, null before they are needed
};

thread_local int current_device = 0;
// Words on the thread's last failure; see BackendReport.
thread_local std::string report;

hipError_t ToHip(Result result) { return static_cast<hipError_t>(result); }

hipError_t Fail(hipError_t error, std::string_view words = "") {
  report = words;
  return error;
}
hipError_t Check(Result result) { return result == 0 ? hipSuccess : Fail(ToHip(result)); }

void FindDevices(Platform& platform) {
  platform.driver = OpenDriver("libcuda.so.1", platform.why);
  if (platform.driver == nullptr) {
    platform.error = hipErrorNoDevice;
    return;
  }
  int count = 0;
  Result result = platform.driver->Init(0);
  if (result == 0) result = platform.driver->DeviceGetCount(&count);
  for (int i = 0; result == 0 && i < count; ++i) {
    DeviceNumber device = 0;
    result = platform.driver->DeviceGet(&device, i);
    platform.devices.push_back(device);
  }
  platform.error = ToHip(result);
  platform.contexts.resize(platform.devices.size());
}

Platform& GetPlatform() {
  static Platform* const kPlatform = [] {
    auto* platform = new Platform;
    FindDevices(*platform);
    return platform;
  }();
  return *kPlatform;
}

// The driver, if it has a device `index`.
hipError_t FindDevice(int index, const Driver** driver) {
  const Platform& platform = GetPlatform();
  if (platform.error != hipSuccess) return Fail(platform.error, platform.why);
  if (index < 0 || static_cast<size_t>(index) >= platform.devices.size()) {
    return Fail(hipErrorInvalidDevice,
                "the driver has " + std::to_string(platform.devices.size()) + " devices");
  }
  *driver = platform.driver;
  return hipSuccess;
}

// Makes the primary context of the thread's device the current one. Every call does: whoever shares
// the thread may have set another.
hipError_t Enter(const Driver** driver) {
  if (const hipError_t error = FindDevice(current_device, driver); error != hipSuccess)
    return error;
  Platform& platform = GetPlatform();
  const auto index = static_cast<size_t>(current_device);
  const std::lock_guard<std::mutex> lock(platform.mutex);
  if (platform.contexts[index] == nullptr) {
    const Result result =
        platform.driver->DevicePrimaryCtxRetain(&platform.contexts[index], platform.devices[index]);
    if (result != 0) return Check(result);
  }
  return Check(platform.driver->CtxSetCurrent(platform.contexts[index]));
}

// What the driver's `function` says to the arguments, in the thread's context.
template <class Function, class... Args>
hipError_t Call(Function* Driver::* function, Args... args) {
  const Driver* driver = nullptr;
  if (const hipError_t error = Enter(&driver); error != hipSuccess) return error;
  return Check((driver->*function)(args...));
}

Address AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// The driver's own words, or `otherwise`.
const char* Words(Result (*Driver::*function)(Result, const char**), hipError_t error,
                  const char* otherwise) {
  const Driver* const driver = GetPlatform().driver;
  const char* text = nullptr;
  if (driver == nullptr || (driver->*function)(static_cast<Result>(error), &text) != 0 ||
      text == nullptr) {
    return otherwise;
  }
  return text;
}

}  // namespace
}  // namespace lanewise::hip::cuda

namespace lanewise::hip {

std::string BackendReport() { return std::exchange(cuda::report, ""); }

void BackendNameMemory(const void* /*memory*/, std::string_view /*name*/) {}

}  // namespace lanewise::hip

using namespace lanewise::hip::cuda;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

const char* hipGetErrorName(hipError_t error) {
  return Words(&Driver::GetErrorName, error,
               error == hipErrorNoDevice ? "hipErrorNoDevice" : "hipErrorUnknown");
}
const char* hipGetErrorString(hipError_t error) {
  return Words(&Driver::GetErrorString, error,
               error == hipErrorNoDevice ? "no CUDA-capable device is found" : "unknown error");
}

hipError_t hipGetDeviceCount(int* count) {
  const Platform& platform = GetPlatform();
  if (platform.error != hipSuccess) return Fail(platform.error, platform.why);
  *count = static_cast<int>(platform.devices.size());
  return hipSuccess;
}

hipError_t hipGetDeviceProperties(hipDeviceProp_t* properties, int index) {
  const Driver* driver = nullptr;
  if (const hipError_t error = FindDevice(index, &driver); error != hipSuccess) return error;
  const DeviceNumber device = GetPlatform().devices[static_cast<size_t>(index)];
  hipDeviceProp_t& p = *properties;
  std::memset(&p, 0, sizeof(p));
  Result result = driver->DeviceGetName(p.name, sizeof(p.name), device);
  if (result == 0) result = driver->DeviceTotalMem(&p.totalGlobalMem, device);
  int shared_memory = 0;
  const struct {
    int attribute;
    int* value;
  } kAttributes[] = {
      {kMaxThreadsPerBlock, &p.maxThreadsPerBlock},
      {kMaxSharedMemoryPerBlock, &shared_memory},
      {kWarpSize, &p.warpSize},
      {kMultiprocessorCount, &p.multiProcessorCount},
      {kL2CacheSize, &p.l2CacheSize},
      {kComputeCapabilityMajor, &p.major},
      {kComputeCapabilityMinor, &p.minor},
  };
  for (const auto& each : kAttributes) {
    if (result == 0) result = driver->DeviceGetAttribute(each.value, each.attribute, device);
  }
  if (result != 0) return Check(result);
  p.sharedMemPerBlock = static_cast<size_t>(shared_memory);
  const std::string arch = "sm_" + std::to_string(10 * p.major + p.minor);
  std::memcpy(p.gcnArchName, arch.c_str(), arch.size() + 1);
  return hipSuccess;
}

hipError_t hipSetDevice(int index) {
  const Driver* driver = nullptr;
  if (const hipError_t error = FindDevice(index, &driver); error != hipSuccess) return error;
  current_device = index;
  return Enter(&driver);
}

hipError_t hipDeviceSynchronize(void) { return Call(&Driver::CtxSynchronize); }

hipError_t hipMalloc(void** pointer, size_t size) {
  Address address = 0;
  const hipError_t error = Call(&Driver::MemAlloc, &address, size);
  if (error == hipSuccess) *pointer = reinterpret_cast<void*>(address);
  return error;
}
hipError_t hipFree(void* pointer) { return Call(&Driver::MemFree, AddressOf(pointer)); }

// Addresses are unified: the driver sees where each pointer leads, whatever the kind says.
hipError_t hipMemcpy(void* to, const void* from, size_t size, hipMemcpyKind) {
  return Call(&Driver::Memcpy, AddressOf(to), AddressOf(from), size);
}
hipError_t hipMemcpyAsync(void* to, const void* from, size_t size, hipMemcpyKind,
                          hipStream_t stream) {
  return Call(&Driver::MemcpyAsync, AddressOf(to), AddressOf(from), size, stream);
}
hipError_t hipMemsetAsync(void* to, int value, size_t size, hipStream_t stream) {
  return Call(&Driver::MemsetD8Async, AddressOf(to), static_cast<unsigned char>(value), size,
              stream);
}

hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned int flags) {
  return Call(&Driver::StreamCreate, stream, flags);
}
hipError_t hipStreamDestroy(hipStream_t stream) { return Call(&Driver::StreamDestroy, stream); }
hipError_t hipStreamSynchronize(hipStream_t stream) {
  return Call(&Driver::StreamSynchronize, stream);
}

hipError_t hipEventCreate(hipEvent_t* event) { return Call(&Driver::EventCreate, event, 0u); }
hipError_t hipEventDestroy(hipEvent_t event) { return Call(&Driver::EventDestroy, event); }
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return Call(&Driver::EventRecord, event, stream);
}
hipError_t hipEventSynchronize(hipEvent_t event) { return Call(&Driver::EventSynchronize, event); }
hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return Call(&Driver::EventElapsedTime, milliseconds, start, stop);
}

// `image` is PTX with a zero behind it, or a cubin. The driver compiles PTX here, and its
// compiler's words are the failure's.
hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  std::array<char, 4096> log{};
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferSizeBytes};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1)};
  const hipError_t error =
      Call(&Driver::ModuleLoadDataEx, module, image, 2u, &options[0], &values[0]);
  if (error != hipSuccess && log[0] != '\0') report = log.data();
  return error;
}
hipError_t hipModuleUnload(hipModule_t module) { return Call(&Driver::ModuleUnload, module); }
hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  return Call(&Driver::ModuleGetFunction, function, module, name);
}
hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int shared_bytes,
                                 hipStream_t stream, void** arguments, void** extra) {
  return Call(&Driver::LaunchKernel, function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
              shared_bytes, stream, arguments, extra);
}

hipError_t hipStreamBeginCapture(hipStream_t stream, hipStreamCaptureMode mode) {
  return Call(&Driver::StreamBeginCapture, stream, mode);
}
hipError_t hipStreamEndCapture(hipStream_t stream, hipGraph_t* graph) {
  return Call(&Driver::StreamEndCapture, stream, graph);
}
// The driver has neither the node nor the log of a failure to give.
hipError_t hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*,
                               size_t) {
  return Call(&Driver::GraphInstantiate, executable, graph, uint64_t{0});
}
hipError_t hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  return Call(&Driver::GraphLaunch, executable, stream);
}
hipError_t hipGraphExecDestroy(hipGraphExec_t executable) {
  return Call(&Driver::GraphExecDestroy, executable);
}
hipError_t hipGraphDestroy(hipGraph_t graph) { return Call(&Driver::GraphDestroy, graph); }

}  // extern "C"
