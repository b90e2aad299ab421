#ifndef LANEWISE_HIP_RUNTIME_MODULE_H_
#define LANEWISE_HIP_RUNTIME_MODULE_H_

// Code objects on the current device, and launches of their kernels.
//
//   absl::StatusOr<Module> module = Module::Load(DenseGemvCodeObjects(), device);
//   absl::StatusOr<Kernel> kernel = module->Find("DenseGemv");
//   absl::Status status = kernel->Launch({.grid = {n / 16}, .block = {256}}, stream,
//                                        weights, activations, out, n, k);

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hip/embedded_code_object.h"
#include "hip/runtime/buffer.h"
#include "hip/runtime/device.h"
#include "hip/runtime/stream.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {

struct Size3 {
  uint32_t x = 1, y = 1, z = 1;
};

struct LaunchShape {
  Size3 grid;                // workgroups
  Size3 block;               // work-items of a workgroup
  uint32_t dynamic_lds = 0;  // bytes
};

// One kernel of a loaded module; lives no longer than it.
class Kernel {
 public:
  // Queues the kernel on the stream. Arguments stand in the kernel's order: values of the very size
  // the kernel was compiled for, and for pointers a pointer or a Buffer. A wrong number or size is
  // refused. Errors of the kernel itself may come with a later call on the stream.
  template <typename... Args>
  absl::Status Launch(const LaunchShape& shape, const Stream& stream, const Args&... args) const {
    return LaunchPacked(shape, stream, {Pack(args)...});
  }

  // The same with the arguments' bytes, for callers that learn their types at run time.
  absl::Status LaunchBytes(const LaunchShape& shape, const Stream& stream,
                           std::vector<std::vector<uint8_t>> arguments) const {
    return LaunchPacked(shape, stream, std::move(arguments));
  }

  const std::string& name() const { return name_; }

 private:
  friend class Module;
  using Bytes = std::vector<uint8_t>;

  Kernel(hipFunction_t function, std::string name, std::vector<int64_t> sizes)
      : function_(function), name_(std::move(name)), sizes_(std::move(sizes)) {}

  template <typename T>
  static Bytes Pack(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>, "kernel arguments are copied as bytes");
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    return Bytes(bytes, bytes + sizeof(value));
  }
  static Bytes Pack(const Buffer& buffer) { return Pack(buffer.data()); }
  absl::Status LaunchPacked(const LaunchShape& shape, const Stream& stream,
                            std::vector<Bytes> arguments) const;

  hipFunction_t function_ = nullptr;
  std::string name_;
  std::vector<int64_t> sizes_;
};

// Unloads its code when it is destroyed: it has to outlive the work that was queued of it, and
// graphs that hold such work.
class Module {
 public:
  // Loads the code object for the device's chip (of several that run on it, the last) and makes the
  // device current.
  static absl::StatusOr<Module> Load(std::span<const EmbeddedCodeObject> objects,
                                     const Device& device);

  Module(Module&& other) noexcept
      : module_(std::exchange(other.module_, nullptr)), signatures_(std::move(other.signatures_)) {}
  Module& operator=(Module&& other) noexcept {
    std::swap(module_, other.module_);
    std::swap(signatures_, other.signatures_);
    return *this;
  }
  ~Module();

  absl::StatusOr<Kernel> Find(std::string_view name) const;

 private:
  explicit Module(hipModule_t module) : module_(module) {}

  hipModule_t module_ = nullptr;
  std::map<std::string, std::vector<int64_t>> signatures_;
};

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_MODULE_H_
