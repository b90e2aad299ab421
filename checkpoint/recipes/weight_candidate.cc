#include "checkpoint/recipes/weight_candidate.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/dtype.h"

namespace lanewise::internal {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace

absl::Status ShapeError(const Candidate& part, std::string_view problem) {
  return absl::InvalidArgumentError(absl::StrCat("weight ", SpecText(*part.weight), " and scale ",
                                                 SpecText(*part.scale), ": ", AbslView(problem)));
}

std::string SpecText(const TensorSpec& spec) {
  return absl::StrCat(Quoted(spec.name), " (", AbslView(DTypeName(spec.dtype)), " ",
                      DimensionsText(spec.shape), ")");
}

absl::StatusOr<Geometry> Mxfp8Geometry(const Candidate& part) {
  const std::vector<int64_t>& weight = part.weight->shape;
  const std::vector<int64_t>& codes = part.scale->shape;
  if (weight.size() != 2 || codes.size() != 2) {
    return ShapeError(part, "expected two dimensions each, [n, k] and blocks of it");
  }
  Geometry geometry{.experts = 0, .n = weight[0], .k = weight[1]};
  if (geometry.n == 0 || geometry.k == 0) return ShapeError(part, "the weight is empty");
  // Two sizes of block can give one grid only where that grid is a single row or column, and then
  // they mean the same; so the first that fits will do.
  constexpr std::pair<int64_t, int64_t> kBlocks[] = {{32, 32}, {1, 32}, {128, 128}};
  for (const auto& [rows, columns] : kBlocks) {
    if (codes[0] == CeilDiv(geometry.n, rows) && codes[1] == CeilDiv(geometry.k, columns)) {
      geometry.code_rows = rows;
      geometry.code_columns = columns;
      if (columns == 32 && geometry.k % 32 != 0) {
        return ShapeError(part, "k is not a multiple of 32, the block of a code");
      }
      return geometry;
    }
  }
  const auto grid = [&](int64_t rows, int64_t columns) {
    const int64_t shape[] = {CeilDiv(geometry.n, rows), CeilDiv(geometry.k, columns)};
    return DimensionsText(shape);
  };
  return ShapeError(
      part, absl::StrCat("expected codes of shape ", grid(32, 32), " (blocks of 32 x 32), ",
                         grid(1, 32), " (of 1 x 32) or ", grid(128, 128), " (of 128 x 128)"));
}

absl::StatusOr<Geometry> Mxfp4Geometry(const Candidate& part, bool fused) {
  const std::vector<int64_t>& weight = part.weight->shape;
  const std::vector<int64_t>& codes = part.scale->shape;
  const size_t lead = fused ? 1 : 0;
  Geometry geometry;
  const bool blocks = weight.size() == lead + 3 && weight.back() == 16;
  if (part.weight->dtype == DType::kF4 && weight.size() == lead + 2) {
    geometry.k = weight[lead + 1];
  } else if (part.weight->dtype != DType::kF4 && blocks) {
    geometry.k = 32 * weight[lead + 1];
  } else if (part.weight->dtype != DType::kF4 && weight.size() == lead + 2) {
    geometry.k = 2 * weight[lead + 1];
  } else {
    return ShapeError(part, absl::StrCat("expected a weight of ",
                                         fused ? "[experts, n, k / 2] or [experts, n, k / 32, 16]"
                                               : "[n, k / 2] or [n, k / 32, 16]",
                                         " bytes, or as many F4 elements"));
  }
  geometry.experts = fused ? weight[0] : 0;
  geometry.n = weight[lead];
  if (geometry.n == 0 || geometry.k == 0 || (fused && geometry.experts == 0)) {
    return ShapeError(part, "the weight is empty");
  }
  if (geometry.k % 32 != 0) {
    return ShapeError(
        part, absl::StrCat("k = ", geometry.k, " is not a multiple of 32, the block of a code"));
  }
  std::vector<int64_t> expected(weight.begin(), weight.begin() + static_cast<int64_t>(lead) + 1);
  expected.push_back(geometry.k / 32);
  if (codes != expected) {
    return ShapeError(part, absl::StrCat("expected codes of shape ", DimensionsText(expected)));
  }
  return geometry;
}

MatchedWeight Describe(const Rule& rule, const Geometry& geometry, const Candidate& first) {
  MatchedWeight weight;
  weight.kind = rule.kind;
  weight.experts = geometry.experts;
  weight.n = geometry.n;
  weight.k = geometry.k;
  weight.dtype = first.weight->dtype;
  weight.code_rows = geometry.code_rows;
  weight.code_columns = geometry.code_columns;
  weight.projection = rule.projection;
  weight.order = rule.order;
  weight.group = rule.group.Expand(first.captures);
  weight.parallel = rule.parallel;
  weight.flashmla = rule.flashmla;
  weight.head_dim = rule.head_dim;
  weight.heads_per_group = rule.heads_per_group;
  return weight;
}

}  // namespace lanewise::internal
