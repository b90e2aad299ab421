// The HIP runtime's modules, functions and launches.

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "emulator/hip_api/runtime_state.h"
#include "emulator/load/read_file.h"

namespace lanewise::emulator {
namespace {

LoadedModule* ToModule(hipModule_t module) { return reinterpret_cast<LoadedModule*>(module); }
LoadedFunction* ToFunction(hipFunction_t function) {
  return reinterpret_cast<LoadedFunction*>(function);
}

hipError_t Load(const char* function, hipModule_t* module, const void* image, uint64_t size) {
  if (module == nullptr || image == nullptr) {
    return Fail(hipErrorInvalidValue, function, "a null pointer");
  }
  absl::StatusOr<std::unique_ptr<LoadedModule>> loaded = LoadModule(image, size, CurrentDevice());
  if (!loaded.ok()) {
    const absl::string_view why = loaded.status().message();
    return Fail(hipErrorInvalidImage, function, std::string_view(why.data(), why.size()));
  }
  *module = reinterpret_cast<hipModule_t>(loaded->release());
  return hipSuccess;
}

// The explicit kernarg bytes from an array of pointers to values.
std::vector<uint8_t> FromPointers(const Kernel& kernel, void** pointers) {
  std::vector<uint8_t> bytes(static_cast<size_t>(kernel.ExplicitSize()));
  size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.is_hidden()) continue;
    std::memcpy(bytes.data() + argument.offset, pointers[next++],
                static_cast<size_t>(argument.size));
  }
  return bytes;
}

// The explicit kernarg bytes from the list of `extra`: a buffer and its size.
absl::StatusOr<std::vector<uint8_t>> FromExtra(void** extra) {
  const uint8_t* buffer = nullptr;
  size_t size = 0;
  for (; *extra != HIP_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const uint8_t*>(extra[1]);
    } else if (extra[0] == HIP_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const size_t*>(extra[1]);
    } else {
      return absl::InvalidArgumentError("`extra` has a key that is neither buffer nor size");
    }
  }
  if (buffer == nullptr && size > 0) return absl::InvalidArgumentError("`extra` has no buffer");
  return std::vector<uint8_t>(buffer, buffer + size);
}

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
  return Load("hipModuleLoadData", module, image, 0);
}

hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned int, hipJitOption*,
                               void**) {
  return Load("hipModuleLoadDataEx", module, image, 0);
}

hipError_t hipModuleLoad(hipModule_t* module, const char* fname) {
  if (fname == nullptr) return Fail(hipErrorInvalidValue, "hipModuleLoad", "no file name");
  const absl::StatusOr<std::vector<uint8_t>> bytes = ReadFile(fname);
  if (!bytes.ok())
    return Fail(hipErrorFileNotFound, "hipModuleLoad", absl::StrCat("cannot read ", fname));
  if (bytes->empty()) return Fail(hipErrorInvalidImage, "hipModuleLoad", "the file is empty");
  return Load("hipModuleLoad", module, bytes->data(), bytes->size());
}

hipError_t hipModuleUnload(hipModule_t module) {
  if (module == nullptr) return Fail(hipErrorInvalidValue, "hipModuleUnload", "no module");
  LoadedModule* loaded = ToModule(module);
  RuntimeState::Get()
      .device_memory(loaded->device)
      .Remove(reinterpret_cast<uint64_t>(loaded->object->image()));
  delete loaded;
  return hipSuccess;
}

hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
  if (function == nullptr || module == nullptr || name == nullptr) {
    return Fail(hipErrorInvalidValue, "hipModuleGetFunction", "a null pointer");
  }
  for (const std::unique_ptr<LoadedFunction>& each : ToModule(module)->functions) {
    if (each->kernel->name == name) {
      *function = reinterpret_cast<hipFunction_t>(each.get());
      return hipSuccess;
    }
  }
  return Fail(hipErrorNotFound, "hipModuleGetFunction",
              absl::StrCat("the module has no kernel ", name));
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t* pointer, size_t* size, hipModule_t module,
                              const char* name) {
  if (module == nullptr || name == nullptr) {
    return Fail(hipErrorInvalidValue, "hipModuleGetGlobal", "a null pointer");
  }
  const CodeObject& object = *ToModule(module)->object;
  const Variable* variable = object.FindVariable(name);
  if (variable == nullptr) {
    return Fail(hipErrorNotFound, "hipModuleGetGlobal",
                absl::StrCat("the module has no variable ", name));
  }
  if (pointer != nullptr) *pointer = object.image() + variable->offset;
  if (size != nullptr) *size = variable->size;
  return hipSuccess;
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned int grid_x, unsigned int grid_y,
                                 unsigned int grid_z, unsigned int block_x, unsigned int block_y,
                                 unsigned int block_z, unsigned int dynamic_lds, hipStream_t,
                                 void** parameters, void** extra) {
  constexpr char kName[] = "hipModuleLaunchKernel";
  if (function == nullptr) return Fail(hipErrorInvalidHandle, kName, "no function");
  const LoadedFunction& loaded = *ToFunction(function);
  std::vector<uint8_t> arguments;
  if (parameters != nullptr) {
    arguments = FromPointers(*loaded.kernel, parameters);
  } else if (extra != nullptr) {
    absl::StatusOr<std::vector<uint8_t>> given = FromExtra(extra);
    if (!given.ok()) return Fail(kName, given.status());
    arguments = *std::move(given);
  }
  return LaunchFunction(kName, loaded, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z},
                        dynamic_lds, arguments);
}

hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute,
                               hipFunction_t function) {
  if (value == nullptr || function == nullptr) {
    return Fail(hipErrorInvalidValue, "hipFuncGetAttribute", "a null pointer");
  }
  const Kernel& kernel = *ToFunction(function)->kernel;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(kernel.max_flat_workgroup_size);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel.group_segment_size);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(kernel.private_segment_size);
      return hipSuccess;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(kernel.vgpr_count);
      return hipSuccess;
    default:
      return Fail(hipErrorNotSupported, "hipFuncGetAttribute", "this attribute is not modelled");
  }
}

}  // extern "C"
