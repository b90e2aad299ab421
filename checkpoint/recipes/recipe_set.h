#ifndef LANEWISE_CHECKPOINT_RECIPES_RECIPE_SET_H_
#define LANEWISE_CHECKPOINT_RECIPES_RECIPE_SET_H_

// The recipes at hand, and the choice among them.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/safetensors/tensor_info.h"

namespace lanewise {

class RecipeSet {
 public:
  struct Choice {
    const Recipe* recipe;  // of the set
    std::string why;       // one sentence for the user
  };

  // The recipes of checkpoint/recipes/, compiled in, sorted by name.
  static absl::StatusOr<RecipeSet> BuiltIn();

  const std::vector<Recipe>& recipes() const { return recipes_; }

  // The recipe of that name; NotFound lists the names there are.
  absl::StatusOr<const Recipe*> Find(std::string_view name) const;

  // The recipe that recognises a checkpoint with these tensors:
  //  - the one recipe of a family that does; several are refused with their names;
  //  - failing that, refused by name: F32 or otherwise linear scales (DeepSeek V3 and all that is
  //  like
  //    it), NVFP4, integer quantization (GPTQ, AWQ);
  //  - failing that, the one generic recipe that does;
  //  - failing that, "none": there is nothing to prepare.
  absl::StatusOr<Choice> Choose(std::span<const TensorSpec> tensors) const;

 private:
  std::vector<Recipe> recipes_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RECIPES_RECIPE_SET_H_
