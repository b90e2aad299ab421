// ./bazelw run //:update
//
// Writes what is generated of the source tree: gallery.md and gallery/*.svg of its docs/, or of the
// directory that is given.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "checkpoint/files/atomic_file.h"
#include "tools/command.h"
#include "tools/gallery/gallery.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const char* const workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");  // set by bazel run
  if (argc > 2 || (argc < 2 && workspace == nullptr)) {
    std::fprintf(stderr, "usage: write [DIRECTORY]; without one, under bazel run\n");
    return 2;
  }
  const fs::path directory =
      argc == 2 ? fs::path(lanewise::tools::UserPath(argv[1])) : fs::path(workspace) / "docs";
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
