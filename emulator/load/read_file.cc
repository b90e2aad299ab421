#include "emulator/load/read_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace lanewise::emulator {

absl::StatusOr<std::vector<uint8_t>> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return absl::NotFoundError(absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad())
    return absl::DataLossError(absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  return bytes;
}

}  // namespace lanewise::emulator
