#include "layouts/picture.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"

namespace lanewise {
namespace {

struct DrawnCell {
  std::string offset, fill, label;

  friend bool operator==(const DrawnCell&, const DrawnCell&) = default;
};

// What stands between `before` and the next `after` from `*at` on, which moves behind it.
std::string Between(const std::string& text, const std::string& before, const std::string& after,
                    std::size_t* at) {
  const std::size_t begin = text.find(before, *at) + before.size();
  const std::size_t end = text.find(after, begin);
  *at = end + after.size();
  return text.substr(begin, end - begin);
}

// What a reader of the SVG finds in it, in its order: the panel of the array, then of memory.
std::vector<DrawnCell> CellsIn(const std::string& svg) {
  std::vector<DrawnCell> cells;
  for (std::size_t at = 0; (at = svg.find("<g><title>", at)) != std::string::npos;) {
    DrawnCell cell;
    cell.offset = Between(svg, ": offset ", "</title>", &at);
    cell.fill = Between(svg, "fill=\"", "\"", &at);
    cell.label = Between(svg, "\">", "</text></g>", &at);
    cells.push_back(cell);
  }
  return cells;
}

Layout LayoutOf(const char* text) { return {.tag = "a/layout", .main = *ParsePatternText(text)}; }

// By hand: k = 2 half + pair, so (row, k) lies at 4 half + 2 row + pair.
TEST(Picture, ShowsOffsetsOfTheArrayAndCoordinatesOfMemory) {
  const Layout layout = LayoutOf("row:2 k(half:2 pair:2) -> half row pair");
  const std::int64_t extents[] = {2, 4};
  const absl::StatusOr<std::string> svg = PictureSvg(layout, extents);
  ASSERT_TRUE(svg.ok()) << svg.status();
  std::vector<std::string> labels;
  for (const DrawnCell& cell : CellsIn(*svg)) labels.push_back(cell.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"0", "4", "2", "6",  // rows 0 and 1, runs of 2
                                              "0,0", "1,0", "0,2", "1,2"}));
  EXPECT_NE(svg->find("half=1 row=0 pair=0: offset 4"), std::string::npos);
}

TEST(Picture, EveryCatalogueLayoutHasOneWhoseCellsAreABijection) {
  for (const Layout& layout : kCatalogue) {
    SCOPED_TRACE(std::string(layout.tag));
    const absl::StatusOr<PictureSubject> subject = SubjectOf(layout);
    ASSERT_TRUE(subject.ok()) << subject.status();
    const auto bound = Bind(subject->layout, subject->extents);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ(bound->regions(), layout.HasRemainder() ? 2 : 1);
    const auto svg = PictureSvg(subject->layout, subject->extents);
    ASSERT_TRUE(svg.ok()) << svg.status();
    EXPECT_EQ(*svg, *PictureSvg(subject->layout, subject->extents));

    std::vector<DrawnCell> cells = CellsIn(*svg);
    ASSERT_GE(cells.size(), 4u);
    EXPECT_LE(cells.size(), 2u * 1024);  // mfma/d_32x32 scatters every value
    ASSERT_EQ(cells.size() % 2, 0u);
    const std::size_t half = cells.size() / 2;
    const std::int64_t run = bound->units() / static_cast<std::int64_t>(half);
    std::map<std::string, std::string> fills;
    for (std::size_t i = 0; i < half; ++i) {
      EXPECT_EQ(cells[i].label, cells[i].offset);
      EXPECT_TRUE(fills.emplace(cells[i].offset, cells[i].fill).second) << cells[i].offset;
      // Memory is in order and without a gap, each cell coloured as in the array.
      const DrawnCell& stored = cells[half + i];
      EXPECT_EQ(stored.offset, std::to_string(static_cast<std::int64_t>(i) * run));
    }
    for (std::size_t i = half; i < cells.size(); ++i) {
      EXPECT_EQ(fills[cells[i].offset], cells[i].fill) << cells[i].offset;
    }
  }
}

TEST(Picture, GroupsWhatStaysTogetherInAnotherOrder) {
  const auto subject = SubjectOf(CatalogueLayout("gfx942/dense_chunk_q"));
  ASSERT_TRUE(subject.ok()) << subject.status();
  const auto svg = PictureSvg(subject->layout, subject->extents);
  ASSERT_TRUE(svg.ok()) << svg.status();
  // Even k before odd k in each 8 (dense_copy's chunk_q).
  EXPECT_NE(svg->find("k +0 +2 +4 +6 +1 +3 +5 +7"), std::string::npos);
  // The cells are those of the layout that differs in nothing else.
  const auto natural = SubjectOf(CatalogueLayout("gfx942/dense"));
  ASSERT_TRUE(natural.ok()) << natural.status();
  EXPECT_EQ(subject->extents, natural->extents);
  const auto other = PictureSvg(natural->layout, natural->extents);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(CellsIn(*svg), CellsIn(*other));
}

TEST(Picture, RefusesWhatIsNotThereOrNotReadable) {
  const Layout& dense = CatalogueLayout("gfx942/dense");
  const std::int64_t none[] = {0, 128}, odd[] = {17, 128}, large[] = {512, 2048};
  EXPECT_EQ(PictureSvg(dense, none).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(PictureSvg(dense, odd).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::Status status = PictureSvg(dense, large).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("131072 runs"), std::string::npos) << status;
}

}  // namespace
}  // namespace lanewise
