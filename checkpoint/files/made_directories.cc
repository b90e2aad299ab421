#include "checkpoint/files/made_directories.h"

#include <system_error>

#include "absl/strings/str_cat.h"

namespace lanewise {

namespace fs = std::filesystem;

MadeDirectories::~MadeDirectories() {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    std::error_code ignored;
    fs::remove(*made, ignored);  // empty directories only
  }
}

absl::Status MadeDirectories::Make(const fs::path& directory) {
  if (directory.empty()) return absl::OkStatus();
  std::error_code error;
  if (fs::is_directory(directory, error)) return absl::OkStatus();
  if (absl::Status status = Make(directory.parent_path()); !status.ok()) return status;
  if (fs::create_directory(directory, error)) made_.push_back(directory);
  std::error_code ignored;
  if (fs::is_directory(directory, ignored)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot make the directory ", directory.string(), ": ", error.message()));
}

}  // namespace lanewise
