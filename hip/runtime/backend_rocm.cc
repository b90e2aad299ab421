// ROCm's library has no words beyond HIP's error codes.

#include <string>
#include <string_view>

#include "hip/runtime/error.h"

namespace lanewise::hip {

std::string BackendReport() { return ""; }

void BackendNameMemory(const void* /*memory*/, std::string_view /*name*/) {}

}  // namespace lanewise::hip
