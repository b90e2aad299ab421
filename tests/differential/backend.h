#ifndef LANEWISE_TESTS_DIFFERENTIAL_BACKEND_H_
#define LANEWISE_TESTS_DIFFERENTIAL_BACKEND_H_

// The places where implementations run.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "hip/runtime/device.h"
#include "tests/differential/run.h"

namespace lanewise::differential {

struct Backend {
  std::string name;
  std::optional<hip::Device> device;  // none: the host
};

// "host", "emulator_gfx942", "emulator_gfx950" or "gpu". InvalidArgument for another name,
// Unavailable, with a word of what is missing, where there is no such device: "gpu" wants a runtime
// that reaches one, --//hip:runtime=rocm or cuda.
absl::StatusOr<Backend> OpenBackend(std::string_view name);

// What the operation has for that backend, if anything.
std::optional<Implementation> ImplementationOf(const Operation& operation, const Backend& backend);

}  // namespace lanewise::differential

#endif  // LANEWISE_TESTS_DIFFERENTIAL_BACKEND_H_
