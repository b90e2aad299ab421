#ifndef LANEWISE_CHECKPOINT_RECIPES_RECIPE_H_
#define LANEWISE_CHECKPOINT_RECIPES_RECIPE_H_

// A recipe says what the tensors of a family of checkpoints are: which of them make up a weight
// that can be prepared, where its scale codes stand, in what order its rows, nibbles and experts
// lie. It does not say what to do with them; that depends on the target. The form of a recipe's
// JSON file is described in docs/recipes.md.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/recipes/name_pattern.h"
#include "checkpoint/recipes/recipe_words.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise {

// A weight's name ends with `weight`; with that end replaced by `scale` it names its codes.
struct Companion {
  std::string weight;
  std::string scale;
};

// One rule: tensors that fit are weights of one kind. docs/recipes.md explains each field.
struct Rule {
  WeightKind kind = WeightKind::kMxfp8Linear;
  std::string refuse;  // not empty: what fits is refused, for this reason
  std::vector<Companion> companions;
  std::vector<DType> dtypes;          // of the weight
  std::optional<NamePattern> weight;  // this, or gate and up
  std::optional<NamePattern> gate;
  std::optional<NamePattern> up;
  Projection projection = Projection::kNone;
  GateUpOrder order = GateUpOrder::kNone;
  NameTemplate output;  // of fused experts
  NameTemplate group;   // of experts
  Parallel parallel = Parallel::kUnstated;
  FlashmlaRole flashmla = FlashmlaRole::kNone;
  int64_t head_dim = 0;         // of kQFused
  int64_t heads_per_group = 0;  // of kOFused
};

// A condition on the tensors of a checkpoint: some tensor has a name of one of these patterns and,
// if there are any, one of these dtypes.
struct Presence {
  std::vector<NamePattern> tensors;
  std::vector<DType> dtypes;

  bool Holds(std::span<const TensorSpec> tensors) const;
};

struct Recipe {
  std::string name;
  std::string about;                    // one line
  bool generic = false;                 // chosen only where no other is
  std::vector<Presence> recognised_by;  // all have to hold; none at all: never chosen by looking
  std::vector<Presence> unless;         // none may hold
  std::vector<Rule> rules;              // a tensor belongs to the first that fits
  std::string json;                     // the text it was parsed from

  // Reads a recipe from the text of its JSON file. `origin` begins the messages. Refuses fields
  // that do not exist, words that mean nothing, and whatever would let two weights become one.
  static absl::StatusOr<Recipe> Parse(std::string_view json, std::string_view origin);
  static absl::StatusOr<Recipe> FromFile(const std::string& path);

  // Whether the recipe recognises a checkpoint with these tensors.
  bool Recognises(std::span<const TensorSpec> tensors) const;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RECIPES_RECIPE_H_
