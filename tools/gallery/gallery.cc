#include "tools/gallery/gallery.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "layouts/bind.h"
#include "layouts/bound_lanes.h"
#include "layouts/catalogue.h"
#include "layouts/picture.h"

namespace lanewise::tools {
namespace {

constexpr std::string_view kHead = R"(# Gallery of layouts

<!-- written by ./bazelw run //:update -->

Every layout of [layouts/catalogue.h](../layouts/catalogue.h). In each picture the array stands above, with the
offset where each run of units goes; below stands memory, with the coordinate that lies there. A cell has the same
colour in both, blue where memory begins and red where it ends. Where a layout says
how lanes read it, pointing at a cell names the lane and its load. [layouts.md](layouts.md) explains the notation. A
picture of other extents:

    ./bazelw run //:lanewise -- layouts gfx942/dense --shape 32,128 --picture dense.svg
)";

std::string FileNameOf(std::string_view tag) {
  std::string name(tag);
  std::replace(name.begin(), name.end(), '/', '_');
  return absl::StrCat("gallery/", name, ".svg");
}

// "64, each load 16 bytes, 1024 of all lanes without a gap".
std::string LanesWords(const PictureSubject& subject) {
  const Layout& layout = subject.layout;
  if (!layout.HasLanes()) return "not said; its readers go by coordinates";
  const absl::StatusOr<BoundLayout> bound = Bind(layout, subject.extents);
  if (!bound.ok()) return std::string(bound.status().message());
  const absl::StatusOr<BoundLanes> lanes = BindLanes(layout, *bound);
  if (!lanes.ok()) return std::string(lanes.status().message());
  return LoadWords(layout, lanes->readings().front());
}

}  // namespace

absl::StatusOr<std::vector<GalleryFile>> GalleryFiles() {
  std::string page(kHead);
  std::vector<GalleryFile> pictures;
  for (const Layout& layout : kCatalogue) {
    const absl::StatusOr<PictureSubject> subject = SubjectOf(layout);
    if (!subject.ok()) return subject.status();
    absl::StatusOr<std::string> svg = PictureSvg(subject->layout, subject->extents);
    if (!svg.ok()) return svg.status();
    pictures.push_back({FileNameOf(layout.tag), *std::move(svg)});

    absl::StrAppend(&page, "\n## ", AbslView(layout.tag), "\n\n    ", PatternText(layout.main),
                    "\n");
    if (layout.HasLanes()) absl::StrAppend(&page, "    ", LanesText(layout.lanes), "\n");
    if (layout.HasRemainder()) {
      absl::StrAppend(&page, "    remainder: ", PatternText(layout.remainder), "\n");
      if (layout.HasLanes()) {
        absl::StrAppend(&page, "    remainder: ", LanesText(layout.remainder_lanes), "\n");
      }
    }
    absl::StrAppend(&page, "\n- For: ", AbslView(layout.purpose),
                    "\n- Unit: ", AbslView(UnitName(layout.unit)),
                    "\n- Lanes: ", LanesWords(*subject), "\n- Source: ", AbslView(layout.source),
                    "\n\n![", AbslView(layout.tag), "](", pictures.back().path, ")\n");
  }
  std::vector<GalleryFile> files = {{"gallery.md", std::move(page)}};
  std::move(pictures.begin(), pictures.end(), std::back_inserter(files));
  return files;
}

}  // namespace lanewise::tools
