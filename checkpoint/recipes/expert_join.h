#ifndef LANEWISE_CHECKPOINT_RECIPES_EXPERT_JOIN_H_
#define LANEWISE_CHECKPOINT_RECIPES_EXPERT_JOIN_H_

// For the matching of recipes: experts that stand in tensors of their own, joined into one weight.

#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/recipes/weight_candidate.h"

namespace lanewise::internal {

// Joins the parts that a rule with an output gathered under `name`, sorted by expert, half and
// name. Refuses, naming it, a number or half that is missing or there twice, and a part unlike the
// first.
absl::StatusOr<MatchedWeight> JoinExperts(const Rule& rule, const std::string& name,
                                          std::span<const Candidate> parts);

}  // namespace lanewise::internal

#endif  // LANEWISE_CHECKPOINT_RECIPES_EXPERT_JOIN_H_
