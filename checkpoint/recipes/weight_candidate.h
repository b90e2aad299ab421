#ifndef LANEWISE_CHECKPOINT_RECIPES_WEIGHT_CANDIDATE_H_
#define LANEWISE_CHECKPOINT_RECIPES_WEIGHT_CANDIDATE_H_

// For the matching of recipes: a weight tensor with its codes, and what their shapes say together.

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/recipes/name_pattern.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise::internal {

// A tensor that fits a rule, before it is joined with others and checked.
struct Candidate {
  const TensorSpec* weight = nullptr;
  const TensorSpec* scale = nullptr;
  WeightPart::Half half = WeightPart::Half::kWhole;
  int64_t expert = -1;  // the number in its name, or -1
  Captures captures;
  std::string weight_end;  // the companions that fit
  std::string scale_end;
};

// Rows and columns of one part, and how many elements one of its codes is for.
struct Geometry {
  int64_t experts = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t code_rows = 1;
  int64_t code_columns = 32;

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

// "weight 'w' (U8 [2, 3]) and scale 's' (U8 [2]): PROBLEM".
absl::Status ShapeError(const Candidate& part, std::string_view problem);

// "'w' (U8 [2, 3])".
std::string SpecText(const TensorSpec& spec);

// The geometry of e4m3 or bf16 [n, k] with codes in blocks of 32 x 32, 1 x 32 or 128 x 128.
absl::StatusOr<Geometry> Mxfp8Geometry(const Candidate& part);

// The geometry of e2m1, two a byte, with codes of 1 x 32. `fused`: an outermost axis of experts.
absl::StatusOr<Geometry> Mxfp4Geometry(const Candidate& part, bool fused);

// What rule and geometry say of the weight that begins with this part: all but its name and parts.
MatchedWeight Describe(const Rule& rule, const Geometry& geometry, const Candidate& first);

}  // namespace lanewise::internal

#endif  // LANEWISE_CHECKPOINT_RECIPES_WEIGHT_CANDIDATE_H_
