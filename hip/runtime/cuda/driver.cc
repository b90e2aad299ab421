#include "hip/runtime/cuda/driver.h"

#include <dlfcn.h>

namespace lanewise::hip::cuda {
namespace {

class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}

  template <class Function>
  void operator()(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  // The first function that the library lacks, or null.
  const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

}  // namespace

const Driver* OpenDriver(const char* library, std::string& why) {
  // Never closed: the driver does not take being unloaded.
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    why = std::string("NVIDIA's driver is not installed: ") + dlerror();
    return nullptr;
  }
  auto* const driver = new Driver;
  Finder find(handle);
  find("cuInit", driver->Init);
  find("cuGetErrorName", driver->GetErrorName);
  find("cuGetErrorString", driver->GetErrorString);
  find("cuDeviceGetCount", driver->DeviceGetCount);
  find("cuDeviceGet", driver->DeviceGet);
  find("cuDeviceGetName", driver->DeviceGetName);
  find("cuDeviceTotalMem_v2", driver->DeviceTotalMem);
  find("cuDeviceGetAttribute", driver->DeviceGetAttribute);
  find("cuDevicePrimaryCtxRetain", driver->DevicePrimaryCtxRetain);
  find("cuCtxSetCurrent", driver->CtxSetCurrent);
  find("cuCtxSynchronize", driver->CtxSynchronize);
  find("cuMemAlloc_v2", driver->MemAlloc);
  find("cuMemFree_v2", driver->MemFree);
  find("cuMemcpy", driver->Memcpy);
  find("cuMemcpyAsync", driver->MemcpyAsync);
  find("cuMemsetD8Async", driver->MemsetD8Async);
  find("cuStreamCreate", driver->StreamCreate);
  find("cuStreamDestroy_v2", driver->StreamDestroy);
  find("cuStreamSynchronize", driver->StreamSynchronize);
  find("cuEventCreate", driver->EventCreate);
  find("cuEventDestroy_v2", driver->EventDestroy);
  find("cuEventRecord", driver->EventRecord);
  find("cuEventSynchronize", driver->EventSynchronize);
  find("cuEventElapsedTime", driver->EventElapsedTime);
  find("cuModuleLoadDataEx", driver->ModuleLoadDataEx);
  find("cuModuleUnload", driver->ModuleUnload);
  find("cuModuleGetFunction", driver->ModuleGetFunction);
  find("cuLaunchKernel", driver->LaunchKernel);
  find("cuStreamBeginCapture_v2", driver->StreamBeginCapture);
  find("cuStreamEndCapture", driver->StreamEndCapture);
  find("cuGraphInstantiateWithFlags", driver->GraphInstantiate);
  find("cuGraphLaunch", driver->GraphLaunch);
  find("cuGraphExecDestroy", driver->GraphExecDestroy);
  find("cuGraphDestroy", driver->GraphDestroy);
  if (find.missing() != nullptr) {
    why = std::string(library) + " has no " + find.missing();
    delete driver;
    return nullptr;
  }
  return driver;
}

}  // namespace lanewise::hip::cuda
