#include <charconv>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/text.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/order.h"
#include "tools/command.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string at;
  std::int64_t byte = -1;
  std::vector<std::string> parameters;
};

absl::StatusOr<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", AbslView(text), "\" is not a whole number"));
  }
  return value;
}

// "name=value".
absl::StatusOr<std::pair<std::string, std::int64_t>> ParseAssignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", AbslView(text), "\": expected NAME=VALUE"));
  }
  const absl::StatusOr<std::int64_t> value = ParseNumber(text.substr(equals + 1));
  if (!value.ok()) return value.status();
  return std::pair(std::string(text.substr(0, equals)), *value);
}

// A packed pair of elements has a coordinate of its own: k and k + 1 share a byte.
bool IsPacked(const Layout& layout) { return layout.unit == "packed e2m1 pair"; }

void PrintList() {
  for (const Layout& layout : kCatalogue) {
    std::printf("%-28s %-20s %s\n", std::string(layout.tag).c_str(),
                std::string(layout.unit).c_str(), PatternText(layout.main).c_str());
  }
}

void PrintAbout(const Layout& layout) {
  std::printf("%s\n  unit       %s\n  pattern    %s\n", std::string(layout.tag).c_str(),
              std::string(layout.unit).c_str(), PatternText(layout.main).c_str());
  if (layout.HasRemainder()) {
    std::printf("  remainder  %s\n", PatternText(layout.remainder).c_str());
  }
  std::printf("  for        %s\n  source     %s\n", std::string(layout.purpose).c_str(),
              std::string(layout.source).c_str());
}

absl::StatusOr<std::vector<std::int64_t>> ParseCoordinate(const Layout& layout,
                                                          const std::string& at, int* nibble) {
  std::vector<std::int64_t> coordinate(layout.main.axes, -1);
  for (const auto piece : absl::StrSplit(at, ',')) {
    const auto assignment = ParseAssignment(StdView(piece));
    if (!assignment.ok()) return assignment.status();
    auto [name, value] = *assignment;
    int axis = layout.main.AxisNamed(name);
    if (axis < 0 && name == "k" && IsPacked(layout)) {
      axis = layout.main.AxisNamed("byte");
      *nibble = static_cast<int>(value % 2);
      value /= 2;
    }
    if (axis < 0) {
      std::string known;
      for (int i = 0; i < layout.main.axes; ++i) {
        absl::StrAppend(&known, i == 0 ? "" : ", ", AbslView(layout.main.axis_name[i].view()));
      }
      return absl::InvalidArgumentError(absl::StrCat("--at names ", name,
                                                     "; the layout's axes are ", known,
                                                     IsPacked(layout) ? ", or k" : ""));
    }
    if (coordinate[axis] >= 0) {
      return absl::InvalidArgumentError(absl::StrCat("--at gives ", name, " twice"));
    }
    coordinate[axis] = value;
  }
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    if (coordinate[axis] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--at gives no ", AbslView(layout.main.axis_name[axis].view()), " of 0 or more"));
    }
  }
  return coordinate;
}

void PrintPlace(const BoundLayout& bound, const Layout& layout,
                const std::vector<std::int64_t>& coordinate, int nibble) {
  std::string at;
  for (int axis = 0; axis < bound.axes(); ++axis) {
    absl::StrAppend(&at, axis == 0 ? "" : ", ", AbslView(layout.main.axis_name[axis].view()), " = ",
                    coordinate[axis]);
  }
  std::printf("  %s  ->  offset %lld", at.c_str(),
              static_cast<long long>(bound.Offset(coordinate.data())));
  if (nibble >= 0) std::printf(", %s nibble", nibble == 0 ? "low" : "high");
  std::printf("   (%s)\n", FactorText(bound, coordinate).c_str());
}

absl::Status ShowLayouts(const Options& options) {
  if (options.name.empty()) {
    PrintList();
    return absl::OkStatus();
  }
  const Layout* found = FindLayout(options.name);
  if (found == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("there is no layout ", options.name, "; lanewise layouts lists them"));
  }
  Layout layout = *found;
  for (const std::string& text : options.parameters) {
    const auto parameter = ParseAssignment(text);
    if (!parameter.ok()) return parameter.status();
    if (parameter->second < 1) {
      return absl::InvalidArgumentError(absl::StrCat("--param ", text, ": expected at least 1"));
    }
    const Layout with = layout.WithParameter(parameter->first, parameter->second);
    if (PatternText(with.main) == PatternText(layout.main)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--param ", text, ": the layout has no parameter ", parameter->first));
    }
    layout = with;
  }
  PrintAbout(layout);
  if (options.shape.empty()) {
    if (options.at.empty() && options.byte < 0) return absl::OkStatus();
    return absl::InvalidArgumentError("--at and --byte need --shape");
  }
  const absl::StatusOr<BoundLayout> bound = Bind(layout, options.shape);
  if (!bound.ok()) return bound.status();
  std::printf("  units      %lld, contiguous runs of %lld\n",
              static_cast<long long>(bound->units()),
              static_cast<long long>(ContiguousRun(*bound)));
  if (!options.at.empty()) {
    int nibble = -1;
    const auto coordinate = ParseCoordinate(layout, options.at, &nibble);
    if (!coordinate.ok()) return coordinate.status();
    if (const auto offset = OffsetOf(*bound, *coordinate); !offset.ok()) return offset.status();
    PrintPlace(*bound, layout, *coordinate, nibble);
  }
  if (options.byte >= 0) {
    if (const auto index = LogicalIndexAt(*bound, options.byte); !index.ok()) return index.status();
    std::vector<std::int64_t> coordinate(bound->axes());
    bound->Coordinate(options.byte, coordinate.data());
    PrintPlace(*bound, layout, coordinate, -1);
  }
  return absl::OkStatus();
}

}  // namespace

Action AddLayouts(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name,
                 "One layout, such as gfx942/dense; without it, all are listed");
  app.add_option("--shape", options->shape, "The extents of the logical array: 64,256")
      ->delimiter(',');
  app.add_option(
      "--at", options->at,
      "Where a coordinate goes: row=3,k=77 (k counts elements also where two share a byte)");
  app.add_option("--byte", options->byte, "What lies at an offset (in the layout's units)")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--param", options->parameters,
                 "The size of a pattern's parameter: blocks=8, chunks=32");
  return [options] { return ShowLayouts(*options); };
}

}  // namespace lanewise::tools
