#include "tests/differential/backend.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"

namespace lanewise::differential {
namespace {

bool IsEmulated(const hip::Device& device) {
  return device.name().find("(emulated)") != std::string::npos;
}

}  // namespace

absl::StatusOr<Backend> OpenBackend(std::string_view name) {
  if (name == kHost) return Backend{std::string(name), std::nullopt};
  constexpr std::string_view kEmulator = "emulator_";
  if (name == kGpu) {
    absl::StatusOr<hip::Device> device = hip::Device::Open(0);
    if (!device.ok()) {
      return absl::UnavailableError(
          absl::StrCat("no GPU: ", std::string(StdView(device.status().message()))));
    }
    if (IsEmulated(*device)) {
      return absl::UnavailableError(
          "no GPU: this is built for the emulator; build with --//hip:runtime=rocm or "
          "--//hip:runtime=cuda on a machine that has one");
    }
    return Backend{std::string(name), *std::move(device)};
  }
  if (name.substr(0, kEmulator.size()) == kEmulator) {
    absl::StatusOr<hip::Device> device = hip::Device::OfArch(name.substr(kEmulator.size()));
    const absl::StatusOr<hip::Device> first = hip::Device::Open(0);
    if (!device.ok() && first.ok() && IsEmulated(*first)) {
      return InvalidArgument("there is no backend '", name,
                             "'; the emulator has gfx942 and gfx950");
    }
    if (!device.ok() || !IsEmulated(*device)) {
      return absl::UnavailableError(
          absl::StrCat("'", AbslView(name), "' wants --//hip:runtime=emulator"));
    }
    return Backend{std::string(name), *std::move(device)};
  }
  return InvalidArgument("there is no backend '", name,
                         "'; there are host, emulator_gfx942, emulator_gfx950 and gpu");
}

std::optional<Implementation> ImplementationOf(const Operation& operation, const Backend& backend) {
  if (!backend.device) {
    if (!operation.host) return std::nullopt;
    return Implementation{&operation, backend.name, operation.host};
  }
  const auto runs = [&](const std::string& chip) { return backend.device->Runs(chip); };
  if (!operation.device || std::none_of(operation.chips.begin(), operation.chips.end(), runs)) {
    return std::nullopt;
  }
  return Implementation{&operation, backend.name, operation.device, &*backend.device};
}

}  // namespace lanewise::differential
