#ifndef LANEWISE_EMULATOR_LOAD_OFFLOAD_BUNDLE_H_
#define LANEWISE_EMULATOR_LOAD_OFFLOAD_BUNDLE_H_

// Clang's offload bundles: several code objects in one file, one a chip.

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "emulator/arch.h"

namespace lanewise::emulator {

// The part of `bytes` that is the code object for `arch`: all of it where it is no bundle. A bundle
// without one, a damaged and a compressed bundle are refused.
absl::StatusOr<std::span<const uint8_t>> SelectCodeObject(std::span<const uint8_t> bytes,
                                                          Arch arch);

// Bytes of the code object or bundle that begins at `bytes`, from its own headers: for images that
// come as a pointer without a size. `bytes` must begin with one of the two magics.
absl::StatusOr<uint64_t> ImageSize(const uint8_t* bytes);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_OFFLOAD_BUNDLE_H_
