// bazel run //tools/gallery:write -- docs
//
// Writes gallery.md and gallery/*.svg into the directory.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tools/gallery/gallery.h"

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  if (argc != 2) {
    std::fprintf(stderr, "usage: write DIRECTORY\n");
    return 2;
  }
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  const fs::path directory = fs::path(caller == nullptr ? "" : caller) / argv[1];
  const auto files = lanewise::tools::GalleryFiles();
  if (!files.ok()) {
    std::fprintf(stderr, "%s\n", files.status().ToString().c_str());
    return 1;
  }
  for (const lanewise::tools::GalleryFile& file : *files) {
    const fs::path path = directory / file.path;
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path, std::ios::binary);
    out << file.text;
    out.close();
    if (!out) {
      std::fprintf(stderr, "could not write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}
