// The HIP runtime's memory functions. Device memory is host memory that the allocation maps know.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "emulator/hip_api/runtime_state.h"

namespace lanewise::emulator {
namespace {

constexpr size_t kAlignment = 256;  // hipMalloc promises as much
// New memory holds this, so that a program that counts on zeros is found out.
constexpr uint8_t kFresh = 0xdb;

hipError_t Allocate(const char* function, AllocationMap& map, const char* kind, void** pointer,
                    size_t size) {
  if (pointer == nullptr) return Fail(hipErrorInvalidValue, function, "no place for the pointer");
  *pointer = nullptr;
  if (size == 0) return hipSuccess;
  if (size > SIZE_MAX - kAlignment) return Fail(hipErrorOutOfMemory, function, "size overflows");
  // At least a byte of padding belongs to nobody, so that neighbours never touch.
  void* memory = std::aligned_alloc(kAlignment, size / kAlignment * kAlignment + kAlignment);
  if (memory == nullptr) {
    return Fail(hipErrorOutOfMemory, function, absl::StrCat(size, " bytes are not to be had"));
  }
  std::memset(memory, kFresh, size);
  map.Insert(reinterpret_cast<uint64_t>(memory), size,
             absl::StrCat(kind, " allocation ", RuntimeState::Get().NextNumber()));
  *pointer = memory;
  return hipSuccess;
}

hipError_t AllocateOnDevice(const char* function, void** pointer, size_t size) {
  return Allocate(function, RuntimeState::Get().device_memory(CurrentDevice()), "device", pointer,
                  size);
}

hipError_t AllocateOnHost(const char* function, void** pointer, size_t size) {
  return Allocate(function, RuntimeState::Get().host_memory(), "host", pointer, size);
}

hipError_t Release(const char* function, void* pointer) {
  if (pointer == nullptr) return hipSuccess;
  RuntimeState& state = RuntimeState::Get();
  const auto base = reinterpret_cast<uint64_t>(pointer);
  bool found = state.host_memory().Remove(base);
  for (int device = 0; device < kDevices && !found; ++device) {
    found = state.device_memory(device).Remove(base);
  }
  if (!found) {
    return Fail(hipErrorInvalidValue, function, "the pointer is not the start of an allocation");
  }
  std::free(pointer);
  return hipSuccess;
}

// A range of bytes that the runtime is to read or write on a device's behalf.
bool IsAllocated(const void* pointer, size_t size) {
  int owner = 0;
  const Allocation found = RuntimeState::Get().Find(pointer, owner);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  return found.base != 0 && size <= found.end() - address;
}

hipError_t Copy(const char* function, void* to, const void* from, size_t size, bool to_device,
                bool from_device) {
  if (size == 0) return hipSuccess;
  if (to == nullptr || from == nullptr) {
    return Fail(hipErrorInvalidValue, function, "a null pointer");
  }
  if (to_device && !IsAllocated(to, size)) {
    return Fail(hipErrorInvalidValue, function,
                absl::StrCat("the destination's ", size, " bytes are not within one allocation"));
  }
  if (from_device && !IsAllocated(from, size)) {
    return Fail(hipErrorInvalidValue, function,
                absl::StrCat("the source's ", size, " bytes are not within one allocation"));
  }
  std::memmove(to, from, size);
  return hipSuccess;
}

hipError_t CopyOfKind(const char* function, void* to, const void* from, size_t size,
                      hipMemcpyKind kind) {
  switch (kind) {
    case hipMemcpyHostToHost:
    case hipMemcpyDefault:
      return Copy(function, to, from, size, false, false);
    case hipMemcpyHostToDevice:
      return Copy(function, to, from, size, true, false);
    case hipMemcpyDeviceToHost:
      return Copy(function, to, from, size, false, true);
    case hipMemcpyDeviceToDevice:
      return Copy(function, to, from, size, true, true);
    default:
      return Fail(hipErrorInvalidMemcpyDirection, function, "unknown kind of copy");
  }
}

template <typename T>
hipError_t Fill(const char* function, void* to, T value, size_t count) {
  if (count == 0) return hipSuccess;
  if (count > SIZE_MAX / sizeof(T) || !IsAllocated(to, count * sizeof(T))) {
    return Fail(hipErrorInvalidValue, function, "the bytes are not within one allocation");
  }
  auto* bytes = static_cast<uint8_t*>(to);
  for (size_t i = 0; i < count; ++i) std::memcpy(bytes + i * sizeof(T), &value, sizeof(T));
  return hipSuccess;
}

hipError_t Copy2D(const char* function, void* to, size_t to_pitch, const void* from,
                  size_t from_pitch, size_t width, size_t height, hipMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) {
    return Fail(hipErrorInvalidPitchValue, function, "a row is wider than its pitch");
  }
  for (size_t row = 0; row < height; ++row) {
    const hipError_t error =
        CopyOfKind(function, static_cast<uint8_t*>(to) + row * to_pitch,
                   static_cast<const uint8_t*>(from) + row * from_pitch, width, kind);
    if (error != hipSuccess) return error;
  }
  return hipSuccess;
}

size_t HostMemory(int name) {
  return static_cast<size_t>(sysconf(name)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

void* Pointer(hipDeviceptr_t pointer) { return pointer; }

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

hipError_t hipMalloc(void** ptr, size_t size) { return AllocateOnDevice("hipMalloc", ptr, size); }

hipError_t hipMallocAsync(void** ptr, size_t size, hipStream_t) {
  return AllocateOnDevice("hipMallocAsync", ptr, size);
}

hipError_t hipMallocPitch(void** ptr, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr)
    return Fail(hipErrorInvalidValue, "hipMallocPitch", "no place for the pitch");
  *pitch = (width + kAlignment - 1) / kAlignment * kAlignment;
  return AllocateOnDevice("hipMallocPitch", ptr, *pitch * height);
}

// One memory serves host and devices: managed memory is host memory that every device may reach.
hipError_t hipMallocManaged(void** ptr, size_t size, unsigned int) {
  return AllocateOnHost("hipMallocManaged", ptr, size);
}
hipError_t hipHostMalloc(void** ptr, size_t size, unsigned int) {
  return AllocateOnHost("hipHostMalloc", ptr, size);
}
hipError_t hipHostAlloc(void** ptr, size_t size, unsigned int) {
  return AllocateOnHost("hipHostAlloc", ptr, size);
}
hipError_t hipMallocHost(void** ptr, size_t size) {
  return AllocateOnHost("hipMallocHost", ptr, size);
}

hipError_t hipFree(void* ptr) { return Release("hipFree", ptr); }
hipError_t hipFreeAsync(void* ptr, hipStream_t) { return Release("hipFreeAsync", ptr); }
hipError_t hipHostFree(void* ptr) { return Release("hipHostFree", ptr); }
hipError_t hipFreeHost(void* ptr) { return Release("hipFreeHost", ptr); }

hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned int) {
  if (device == nullptr || !IsAllocated(host, 1)) {
    return Fail(hipErrorInvalidValue, "hipHostGetDevicePointer", "not memory of hipHostMalloc");
  }
  *device = host;
  return hipSuccess;
}

hipError_t hipHostRegister(void* ptr, size_t size, unsigned int) {
  if (ptr == nullptr || size == 0) {
    return Fail(hipErrorInvalidValue, "hipHostRegister", "an empty range");
  }
  RuntimeState::Get().host_memory().Insert(reinterpret_cast<uint64_t>(ptr), size,
                                           "registered host memory");
  return hipSuccess;
}

hipError_t hipHostUnregister(void* ptr) {
  if (!RuntimeState::Get().host_memory().Remove(reinterpret_cast<uint64_t>(ptr))) {
    return Fail(hipErrorHostMemoryNotRegistered, "hipHostUnregister", "not registered");
  }
  return hipSuccess;
}

hipError_t hipMemcpy(void* dst, const void* src, size_t size, hipMemcpyKind kind) {
  return CopyOfKind("hipMemcpy", dst, src, size, kind);
}
hipError_t hipMemcpyAsync(void* dst, const void* src, size_t size, hipMemcpyKind kind,
                          hipStream_t) {
  return CopyOfKind("hipMemcpyAsync", dst, src, size, kind);
}
hipError_t hipMemcpyWithStream(void* dst, const void* src, size_t size, hipMemcpyKind kind,
                               hipStream_t) {
  return CopyOfKind("hipMemcpyWithStream", dst, src, size, kind);
}
hipError_t hipMemcpyHtoD(hipDeviceptr_t dst, void* src, size_t size) {
  return Copy("hipMemcpyHtoD", Pointer(dst), src, size, true, false);
}
hipError_t hipMemcpyDtoH(void* dst, hipDeviceptr_t src, size_t size) {
  return Copy("hipMemcpyDtoH", dst, Pointer(src), size, false, true);
}
hipError_t hipMemcpyDtoD(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size) {
  return Copy("hipMemcpyDtoD", Pointer(dst), Pointer(src), size, true, true);
}
hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t dst, void* src, size_t size, hipStream_t) {
  return Copy("hipMemcpyHtoDAsync", Pointer(dst), src, size, true, false);
}
hipError_t hipMemcpyDtoHAsync(void* dst, hipDeviceptr_t src, size_t size, hipStream_t) {
  return Copy("hipMemcpyDtoHAsync", dst, Pointer(src), size, false, true);
}
hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t dst, hipDeviceptr_t src, size_t size, hipStream_t) {
  return Copy("hipMemcpyDtoDAsync", Pointer(dst), Pointer(src), size, true, true);
}
hipError_t hipMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, hipMemcpyKind kind) {
  return Copy2D("hipMemcpy2D", dst, dpitch, src, spitch, width, height, kind);
}
hipError_t hipMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, hipMemcpyKind kind, hipStream_t) {
  return Copy2D("hipMemcpy2DAsync", dst, dpitch, src, spitch, width, height, kind);
}

hipError_t hipMemset(void* dst, int value, size_t size) {
  return Fill("hipMemset", dst, static_cast<uint8_t>(value), size);
}
hipError_t hipMemsetAsync(void* dst, int value, size_t size, hipStream_t) {
  return Fill("hipMemsetAsync", dst, static_cast<uint8_t>(value), size);
}
hipError_t hipMemsetD8(hipDeviceptr_t dst, unsigned char value, size_t count) {
  return Fill("hipMemsetD8", Pointer(dst), value, count);
}
hipError_t hipMemsetD8Async(hipDeviceptr_t dst, unsigned char value, size_t count, hipStream_t) {
  return Fill("hipMemsetD8Async", Pointer(dst), value, count);
}
hipError_t hipMemsetD16(hipDeviceptr_t dst, unsigned short value, size_t count) {
  return Fill("hipMemsetD16", Pointer(dst), value, count);
}
hipError_t hipMemsetD16Async(hipDeviceptr_t dst, unsigned short value, size_t count, hipStream_t) {
  return Fill("hipMemsetD16Async", Pointer(dst), value, count);
}
hipError_t hipMemsetD32(hipDeviceptr_t dst, int value, size_t count) {
  return Fill("hipMemsetD32", Pointer(dst), value, count);
}
hipError_t hipMemsetD32Async(hipDeviceptr_t dst, int value, size_t count, hipStream_t) {
  return Fill("hipMemsetD32Async", Pointer(dst), value, count);
}

// The emulated devices' memory is the host's.
hipError_t hipMemGetInfo(size_t* free, size_t* total) {
  if (free != nullptr) *free = HostMemory(_SC_AVPHYS_PAGES);
  if (total != nullptr) *total = HostMemory(_SC_PHYS_PAGES);
  return hipSuccess;
}

hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* ptr) {
  int owner = 0;
  const Allocation found = RuntimeState::Get().Find(ptr, owner);
  if (attributes == nullptr || found.base == 0) {
    return Fail(hipErrorInvalidValue, "hipPointerGetAttributes", "not memory of this runtime");
  }
  std::memset(attributes, 0, sizeof(*attributes));
  attributes->device = std::max(owner, 0);
  attributes->devicePointer = const_cast<void*>(ptr);
  attributes->hostPointer = owner == RuntimeState::kHost ? const_cast<void*>(ptr) : nullptr;
#if HIP_VERSION_MAJOR < 6
  attributes->memoryType = owner == RuntimeState::kHost ? hipMemoryTypeHost : hipMemoryTypeDevice;
#else
  attributes->type = owner == RuntimeState::kHost ? hipMemoryTypeHost : hipMemoryTypeDevice;
#endif
  return hipSuccess;
}

}  // extern "C"
