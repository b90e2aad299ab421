// What the emulator can tell beyond HIP's API.

#include <string>
#include <string_view>

#include "emulator/hip_api/control.h"
#include "hip/runtime/error.h"

namespace lanewise::hip {

std::string BackendReport() { return emulator::LastReport(); }

void BackendNameMemory(const void* memory, std::string_view name) {
  emulator::NameAllocation(memory, name);
}

}  // namespace lanewise::hip
