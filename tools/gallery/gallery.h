#ifndef LANEWISE_TOOLS_GALLERY_GALLERY_H_
#define LANEWISE_TOOLS_GALLERY_GALLERY_H_

// docs/gallery.md and its pictures: every layout of the catalogue, drawn. Written by
//
//   ./bazelw run //:update
//
// and held to the catalogue by a test.

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanewise::tools {

struct GalleryFile {
  std::string path;  // below docs/: "gallery.md", "gallery/gfx942_dense.svg"
  std::string text;
};

// The page first, then one picture a layout, in the catalogue's order.
absl::StatusOr<std::vector<GalleryFile>> GalleryFiles();

}  // namespace lanewise::tools

#endif  // LANEWISE_TOOLS_GALLERY_GALLERY_H_
