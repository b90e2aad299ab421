#ifndef LANEWISE_EMULATOR_LOAD_READ_FILE_H_
#define LANEWISE_EMULATOR_LOAD_READ_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::emulator {

// The whole file; NotFound or Internal with the system's words.
absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path);

}  // namespace lanewise::emulator

#endif  // LANEWISE_EMULATOR_LOAD_READ_FILE_H_
