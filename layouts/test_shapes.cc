#include "layouts/test_shapes.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "layouts/catalogue.h"

namespace lanewise {
namespace {

// The extents worth trying along one axis.
std::vector<std::int64_t> ExtentsOf(const Layout& layout, int axis) {
  const Pattern& main = layout.main;
  const std::int64_t inner = main.FixedSize(axis);
  if (!main.HasOpenFactor(axis)) return {inner};
  std::vector<std::int64_t> extents = {0, inner, 2 * inner, 3 * inner, 5 * inner};
  if (layout.HasRemainder() && !layout.remainder.HasOpenFactor(axis)) {
    const std::int64_t over = layout.remainder.FixedSize(axis);
    for (const std::int64_t whole : {0, 1, 2, 4}) extents.push_back(whole * inner + over);
  }
  return extents;
}

std::string NameOfParameter(const Layout& layout) {
  for (int i = 0; i < layout.main.factors; ++i) {
    const Name& parameter = layout.main.factor[i].parameter;
    if (!parameter.empty()) return std::string(parameter.view());
  }
  return "";
}

}  // namespace

std::vector<BoundCase> CasesOf(const Layout& layout) {
  std::vector<std::vector<std::int64_t>> shapes = {{}};
  for (int axis = 0; axis < layout.main.axes; ++axis) {
    std::vector<std::vector<std::int64_t>> longer;
    for (const auto& shape : shapes) {
      for (const std::int64_t extent : ExtentsOf(layout, axis)) {
        longer.push_back(shape);
        longer.back().push_back(extent);
      }
    }
    shapes = std::move(longer);
  }
  std::vector<BoundCase> cases;
  for (const auto& shape : shapes) {
    BoundCase bound_case;
    bound_case.layout = layout;
    bound_case.extents = shape;
    bound_case.name = absl::StrCat(AbslView(layout.tag), " [", absl::StrJoin(shape, ", "), "]");
    const BindResult result = BindLayout(layout, shape.data(), static_cast<int>(shape.size()));
    if (result.fault != BindFault::kNone) bound_case.name += " does not bind";
    bound_case.bound = result.layout;
    cases.push_back(bound_case);
  }
  return cases;
}

std::vector<BoundCase> CatalogueCases() {
  std::vector<BoundCase> cases;
  for (const Layout& layout : kCatalogue) {
    const std::string parameter = NameOfParameter(layout);
    if (parameter.empty()) {
      for (BoundCase& bound_case : CasesOf(layout)) cases.push_back(std::move(bound_case));
      continue;
    }
    for (const std::int64_t size : {1, 3, 4, 8}) {
      for (BoundCase& bound_case : CasesOf(layout.WithParameter(parameter, size))) {
        absl::StrAppend(&bound_case.name, " ", parameter, "=", size);
        cases.push_back(std::move(bound_case));
      }
    }
  }
  return cases;
}

}  // namespace lanewise
