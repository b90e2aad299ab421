#ifndef LANEWISE_CHECKPOINT_FILES_MADE_DIRECTORIES_H_
#define LANEWISE_CHECKPOINT_FILES_MADE_DIRECTORIES_H_

#include <filesystem>
#include <vector>

#include "absl/status/status.h"

namespace lanewise {

// Directories made for output that may yet fail: unless Keep is called, its destructor removes
// those that it made and that are empty. Declare it before what writes files in them, so that
// unfinished files are gone by then.
class MadeDirectories {
 public:
  MadeDirectories() = default;
  MadeDirectories(const MadeDirectories&) = delete;
  MadeDirectories& operator=(const MadeDirectories&) = delete;
  ~MadeDirectories();

  // Makes `directory` and those above it, as far as they are missing; "" is the current one.
  // FailedPrecondition names the one that cannot be made.
  absl::Status Make(const std::filesystem::path& directory);

  void Keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_FILES_MADE_DIRECTORIES_H_
