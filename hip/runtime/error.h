#ifndef LANEWISE_HIP_RUNTIME_ERROR_H_
#define LANEWISE_HIP_RUNTIME_ERROR_H_

// HIP's error codes as absl::Status.

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "third_party/hip_api.h"

namespace lanewise::hip {

// OK for hipSuccess; else the error's name and text behind `what`, and whatever more the library
// behind the API tells (the emulator: which check failed, where).
absl::Status ToStatus(hipError_t error, std::string_view what);

// What the library that is linked can say about the last failure; empty where it has no words but
// the error code. Each backend has its own definition.
std::string BackendReport();

// Gives memory a name in reports, where the library knows how to.
void BackendNameMemory(const void* memory, std::string_view name);

}  // namespace lanewise::hip

#endif  // LANEWISE_HIP_RUNTIME_ERROR_H_
