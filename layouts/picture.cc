#include "layouts/picture.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/text.h"
#include "layouts/bind.h"
#include "layouts/bound_lanes.h"
#include "layouts/order.h"

namespace lanewise {
namespace {

constexpr std::int64_t kParameterSize = 8;
constexpr std::int64_t kReadableCells = 400;
constexpr std::int64_t kMostCells = 4096;  // and what is refused
constexpr std::int64_t kCellsALine = 16;   // of the panel that shows memory

constexpr int kCellWidth = 46;
constexpr int kCellHeight = 15;
constexpr int kReaderHeight = 9;  // more, where a cell names its lane and load
constexpr int kMargin = 8;
constexpr int kLabelWidth = 150;  // beside rows and lines
constexpr int kLine = 18;         // of text

// The units that stay together, each cell `width` units of one row of the array or `height` whole
// rows.
struct Cells {
  BoundLayout bound;
  std::int64_t inner = 0;  // the extent of the innermost axis
  std::int64_t rows = 0;   // the product of the others
  std::int64_t width = 0;
  std::int64_t height = 1;
  // Where they stay together but not in order: the index along the innermost axis of what lies at
  // each offset, both from the cell's first on. Empty where they are in order.
  std::vector<std::int64_t> inside;

  std::int64_t across() const { return inner / width; }
  std::int64_t down() const { return rows / height; }
  std::int64_t count() const { return across() * down(); }
  std::int64_t units() const { return width * height; }

  std::vector<std::int64_t> CoordinateOf(std::int64_t logical_index) const {
    std::vector<std::int64_t> coordinate(bound.axes());
    for (int axis = bound.axes() - 1; axis >= 0; --axis) {
      coordinate[axis] = logical_index % bound.extent(axis);
      logical_index /= bound.extent(axis);
    }
    return coordinate;
  }
};

// The one order within all stretches of `width` units along the innermost axis; empty if they do
// not stay together, or in different orders.
std::vector<std::int64_t> InsideOf(const Cells& cells, std::int64_t width) {
  std::vector<std::int64_t> order;
  for (std::int64_t first = 0; first < cells.bound.units(); first += width) {
    std::vector<std::pair<std::int64_t, std::int64_t>> units;  // offset, index
    for (std::int64_t i = 0; i < width; ++i) {
      units.emplace_back(cells.bound.Offset(cells.CoordinateOf(first + i).data()), i);
    }
    std::sort(units.begin(), units.end());
    if (units.back().first - units.front().first != width - 1) return {};
    std::vector<std::int64_t> here;
    for (const auto& [offset, index] : units) here.push_back(index);
    if (!order.empty() && here != order) return {};
    order = std::move(here);
  }
  return order;
}

Cells CellsOf(const BoundLayout& bound) {
  Cells cells;
  cells.bound = bound;
  cells.inner = bound.extent(bound.axes() - 1);
  cells.rows = bound.units() / cells.inner;
  const std::int64_t run = ContiguousRun(bound);
  cells.width = std::min(run, cells.inner);
  // Where nearly everything stays together, rows are what there is to show.
  const bool whole_rows = run % cells.inner == 0 && bound.units() / run >= 4;
  if (whole_rows) cells.height = run / cells.inner;
  if (cells.count() <= kReadableCells) return cells;
  for (std::int64_t width = 2 * cells.width; width < cells.inner; width *= 2) {
    if (cells.inner % width != 0) break;
    std::vector<std::int64_t> inside = InsideOf(cells, width);
    if (inside.empty()) continue;
    cells.width = width;
    cells.inside = std::move(inside);
    break;
  }
  return cells;
}

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(AbslView(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

// From blue over green and yellow to red, light enough for black text.
std::string ColourOf(std::int64_t offset, std::int64_t units) {
  return absl::StrCat("hsl(", 220 - 220 * offset / std::max<std::int64_t>(units, 1), ",75%,80%)");
}

class Drawing {
 public:
  Drawing(const Layout& layout, const Cells& cells) : layout_(layout), cells_(cells) {
    if (!layout.HasLanes()) return;
    // Extents may fill no wave: then the cells name no lanes.
    if (absl::StatusOr<BoundLanes> lanes = BindLanes(layout, cells.bound); lanes.ok()) {
      lanes_ = *std::move(lanes);
      height_ += kReaderHeight;
    }
  }

  std::string Svg() {
    Text(kMargin, "t", absl::StrCat(AbslView(layout_.tag), "  [", Extents(), "]"));
    Text(kMargin, "p", PatternText(layout_.main));
    if (cells_.bound.regions() == 2) {
      Text(kMargin, "p", absl::StrCat("remainder: ", PatternText(layout_.remainder)));
    }
    if (lanes_) {
      Text(kMargin, "p",
           absl::StrCat(LanesText(layout_.lanes), ": ",
                        LoadWords(layout_, lanes_->readings().front()),
                        ". L17 #3: lane 17, load 3"));
    }
    LogicalPanel();
    MemoryPanel();
    if (!cells_.inside.empty()) {
      Text(kMargin, "p",
           absl::StrCat("Within a group, in the order of memory: ",
                        AbslView(AxisName(cells_.bound.axes() - 1)), " +",
                        absl::StrJoin(cells_.inside, " +")));
    }
    const int width = 2 * kMargin + kLabelWidth +
                      kCellWidth * static_cast<int>(std::max(cells_.across(), OnALine()));
    return absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "font-family=\"monospace\" font-size=\"9\" text-anchor=\"middle\">\n"
        "<style>.t{font-size:13px;text-anchor:start}.p{font-size:11px;text-anchor:start}"
        ".e{text-anchor:end}.l{font-size:7px;pointer-events:none}</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
        "<defs><rect id=\"c\" width=\"%d\" height=\"%d\" stroke=\"white\"/></defs>\n%s</svg>\n",
        std::max(width, 620), y_ + kMargin, std::max(width, 620), kCellWidth, height_, body_);
  }

 private:
  std::string Extents() const {
    std::string text;
    for (int axis = 0; axis < cells_.bound.axes(); ++axis) {
      absl::StrAppend(&text, axis == 0 ? "" : ", ", AbslView(AxisName(axis)), " ",
                      cells_.bound.extent(axis));
    }
    return text;
  }

  std::string_view AxisName(int axis) const { return layout_.main.axis_name[axis].view(); }

  std::int64_t OnALine() const { return std::min(kCellsALine, cells_.count()); }

  void Text(int x, std::string_view style, std::string_view text) {
    y_ += kLine;
    absl::StrAppendFormat(&body_, "<text class=\"%s\" x=\"%d\" y=\"%d\">%s</text>\n",
                          AbslView(style), x, y_, Escaped(text));
  }

  void RowLabel(std::string_view text) {
    absl::StrAppendFormat(&body_, "<text class=\"e\" x=\"%d\" y=\"%d\">%s</text>\n",
                          kMargin + kLabelWidth - 4, y_ + kCellHeight - 4, Escaped(text));
  }

  void Cell(std::int64_t column, std::int64_t offset, std::string_view label,
            std::span<const std::int64_t> coordinate) {
    const int x = kMargin + kLabelWidth + kCellWidth * static_cast<int>(column);
    absl::StrAppendFormat(
        &body_,
        "<g><title>%s%s: offset %d</title><use href=\"#c\" x=\"%d\" y=\"%d\" fill=\"%s\"/>"
        "<text x=\"%d\" y=\"%d\">%s</text></g>\n",
        FactorText(cells_.bound, coordinate), ReaderText(offset), offset, x, y_,
        ColourOf(offset, cells_.bound.units()), x + kCellWidth / 2, y_ + kCellHeight - 4,
        AbslView(label));
    if (lanes_) {
      absl::StrAppendFormat(&body_, "<text class=\"l\" x=\"%d\" y=\"%d\">%s</text>\n",
                            x + kCellWidth / 2, y_ + height_ - 3, ReaderLabel(offset));
    }
  }

  // "L17 #3", "L16-31 #3": the same in few letters.
  std::string ReaderLabel(std::int64_t offset) const {
    const LanePlace place = lanes_->At(offset);
    const std::vector<std::int64_t> lanes = lanes_->LanesWith(place);
    std::string label = absl::StrCat("L", lanes.front());
    if (lanes.size() > 1) absl::StrAppend(&label, "-", lanes.back());
    if (lanes_->ReadingOf(place.is_remainder).loads > 1) absl::StrAppend(&label, " #", place.load);
    return label;
  }

  // ", lane 17 load 3" of the unit at an offset; ", lanes 16 to 31 load 3" where lanes share it.
  std::string ReaderText(std::int64_t offset) const {
    if (!lanes_) return "";
    const LanePlace place = lanes_->At(offset);
    const std::vector<std::int64_t> lanes = lanes_->LanesWith(place);
    std::string text = absl::StrCat(lanes.size() == 1 ? ", lane " : ", lanes ", lanes.front());
    if (lanes.size() > 1) absl::StrAppend(&text, " to ", lanes.back());
    if (lanes_->ReadingOf(place.is_remainder).loads > 1) {
      absl::StrAppend(&text, " load ", place.load);
    }
    return text;
  }

  void LogicalPanel() {
    const int inner = cells_.bound.axes() - 1;
    Text(kMargin, "p",
         absl::StrCat("The array: of each ", Run(), " the offset of its first unit (",
                      AbslView(UnitName(layout_.unit)), ")"));
    y_ += kLine - kCellHeight / 2;
    RowLabel(absl::StrCat(AbslView(AxisName(inner)), ":"));
    for (std::int64_t i = 0; i < cells_.across(); ++i) {
      absl::StrAppendFormat(
          &body_, "<text x=\"%d\" y=\"%d\">%d</text>\n",
          kMargin + kLabelWidth + kCellWidth * static_cast<int>(i) + kCellWidth / 2,
          y_ + kCellHeight - 4, i * cells_.width);
    }
    y_ += kCellHeight;
    for (std::int64_t row = 0; row < cells_.down(); ++row) {
      for (std::int64_t column = 0; column < cells_.across(); ++column) {
        const auto coordinate =
            cells_.CoordinateOf(row * cells_.height * cells_.inner + column * cells_.width);
        if (column == 0) RowLabel(RowText(coordinate));
        // A group begins in memory where its unit of the lowest offset lies: index inside[0].
        std::vector<std::int64_t> lowest = coordinate;
        if (!cells_.inside.empty()) lowest.back() += cells_.inside[0];
        const std::int64_t offset = cells_.bound.Offset(lowest.data());
        Cell(column, offset, absl::StrCat(offset), coordinate);
      }
      y_ += height_;
    }
  }

  void MemoryPanel() {
    std::string axes;
    for (int axis = 0; axis < cells_.bound.axes(); ++axis) {
      absl::StrAppend(&axes, axis == 0 ? "" : ", ", AbslView(AxisName(axis)));
    }
    Text(kMargin, "p", absl::StrCat("Memory: of each ", Run(), " the coordinate (", axes, ")"));
    y_ += kLine - kCellHeight / 2;
    for (std::int64_t cell = 0; cell < cells_.count(); ++cell) {
      const std::int64_t offset = cell * cells_.units();
      const std::int64_t column = cell % OnALine();
      if (column == 0) RowLabel(absl::StrCat("offset ", offset));
      std::vector<std::int64_t> coordinate(cells_.bound.axes());
      cells_.bound.Coordinate(offset, coordinate.data());
      if (!cells_.inside.empty()) coordinate.back() -= cells_.inside[0];
      std::string label;
      for (const std::int64_t index : coordinate) {
        absl::StrAppend(&label, label.empty() ? "" : ",", index);
      }
      Cell(column, offset, label, coordinate);
      if (column == OnALine() - 1 || cell == cells_.count() - 1) y_ += height_;
    }
  }

  std::string Run() const {
    if (cells_.units() == 1) return "unit";
    return absl::StrCat(cells_.inside.empty() ? "run of " : "group of ", cells_.units(), " units");
  }

  std::string RowText(std::span<const std::int64_t> coordinate) const {
    std::string text;
    for (std::size_t axis = 0; axis + 1 < coordinate.size(); ++axis) {
      absl::StrAppend(&text, axis == 0 ? "" : " ", AbslView(AxisName(static_cast<int>(axis))), " ",
                      coordinate[axis]);
    }
    return text;
  }

  const Layout& layout_;
  const Cells& cells_;
  std::optional<BoundLanes> lanes_;
  std::string body_;
  int height_ = kCellHeight;
  int y_ = 0;
};

std::int64_t CellCount(const Layout& layout, std::span<const std::int64_t> extents) {
  const absl::StatusOr<BoundLayout> bound = Bind(layout, extents);
  if (!bound.ok() || bound->units() == 0) return kMostCells + 1;
  return CellsOf(*bound).count();
}

}  // namespace

absl::StatusOr<PictureSubject> SubjectOf(const Layout& layout) {
  PictureSubject subject = {layout, {}};
  for (int i = 0; i < layout.main.factors; ++i) {
    const Name& parameter = layout.main.factor[i].parameter;
    if (!parameter.empty()) {
      subject.layout = subject.layout.WithParameter(parameter.view(), kParameterSize);
    }
  }
  const Pattern& main = subject.layout.main;
  for (int axis = 0; axis < main.axes; ++axis) {
    // An axis that is open as a whole has nothing of its own to show.
    const bool whole = main.HasOpenFactor(axis) && main.FixedSize(axis) == 1;
    std::int64_t extent = !whole ? main.FixedSize(axis) : axis + 1 < main.axes ? 4 : 16;
    // Lanes may take several values of such an axis at a time.
    for (int i = 0; whole && i < layout.lanes.parts; ++i) {
      const LanePart& part = layout.lanes.part[i];
      if (main.FactorNamed(part.name.view()) == main.FirstFactor(axis) && part.size > 0) {
        extent = part.size;
      }
    }
    subject.extents.push_back(extent);
  }
  const auto try_adding = [&](int axis, std::int64_t more) {
    std::vector<std::int64_t> extents = subject.extents;
    extents[axis] += more;
    if (CellCount(subject.layout, extents) <= kReadableCells) subject.extents = extents;
  };
  for (int axis = 0; axis < main.axes; ++axis) {
    if (subject.layout.HasRemainder() && main.HasOpenFactor(axis) &&
        !subject.layout.remainder.HasOpenFactor(axis)) {
      try_adding(axis, subject.layout.remainder.FixedSize(axis));
    }
  }
  for (int axis = 0; axis < main.axes; ++axis) {
    if (main.HasOpenFactor(axis) && main.FixedSize(axis) > 1)
      try_adding(axis, main.FixedSize(axis));
  }
  if (const auto bound = Bind(subject.layout, subject.extents); !bound.ok()) return bound.status();
  return subject;
}

absl::StatusOr<std::string> PictureSvg(const Layout& layout,
                                       std::span<const std::int64_t> extents) {
  const absl::StatusOr<BoundLayout> bound = Bind(layout, extents);
  if (!bound.ok()) return bound.status();
  if (bound->units() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(layout.tag), ": there is nothing to draw: an extent is 0"));
  }
  const Cells cells = CellsOf(*bound);
  if (cells.count() > kMostCells) {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(layout.tag), ": a picture of ", cells.count(),
                     " runs is not readable; expected at most ", kMostCells));
  }
  return Drawing(layout, cells).Svg();
}

}  // namespace lanewise
