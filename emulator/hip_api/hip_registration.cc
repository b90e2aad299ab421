// What the compiler's host code calls for kernel<<<...>>> launches: registration of the program's
// device code, and launches by the host function's address.

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "emulator/hip_api/runtime_state.h"

namespace lanewise::emulator {
namespace {

// The compiler's wrapper around an offload bundle, as __hipRegisterFatBinary gets it.
struct FatBinary {
  uint32_t magic;
  uint32_t version;
  const void* bundle;
  void* unused;
};
constexpr uint32_t kFatBinaryMagic = 0x48495046;  // "HIPF"

struct Registered {
  const void* bundle = nullptr;
  std::unique_ptr<LoadedModule> modules[kDevices];
};

struct HostSymbol {
  Registered* binary = nullptr;
  std::string name;
};

struct CallConfiguration {
  dim3 grid, block;
  size_t dynamic_lds;
  hipStream_t stream;
};

class Registry {
 public:
  static Registry& Get() {
    static auto* const kRegistry = new Registry();
    return *kRegistry;
  }

  std::mutex mutex;
  std::vector<std::unique_ptr<Registered>> binaries;
  std::map<const void*, HostSymbol> functions;
  std::map<const void*, HostSymbol> variables;
};

// The binary's module for a device, loaded when first needed.
absl::StatusOr<LoadedModule*> ModuleFor(Registered& binary, int device) {
  std::unique_ptr<LoadedModule>& module = binary.modules[device];
  if (module == nullptr) {
    absl::StatusOr<std::unique_ptr<LoadedModule>> loaded = LoadModule(binary.bundle, 0, device);
    if (!loaded.ok()) return loaded.status();
    module = *std::move(loaded);
  }
  return module.get();
}

absl::StatusOr<const LoadedFunction*> FunctionOf(const void* host_function) {
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.functions.find(host_function);
  if (found == registry.functions.end()) {
    return absl::NotFoundError("this host function is no registered kernel");
  }
  absl::StatusOr<LoadedModule*> module = ModuleFor(*found->second.binary, CurrentDevice());
  if (!module.ok()) return module.status();
  for (const std::unique_ptr<LoadedFunction>& each : (*module)->functions) {
    if (each->kernel->name == found->second.name) return each.get();
  }
  return absl::NotFoundError(absl::StrCat("no kernel ", found->second.name, " for this device"));
}

struct Range {
  uint8_t* begin = nullptr;
  uint64_t size = 0;
};

absl::StatusOr<Range> VariableOf(const void* host_variable) {
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto found = registry.variables.find(host_variable);
  if (found == registry.variables.end()) {
    return absl::NotFoundError("this host variable is no registered device variable");
  }
  absl::StatusOr<LoadedModule*> module = ModuleFor(*found->second.binary, CurrentDevice());
  if (!module.ok()) return module.status();
  const Variable* variable = (*module)->object->FindVariable(found->second.name);
  if (variable == nullptr)
    return absl::NotFoundError(absl::StrCat("no variable ", found->second.name));
  return Range{(*module)->object->image() + variable->offset, variable->size};
}

std::vector<CallConfiguration>& Configurations() {
  thread_local std::vector<CallConfiguration> configurations;
  return configurations;
}

hipError_t CopySymbol(const char* function, const void* symbol, size_t size, size_t offset,
                      const void* from, void* to) {
  absl::StatusOr<Range> range = VariableOf(symbol);
  if (!range.ok()) return Fail(hipErrorInvalidSymbol, function, "unknown symbol");
  if (offset > range->size || size > range->size - offset) {
    return Fail(hipErrorInvalidValue, function, "beyond the variable's end");
  }
  if (from != nullptr) std::memcpy(range->begin + offset, from, size);
  if (to != nullptr) std::memcpy(to, range->begin + offset, size);
  return hipSuccess;
}

}  // namespace
}  // namespace lanewise::emulator

using namespace lanewise::emulator;  // NOLINT: the functions below are C, outside of any namespace

extern "C" {

void** __hipRegisterFatBinary(const void* data) {
  FatBinary wrapper;
  std::memcpy(&wrapper, data, sizeof(wrapper));
  if (wrapper.magic != kFatBinaryMagic) return nullptr;
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.binaries.push_back(std::make_unique<Registered>());
  registry.binaries.back()->bundle = wrapper.bundle;
  return reinterpret_cast<void**>(registry.binaries.back().get());
}

// Code objects stay: other threads may still run their kernels when static destructors run.
void __hipUnregisterFatBinary(void**) {}

void __hipRegisterFunction(void** modules, const void* host_function, char*, const char* name,
                           unsigned int, void*, void*, dim3*, dim3*, int*) {
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.functions[host_function] = {reinterpret_cast<Registered*>(modules), name};
}

void __hipRegisterVar(void** modules, void* host_variable, char*, char* name, int, size_t, int,
                      int) {
  Registry& registry = Registry::Get();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.variables[host_variable] = {reinterpret_cast<Registered*>(modules), name};
}

hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t dynamic_lds,
                                      hipStream_t stream) {
  Configurations().push_back({grid, block, dynamic_lds, stream});
  return hipSuccess;
}

hipError_t __hipPopCallConfiguration(dim3* grid, dim3* block, size_t* dynamic_lds,
                                     hipStream_t* stream) {
  if (Configurations().empty()) return hipErrorInvalidValue;
  const CallConfiguration last = Configurations().back();
  Configurations().pop_back();
  *grid = last.grid;
  *block = last.block;
  *dynamic_lds = last.dynamic_lds;
  *stream = last.stream;
  return hipSuccess;
}

hipError_t hipLaunchKernel(const void* host_function, dim3 grid, dim3 block, void** args,
                           size_t dynamic_lds, hipStream_t) {
  absl::StatusOr<const LoadedFunction*> function = FunctionOf(host_function);
  if (!function.ok()) return Fail("hipLaunchKernel", function.status());
  const Kernel& kernel = *(*function)->kernel;
  std::vector<uint8_t> arguments(static_cast<size_t>(kernel.ExplicitSize()));
  size_t next = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.is_hidden()) continue;
    std::memcpy(arguments.data() + argument.offset, args[next++],
                static_cast<size_t>(argument.size));
  }
  return LaunchFunction("hipLaunchKernel", **function, {grid.x, grid.y, grid.z},
                        {block.x, block.y, block.z}, static_cast<uint32_t>(dynamic_lds), arguments);
}

// Dynamic LDS needs no permission here: a launch may ask for what the chip has.
hipError_t hipFuncSetAttribute(const void*, hipFuncAttribute, int) { return hipSuccess; }

hipError_t hipMemcpyToSymbol(const void* symbol, const void* from, size_t size, size_t offset,
                             hipMemcpyKind) {
  return CopySymbol("hipMemcpyToSymbol", symbol, size, offset, from, nullptr);
}
hipError_t hipMemcpyFromSymbol(void* to, const void* symbol, size_t size, size_t offset,
                               hipMemcpyKind) {
  return CopySymbol("hipMemcpyFromSymbol", symbol, size, offset, nullptr, to);
}
hipError_t hipGetSymbolAddress(void** pointer, const void* symbol) {
  absl::StatusOr<Range> range = VariableOf(symbol);
  if (!range.ok()) return Fail(hipErrorInvalidSymbol, "hipGetSymbolAddress", "unknown symbol");
  *pointer = range->begin;
  return hipSuccess;
}
hipError_t hipGetSymbolSize(size_t* size, const void* symbol) {
  absl::StatusOr<Range> range = VariableOf(symbol);
  if (!range.ok()) return Fail(hipErrorInvalidSymbol, "hipGetSymbolSize", "unknown symbol");
  *size = range->size;
  return hipSuccess;
}

}  // extern "C"
