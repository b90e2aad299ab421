#ifndef LANEWISE_HIP_RUNTIME_KERNEL_SIGNATURE_H_
#define LANEWISE_HIP_RUNTIME_KERNEL_SIGNATURE_H_

// The argument sizes of a code object's kernels. HIP's API does not tell them, and takes whatever a
// caller's pointers lead to.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::hip {

// Bytes of each explicit argument, in order, by kernel name. From the AMDGPU metadata note of an
// ELF code object (V3 and later), or from PTX; an error where the file is damaged.
absl::StatusOr<std::map<std::string, std::vector<int64_t>>> ReadKernelSignatures(
    std::span<const uint8_t> code_object);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_KERNEL_SIGNATURE_H_
