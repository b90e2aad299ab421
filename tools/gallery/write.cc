// bazel run //tools/gallery:write -- docs
//
// Writes gallery.md and gallery/*.svg into the directory.

#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "checkpoint/files/atomic_file.h"
#include "tools/command.h"
#include "tools/gallery/gallery.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write DIRECTORY\n");
    return 2;
  }
  const fs::path directory = lanewise::tools::UserPath(argv[1]);
  const auto files = lanewise::tools::GalleryFiles();
  if (!files.ok()) {
    std::fprintf(stderr, "%s\n", files.status().ToString().c_str());
    return 1;
  }
  for (const lanewise::tools::GalleryFile& file : *files) {
    const fs::path path = directory / file.path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    const absl::Status status = lanewise::WriteFileAtomically(path.string(), file.text);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}
