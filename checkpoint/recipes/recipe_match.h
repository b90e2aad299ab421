#ifndef LANEWISE_CHECKPOINT_RECIPES_RECIPE_MATCH_H_
#define LANEWISE_CHECKPOINT_RECIPES_RECIPE_MATCH_H_

// What a recipe finds in a checkpoint.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/recipes/recipe.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/tensor_info.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise {

// One weight tensor of a checkpoint with the tensor of its scale codes.
struct WeightPart {
  enum class Half : uint8_t { kWhole, kGate, kUp };  // which rows of a gate/up weight it holds

  std::string weight;  // tensor names
  std::string scale;
  int64_t first_expert = 0;  // it holds experts [first_expert, first_expert + experts)
  int64_t experts = 0;       // 0 for a linear
  Half half = Half::kWhole;
};

// A weight that can be prepared. Everything below was checked against the shapes and dtypes of the
// tensors, all parts alike.
struct MatchedWeight {
  WeightKind kind = WeightKind::kMxfp8Linear;
  // What the prepared weight and its codes are called: the source's own names where there is one
  // part, the recipe's where experts are fused.
  std::string name;
  std::string scale_name;

  // The tensors it consists of. A linear, or experts in one tensor, have one. Experts in tensors of
  // their own have one for each, or (order kSeparate) two, gate before up; experts ascend from 0.
  std::vector<WeightPart> parts;

  int64_t experts = 0;  // 0 for a linear
  // Logical rows and columns, of each expert. Columns count elements: a 4-bit weight has k / 2
  // bytes a row. A gate/up weight has n = 2 inter rows, whether in one tensor or in two of n / 2
  // rows each.
  int64_t n = 0;
  int64_t k = 0;
  // As stored: F8_E4M3 or BF16 (dequantized by a loader); U8, I8 or F4 for 4-bit elements. A part's
  // shape is [experts,] rows, then [k], or for U8 and I8 [k / 2] or [k / 32, 16].
  DType dtype = DType::kU8;
  // One code stands for a block of code_rows x code_columns elements: 32 x 32, 1 x 32 or, of some
  // MXFP8 checkpoints, 128 x 128 (the same code for 4 x 4 blocks of 32 x 32). Experts and 4-bit
  // linears have 1 x 32. Codes are bytes of E8M0, stored as U8 or F8_E8M0, which mean the same;
  // their shape is [experts,] ceil(rows / code_rows), ceil(k / code_columns).
  int64_t code_rows = 0;
  int64_t code_columns = 0;

  Projection projection = Projection::kNone;  // of experts
  GateUpOrder order = GateUpOrder::kNone;     // of gate/up weights
  // The same text for the gate/up and the down weight of one layer; "" for linears. Where both are
  // there, hidden, inter and the number of experts agree.
  std::string group;

  Parallel parallel = Parallel::kUnstated;
  FlashmlaRole flashmla = FlashmlaRole::kNone;
  int64_t head_dim = 0;  // of kQFused: n is a multiple of it; of kOFused: k / heads_per_group
  int64_t heads_per_group = 0;  // of kOFused

  // Of experts: the layer's intermediate and hidden sizes.
  int64_t inter() const { return projection == Projection::kGateUp ? n / 2 : k; }
  int64_t hidden() const { return projection == Projection::kGateUp ? k : n; }
};

// Tensors that the recipe knows or that are quantized, but that cannot be prepared as they are.
struct Refusal {
  std::string reason;                // names the tensor, what was found and what was expected
  std::vector<std::string> tensors;  // all that belong to it: weights and codes
};

// Every tensor of the checkpoint stands in exactly one place: in one part of one weight (as its
// weight or its scale), in one refusal, or in `copied`.
struct RecipeMatch {
  std::vector<MatchedWeight> weights;  // in the order of the checkpoint, by their first part
  std::vector<Refusal> refused;
  std::vector<std::string> copied;  // in the order of the checkpoint

  // Tensors in all places together.
  int64_t tensor_count() const;
};

// Finds the recipe's weights among the tensors, whose names have to differ. Refused are
//  - weights whose codes are missing, stand there under two names, or are not E8M0 (F32
//  multipliers,
//    NVFP4's e4m3);
//  - weights and codes whose shapes do not belong together, both named;
//  - experts of which a number is missing, or that differ in shape or dtype; layers whose gate/up
//  and
//    down do not belong together;
//  - what a rule refuses;
//  - fused experts whose name some tensor has already;
//  - tensors of a quantized dtype (F8_*, F6_*, F4) that belong to no rule: they are not to pass
//  through
//    unnoticed.
// A BF16 tensor is a weight only where its codes stand beside it.
RecipeMatch MatchRecipe(const Recipe& recipe, std::span<const TensorSpec> tensors);

// The specs of a checkpoint's tensors, in its order.
std::vector<TensorSpec> SpecsOf(const TensorSet& set);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RECIPES_RECIPE_MATCH_H_
