#ifndef LANEWISE_HIP_RUNTIME_CUDA_DRIVER_H_
#define LANEWISE_HIP_RUNTIME_CUDA_DRIVER_H_

// The functions of NVIDIA's driver library that HIP's are made of, found at run time: neither a
// build nor a program that never asks for a device needs anything of CUDA. Names, arguments and
// numbers are those of NVIDIA's CUDA Driver API reference.

#include <cstddef>
#include <cstdint>
#include <string>

#include "third_party/hip_api.h"

namespace lanewise::hip::cuda {

// CUresult. HIP numbers its errors as the driver does, as far as it has them, so that a cast makes
// the one of the other.
using Result = int;
using DeviceNumber = int;            // CUdevice
using Address = unsigned long long;  // CUdeviceptr
using Context = struct ContextTag*;  // CUcontext
// Streams, events, modules and functions pass through as HIP's own pointers.

// CUdevice_attribute, CUjit_option.
inline constexpr int kMaxThreadsPerBlock = 1, kMaxSharedMemoryPerBlock = 8, kWarpSize = 10,
                     kMultiprocessorCount = 16, kL2CacheSize = 38, kComputeCapabilityMajor = 75,
                     kComputeCapabilityMinor = 76;
inline constexpr int kJitErrorLogBuffer = 5, kJitErrorLogBufferSizeBytes = 6;

struct Driver {
  Result (*Init)(unsigned flags);
  Result (*GetErrorName)(Result error, const char** text);
  Result (*GetErrorString)(Result error, const char** text);
  Result (*DeviceGetCount)(int* count);
  Result (*DeviceGet)(DeviceNumber* device, int ordinal);
  Result (*DeviceGetName)(char* name, int size, DeviceNumber device);
  Result (*DeviceTotalMem)(size_t* bytes, DeviceNumber device);
  Result (*DeviceGetAttribute)(int* value, int attribute, DeviceNumber device);
  Result (*DevicePrimaryCtxRetain)(Context* context, DeviceNumber device);
  Result (*CtxSetCurrent)(Context context);
  Result (*CtxSynchronize)();
  Result (*MemAlloc)(Address* address, size_t bytes);
  Result (*MemFree)(Address address);
  Result (*Memcpy)(Address to, Address from, size_t bytes);
  Result (*MemcpyAsync)(Address to, Address from, size_t bytes, hipStream_t stream);
  Result (*MemsetD8Async)(Address to, unsigned char value, size_t bytes, hipStream_t stream);
  Result (*StreamCreate)(hipStream_t* stream, unsigned flags);
  Result (*StreamDestroy)(hipStream_t stream);
  Result (*StreamSynchronize)(hipStream_t stream);
  Result (*EventCreate)(hipEvent_t* event, unsigned flags);
  Result (*EventDestroy)(hipEvent_t event);
  Result (*EventRecord)(hipEvent_t event, hipStream_t stream);
  Result (*EventSynchronize)(hipEvent_t event);
  Result (*EventElapsedTime)(float* milliseconds, hipEvent_t start, hipEvent_t end);
  Result (*ModuleLoadDataEx)(hipModule_t* module, const void* image, unsigned count, int* options,
                             void** values);
  Result (*ModuleUnload)(hipModule_t module);
  Result (*ModuleGetFunction)(hipFunction_t* function, hipModule_t module, const char* name);
  Result (*LaunchKernel)(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         hipStream_t stream, void** arguments, void** extra);
  Result (*StreamBeginCapture)(hipStream_t stream, hipStreamCaptureMode mode);
  Result (*StreamEndCapture)(hipStream_t stream, hipGraph_t* graph);
  Result (*GraphInstantiate)(hipGraphExec_t* executable, hipGraph_t graph, uint64_t flags);
  Result (*GraphLaunch)(hipGraphExec_t executable, hipStream_t stream);
  Result (*GraphExecDestroy)(hipGraphExec_t executable);
  Result (*GraphDestroy)(hipGraph_t graph);
};

// The driver, or null where `library` is not there or lacks a function; `why` then says which.
const Driver* OpenDriver(const char* library, std::string& why);

}  // namespace lanewise::hip::cuda

#endif  // LANEWISE_HIP_RUNTIME_CUDA_DRIVER_H_
