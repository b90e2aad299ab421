#ifndef LANEWISE_EMULATOR_LOAD_KERNEL_METADATA_H_
#define LANEWISE_EMULATOR_LOAD_KERNEL_METADATA_H_

// The msgpack note of a code object: what its kernels' arguments are.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/load/code_object.h"

namespace lanewise::emulator {

// A kernel as the metadata describes it; what only the descriptor knows is left at its default.
struct KernelMetadata {
  Kernel kernel;
  std::string descriptor_symbol;  // "name.kd"
};

// All kernels of an NT_AMDGPU_METADATA note's contents (code object V3 and later).
absl::StatusOr<std::vector<KernelMetadata>> ReadKernelMetadata(std::string_view note);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_KERNEL_METADATA_H_
