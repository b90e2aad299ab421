// Every layout of the catalogue, into it and out of it: the definition, offset by offset, against
// the host's packers (the plain one and the one at memory speed) and the device's.

#include <cstdint>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "base/text.h"
#include "hip/common/layout_copy.h"
#include "layouts/bind.h"
#include "layouts/catalogue.h"
#include "layouts/pack.h"
#include "tests/differential/loaded.h"
#include "tests/differential/operation.h"
#include "weights/packer.h"

namespace lanewise::differential {
namespace {

constexpr const char* kSizes[] = {"A", "B", "C", "D"};

std::string_view ParameterOf(const Layout& layout) {
  for (int i = 0; i < layout.main.factors; ++i) {
    if (!layout.main.factor[i].parameter.empty()) return layout.main.factor[i].parameter.view();
  }
  return "";
}

// The axis' smallest extent with `parameter` as the parameter's size.
std::int64_t InnerOf(const Pattern& pattern, int axis, std::int64_t parameter) {
  std::int64_t size = 1;
  for (int i = pattern.FirstFactor(axis); i < pattern.EndFactor(axis); ++i) {
    const Factor& factor = pattern.factor[i];
    if (!factor.parameter.empty()) {
      size *= parameter;
    } else if (!factor.IsOpen()) {
      size *= factor.size;
    }
  }
  return size;
}

// What may stand over on the axis after whole multiples of its smallest extent, or 0.
std::int64_t OverOf(const Layout& layout, int axis, std::int64_t parameter) {
  if (!layout.HasRemainder() || layout.remainder.HasOpenFactor(axis)) return 0;
  return InnerOf(layout.remainder, axis, parameter);
}

// An axis' extents that fit: odd counts, with the remainder.
std::string ExtentsText(const Layout& layout, int axis, std::int64_t parameter, bool random) {
  const std::int64_t inner = InnerOf(layout.main, axis, parameter);
  if (!layout.main.HasOpenFactor(axis)) return absl::StrCat(inner);
  if (random) return absl::StrCat(inner, "*{1..9}");
  std::string text = absl::StrCat(inner, "*{1,3}");
  if (const std::int64_t over = OverOf(layout, axis, parameter); over > 0) {
    absl::StrAppend(&text, ",", over, ",", 2 * inner + over);
  }
  return text;
}

// None, which an open axis takes, and an extent that does not fit the layout; an open axis of
// single units takes every extent.
std::string EdgesText(const Layout& layout, int axis, std::int64_t parameter) {
  const std::int64_t inner = InnerOf(layout.main, axis, parameter);
  if (!layout.main.HasOpenFactor(axis)) return absl::StrCat("0,", inner + 1);
  const std::int64_t extra = OverOf(layout, axis, parameter) == 1 ? 2 : 1;
  return extra < inner ? absl::StrCat("0,", inner + extra) : "0";
}

absl::StatusOr<BoundLayout> BoundOf(const Layout& layout, const Shape& shape) {
  const std::string_view parameter = ParameterOf(layout);
  std::vector<std::int64_t> extents;
  for (int axis = 0; axis < layout.main.axes; ++axis) extents.push_back(shape[kSizes[axis]]);
  return Bind(parameter.empty() ? layout : layout.WithParameter(parameter, shape["parameter"]),
              extents);
}

// The definition: unit by unit by its offset.
absl::Status ByDefinition(const Layout& layout, bool pack, const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const BoundLayout bound, BoundOf(layout, *call.shape));
  const auto unit = static_cast<std::size_t>(call["unit"]);
  std::vector<std::int64_t> coordinate(static_cast<std::size_t>(bound.axes()), 0);
  for (std::int64_t i = 0; i < bound.units(); ++i) {
    const std::int64_t offset = bound.Offset(coordinate.data());
    const std::uint8_t* const from = call.Bytes("in").data() + (pack ? i : offset) * call["unit"];
    std::uint8_t* const to = call.Bytes("out").data() + (pack ? offset : i) * call["unit"];
    std::memcpy(to, from, unit);
    for (int axis = bound.axes() - 1; axis >= 0; --axis) {
      if (++coordinate[static_cast<std::size_t>(axis)] < bound.extent(axis)) break;
      coordinate[static_cast<std::size_t>(axis)] = 0;
    }
  }
  return absl::OkStatus();
}

absl::Status OnHost(const Layout& layout, bool pack, const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const BoundLayout bound, BoundOf(layout, *call.shape));
  const std::span<const std::uint8_t> in = call.Bytes("in");
  const std::span<std::uint8_t> out = call.Bytes("out");
  const std::int64_t threads = call["by"] == 2 ? 3 : 1;
  // The fast packer moves two-axis layouts of bytes; others have the plain one alone.
  if (call["by"] == 0 || bound.axes() != 2 || call["unit"] != 1) {
    return pack ? Pack(bound, static_cast<int>(call["unit"]), in, out)
                : Unpack(bound, static_cast<int>(call["unit"]), in, out);
  }
  LANEWISE_ASSIGN_OR_RETURN(const Packer packer, Packer::Create(bound));
  const std::int64_t row_bytes = bound.extent(1);
  if (!pack) {
    return packer.Unpack(in, ContiguousSink(out, row_bytes), static_cast<int>(threads));
  }
  const PackOptions options = {
      .threads = static_cast<int>(threads),
      .stores = call["by"] == 2 ? PackOptions::Stores::kStreaming : PackOptions::Stores::kCached};
  return packer.Pack(ContiguousRows(in, row_bytes), options, out).status();
}

absl::Status OnDevice(const Layout& layout, bool pack, const Call& call) {
  LANEWISE_ASSIGN_OR_RETURN(const hip::LayoutCopy* const copy,
                            Loaded<hip::LayoutCopy>(*call.device));
  hip::LayoutCopy::Problem problem;
  problem.tag = layout.tag;
  problem.parameter = ParameterOf(layout).empty() ? 0 : call["parameter"];
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    problem.extents.push_back(call[kSizes[axis]]);
  }
  problem.unit_bytes = call["unit"];
  problem.direction =
      pack ? hip::LayoutCopy::Direction::kPack : hip::LayoutCopy::Direction::kUnpack;
  void* const logical = call.Data(pack ? "in" : "out");
  void* const memory = call.Data(pack ? "out" : "in");
  return copy->Launch(problem, {.logical = logical, .memory = memory}, *call.stream);
}

Operation Move(const Layout& layout, bool pack) {
  const bool has_parameter = !ParameterOf(layout).empty();
  Operation operation;
  operation.name = absl::StrCat(pack ? "pack/" : "unpack/", AbslView(layout.tag));
  std::string product;
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    operation.dimensions.push_back({kSizes[axis]});
    absl::StrAppend(&product, axis == 0 ? "" : " * ", kSizes[axis]);
  }
  if (has_parameter) operation.dimensions.push_back({"parameter"});
  operation.dimensions.push_back({"unit"});
  operation.dimensions.push_back({"by", {"plain", "packer", "threads"}});
  const auto entry = [&](std::int64_t parameter, bool random, const std::string& rest) {
    std::string text = random ? "random 2: " : "";
    for (int axis = 0; axis < layout.main.axes; ++axis) {
      absl::StrAppend(&text, kSizes[axis], "=", ExtentsText(layout, axis, parameter, random), " ");
    }
    if (has_parameter) absl::StrAppend(&text, "parameter=", parameter, " ");
    absl::StrAppend(&operation.shapes, text, rest, "\n");
  };
  for (const std::int64_t parameter :
       has_parameter ? std::vector<std::int64_t>{3, 8} : std::vector<std::int64_t>{0}) {
    entry(parameter, false, "unit=1 by=*");
    entry(parameter, true, "unit=1 by=*");
    entry(parameter, true, "unit=2,4,8,16 by=plain");
    // One axis after the other at its edges, the others at their smallest.
    for (int edge = 0; edge < layout.main.axes; ++edge) {
      std::string text;
      for (int axis = 0; axis < layout.main.axes; ++axis) {
        absl::StrAppend(&text, kSizes[axis], "=",
                        axis == edge ? EdgesText(layout, axis, parameter)
                                     : absl::StrCat(InnerOf(layout.main, axis, parameter)),
                        " ");
      }
      if (has_parameter) absl::StrAppend(&text, "parameter=", parameter, " ");
      absl::StrAppend(&operation.shapes, text, "unit=1 by=*\n");
    }
  }
  // The array beside its memory order: logical extents on one side, one run on the other.
  std::vector<std::string> extents;
  for (int axis = 0; axis < layout.main.axes; ++axis) extents.push_back(kSizes[axis]);
  extents.push_back("unit");
  Argument in = {.name = "in", .format = "u8", .role = Role::kInput, .extents = extents};
  Argument out = {.name = "out", .format = "u8", .role = Role::kOutput, .extents = extents};
  (pack ? out : in).layout = [layout](const Shape& shape) -> absl::StatusOr<LayoutView> {
    LANEWISE_ASSIGN_OR_RETURN(BoundLayout bound, BoundOf(layout, shape));
    if (shape["unit"] != 1) return Unimplemented("elements of several bytes");
    LayoutView view;
    view.bound = bound;
    for (int axis = 0; axis < layout.main.axes; ++axis) {
      view.axes.emplace_back(layout.main.axis_name[axis].view());
    }
    return view;
  };
  operation.arguments = {in, out};
  operation.data = {Data::kIota, Data::kRandomBits};
  operation.moves = true;
  operation.reference = [&layout, pack](const Call& c) { return ByDefinition(layout, pack, c); };
  operation.host = [&layout, pack](const Call& c) { return OnHost(layout, pack, c); };
  operation.device = [&layout, pack](const Call& c) { return OnDevice(layout, pack, c); };
  return operation;
}

const std::vector<Registration> kRegistrations = [] {
  std::vector<Registration> registrations;
  for (const Layout& layout : kCatalogue) {
    registrations.emplace_back(Move(layout, true));
    registrations.emplace_back(Move(layout, false));
  }
  return registrations;
}();

}  // namespace
}  // namespace lanewise::differential
