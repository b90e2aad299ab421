#include <charconv>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/option_values.h"
#include "base/text.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/stream/output_fates.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/order.h"
#include "layouts/picture.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/options.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string at;
  std::optional<std::int64_t> byte;
  std::vector<std::string> parameters;
  std::string picture;
  bool overwrite = false;
};

absl::StatusOr<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", AbslView(text), "': expected a whole number"));
  }
  return value;
}

// "NAME=VALUE", of the option that a mistake names.
absl::StatusOr<std::pair<std::string, std::int64_t>> ParseAssignment(const char* option,
                                                                     std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " '", AbslView(text), "': expected NAME=VALUE"));
  }
  const absl::StatusOr<std::int64_t> value = ParseNumber(text.substr(equals + 1));
  if (!value.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " '", AbslView(text), "', ", value.status().message()));
  }
  return std::pair(std::string(text.substr(0, equals)), *value);
}

// A packed pair of elements has a coordinate of its own: k and k + 1 share a byte.
bool IsPacked(const Layout& layout) { return layout.unit == Unit::kE2m1Pair; }

std::string AxisName(const Layout& layout, int axis) {
  return std::string(layout.main.axis_name[axis].view());
}

// "row, k".
std::string AxesText(const Layout& layout) {
  std::string text;
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", AxisName(layout, axis));
  }
  return text;
}

void PrintList() {
  for (const Layout& layout : kCatalogue) {
    PrintLine(absl::StrFormat("%-28s %-20s %s", AbslView(layout.tag),
                              AbslView(UnitName(layout.unit)), PatternText(layout.main)));
  }
}

void PrintAbout(const Layout& layout) {
  PrintLine(layout.tag);
  PrintLine(absl::StrCat("  unit       ", AbslView(UnitName(layout.unit))));
  PrintLine("  pattern    " + PatternText(layout.main));
  if (layout.HasRemainder()) PrintLine("  remainder  " + PatternText(layout.remainder));
  PrintLine(absl::StrCat("  for        ", AbslView(layout.purpose)));
  PrintLine(absl::StrCat("  source     ", AbslView(layout.source)));
}

// A coordinate of the layout, and of a packed pair which element of the two: 0, 1, or -1 for both.
struct Place {
  std::vector<std::int64_t> coordinate;
  int nibble = -1;
};

// One "NAME=VALUE" of --at into the place.
absl::Status TakeAxis(const BoundLayout& bound, const Layout& layout, std::string_view text,
                      Place* place) {
  const auto assignment = ParseAssignment("--at", text);
  if (!assignment.ok()) return assignment.status();
  const auto& [name, value] = *assignment;
  // Two elements share a byte: k is twice as long.
  const bool by_element = name == "k" && IsPacked(layout) && layout.main.AxisNamed("k") < 0;
  const int axis = layout.main.AxisNamed(by_element ? "byte" : name);
  if (axis < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--at names '", name, "'; the axes of ", AbslView(layout.tag), " are ", AxesText(layout)));
  }
  if (place->coordinate[axis] >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--at gives ", AxisName(layout, axis), " twice",
                     IsPacked(layout) && AxisName(layout, axis) == "byte"
                         ? ": k and byte are one axis, two k to a byte; give one of them"
                         : ""));
  }
  const std::int64_t least_outside = bound.extent(axis) * (by_element ? 2 : 1);
  if (value < 0 || value >= least_outside) {
    return absl::OutOfRangeError(absl::StrCat(
        "--at ", AbslView(text), " is outside of the array: ",
        least_outside == 0 ? "it has none" : absl::StrCat("expected 0 to ", least_outside - 1)));
  }
  place->coordinate[axis] = by_element ? value / 2 : value;
  if (by_element) place->nibble = static_cast<int>(value % 2);
  return absl::OkStatus();
}

absl::StatusOr<Place> ParsePlace(const BoundLayout& bound, const Layout& layout,
                                 const std::string& at) {
  Place place;
  place.coordinate.assign(layout.main.axes, -1);
  for (const auto piece : absl::StrSplit(at, ',')) {
    if (absl::Status status = TakeAxis(bound, layout, StdView(piece), &place); !status.ok()) {
      return status;
    }
  }
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    if (place.coordinate[axis] >= 0) continue;
    const std::string name = AxisName(layout, axis);
    return absl::InvalidArgumentError(
        absl::StrCat("--at gives no ", name, IsPacked(layout) && name == "byte" ? " and no k" : "",
                     "; expected a value for each of ", AxesText(layout)));
  }
  return place;
}

std::string PlaceText(const BoundLayout& bound, const Layout& layout, const Place& place) {
  std::string text = "  ";
  for (int axis = 0; axis < bound.axes(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", AxisName(layout, axis), " = ",
                    place.coordinate[axis]);
  }
  absl::StrAppend(&text, "  ->  offset ", bound.Offset(place.coordinate.data()));
  if (place.nibble >= 0) absl::StrAppend(&text, place.nibble == 0 ? ", low" : ", high", " nibble");
  return absl::StrCat(text, "   (", FactorText(bound, place.coordinate), ")");
}

// The layout of this name, with its parameters.
absl::StatusOr<Layout> ChosenLayout(const Options& options) {
  const Layout* found = FindLayout(options.name);
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no layout '", options.name, "'; lanewise layouts lists them"));
  }
  Layout layout = *found;
  for (const std::string& text : options.parameters) {
    const auto parameter = ParseAssignment("--param", text);
    if (!parameter.ok()) return parameter.status();
    const auto& [name, size] = *parameter;
    if (size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("--param '", text, "': expected 1 or more"));
    }
    const auto is_of = [&, &name = name](const Layout& one) {
      return PatternText(one.main) != PatternText(one.WithParameter(name, 1).main);
    };
    if (!is_of(*found)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--param '", text, "': ", AbslView(found->tag), " has no parameter ", name));
    }
    if (!is_of(layout)) {
      return absl::InvalidArgumentError(absl::StrCat("--param gives ", name, " twice"));
    }
    layout = layout.WithParameter(name, size);
  }
  return layout;
}

// The layout bound to --shape, and what it says of --at and --byte.
absl::StatusOr<std::vector<std::string>> PlaceLines(const Options& options, const Layout& layout) {
  if (std::ssize(options.shape) != layout.main.axes) {
    return absl::InvalidArgumentError(
        absl::StrCat("--shape ", absl::StrJoin(options.shape, ","), ": ", AbslView(layout.tag),
                     " expects an extent for each of ", AxesText(layout)));
  }
  const absl::StatusOr<BoundLayout> bound = Bind(layout, options.shape);
  if (!bound.ok()) {
    std::string message =
        absl::StrCat("--shape ", absl::StrJoin(options.shape, ","), ": ", bound.status().message());
    for (int i = 0; i < layout.main.factors; ++i) {
      if (layout.main.factor[i].parameter.empty()) continue;
      absl::StrAppend(&message, "; --param ", AbslView(layout.main.factor[i].parameter.view()),
                      "=N gives it one");
    }
    return absl::InvalidArgumentError(message);
  }
  std::vector<std::string> lines = {absl::StrCat("  units      ", bound->units(),
                                                 ", contiguous runs of ", ContiguousRun(*bound))};
  if (!options.at.empty()) {
    const absl::StatusOr<Place> place = ParsePlace(*bound, layout, options.at);
    if (!place.ok()) return place.status();
    lines.push_back(PlaceText(*bound, layout, *place));
  }
  if (options.byte) {
    if (const auto index = LogicalIndexAt(*bound, *options.byte); !index.ok()) {
      return absl::OutOfRangeError(absl::StrCat("--byte: ", index.status().message()));
    }
    Place place;
    place.coordinate.resize(bound->axes());
    bound->Coordinate(*options.byte, place.coordinate.data());
    lines.push_back(PlaceText(*bound, layout, place));
  }
  return lines;
}

// Draws the layout at --shape, or where it was not given at extents that show what it does.
absl::Status WritePicture(const Options& options, const Layout& layout) {
  PictureSubject subject = {layout, options.shape};
  if (options.shape.empty()) {
    absl::StatusOr<PictureSubject> chosen = SubjectOf(layout);
    if (!chosen.ok()) return chosen.status();
    subject = *std::move(chosen);
  }
  const absl::StatusOr<std::string> svg = PictureSvg(subject.layout, subject.extents);
  if (!svg.ok()) return svg.status();
  const std::string path = UserPath(options.picture);
  if (!options.overwrite && IsNameTaken(path)) {
    return absl::AlreadyExistsError(
        absl::StrCat(path, " is there already; --overwrite replaces it"));
  }
  return WriteFileAtomically(path, *svg);
}

absl::Status ShowLayouts(const Options& options) {
  if (options.name.empty()) {
    PrintList();
    return absl::OkStatus();
  }
  const absl::StatusOr<Layout> layout = ChosenLayout(options);
  if (!layout.ok()) return layout.status();
  std::vector<std::string> lines;
  if (!options.shape.empty()) {
    absl::StatusOr<std::vector<std::string>> placed = PlaceLines(options, *layout);
    if (!placed.ok()) return placed.status();
    lines = *std::move(placed);
  }
  if (!options.picture.empty()) {
    if (absl::Status status = WritePicture(options, *layout); !status.ok()) return status;
    lines.push_back(absl::StrCat("  picture    ", options.picture));
  }
  PrintAbout(*layout);
  for (const std::string& line : lines) PrintLine(line);
  return absl::OkStatus();
}

}  // namespace

Action AddLayouts(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::Option* const name =
      app.add_option("NAME", options->name,
                     "One layout, such as gfx942/dense; without it, all are listed")
          ->check(NotEmpty());
  CLI::Option* const shape =
      app.add_option("--shape", options->shape,
                     "The extents of the logical array in the layout's units, outermost axis "
                     "first: 64,256")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("N,N,...")
          ->needs(name)
          ->check(WholeNumber(0));
  app.add_option("--at", options->at,
                 "Where a coordinate goes, one value for each axis: row=3,k=77 (k counts elements "
                 "also where two share a byte)")
      ->type_name("AXIS=I,...")
      ->check(NotEmpty())
      ->needs(name)
      ->needs(shape);
  app.add_option("--byte", options->byte,
                 "What lies at an offset in memory, counted in the layout's units")
      ->type_name("OFFSET")
      ->needs(name)
      ->needs(shape)
      ->check(WholeNumber(0));
  AddRepeated(app, "--param", &options->parameters,
              "The size of a parameter of the pattern: blocks=8, chunks=32; may be given several "
              "times")
      ->type_name("NAME=N")
      ->needs(name);
  CLI::Option* const picture =
      app.add_option("--picture", options->picture,
                     "Draw it into an SVG file, at --shape or at extents that show what it does")
          ->type_name("FILE")
          ->needs(name)
          ->check(NotEmpty());
  app.add_flag("--overwrite", options->overwrite, "Replace a picture that is there already")
      ->needs(picture);
  return [options] { return ShowLayouts(*options); };
}

}  // namespace lanewise::tools
