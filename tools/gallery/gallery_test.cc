// docs/gallery.md and docs/gallery/ hold what the catalogue says.

#include "tools/gallery/gallery.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace lanewise::tools {
namespace {

std::string TextOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Gallery, IsCurrent) {
  const auto files = GalleryFiles();
  ASSERT_TRUE(files.ok()) << files.status();
  std::set<std::string> expected;
  for (const GalleryFile& file : *files) {
    EXPECT_TRUE(TextOf("docs/" + file.path) == file.text)
        << "docs/" << file.path << " is not current; write it again: ./bazelw run //:update";
    expected.insert(file.path);
  }
  EXPECT_EQ(expected.size(), files->size()) << "two layouts share a file";
  for (const auto& entry : std::filesystem::directory_iterator("docs/gallery")) {
    const std::string path = "gallery/" + entry.path().filename().string();
    EXPECT_TRUE(expected.count(path)) << "docs/" << path << " is of no layout: delete it";
  }
}

}  // namespace
}  // namespace lanewise::tools
