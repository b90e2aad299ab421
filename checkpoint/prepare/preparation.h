#ifndef LANEWISE_CHECKPOINT_PREPARE_PREPARATION_H_
#define LANEWISE_CHECKPOINT_PREPARE_PREPARATION_H_

// What a checkpoint becomes for a target: for every tensor of the output, its name, its description
// and the plan that makes it from source tensors. Nothing is read but shapes (and, by a question,
// whether row codes fold), so the same preparation is planned again from a prepared file's own
// records to restore it.
//
// What each target does to each kind of weight:
//
//   kind                              gfx942                gfx950                     flashmla
//   MXFP8 linear, block codes         gfx942/dense, FNUZ    bytes and block codes      wq_b, wo_a
//   permuted; (also row codes that fold, bf16   bytes, codes + 1      as they are others copied
//   that was dequantized from them)
//   MXFP8 linear, other row codes     refused               as they are; K % 128 != 0: wq_b, wo_a
//   permuted;
//                                                           bf16 once                  others
//                                                           copied
//   MXFP4 experts                     tile-major bytes,     AITER's shuffled bytes     copied
//                                     code rounds           and codes
//   what a recipe matches and has no cell here: refused by name, or copied where pass_through says
//   so what no recipe matches: copied

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/prepared_writer.h"
#include "checkpoint/recipes/recipe_match.h"
#include "weights/tensor_plan.h"

namespace lanewise {

enum class Target { kGfx942, kGfx950, kFlashmla };

std::string_view TargetName(Target target);  // "gfx942", "gfx950", "flashmla"
absl::StatusOr<Target> TargetNamed(std::string_view name);

struct PreparationOptions {
  Target target = Target::kGfx942;
  // Tensor parallelism: this is rank `rank` of `ranks`.
  int ranks = 1;
  int rank = 0;
  // Copy what the target has no preparation for, instead of refusing it.
  bool pass_through = false;
  // gfx950: keep row codes, because the block GEMM's split of K depends on the batch (seed 001).
  bool batch_invariant = false;
};

// One tensor of the output.
struct OutputTensor {
  PreparedTensorPlan tensor;         // what the file says of it
  std::vector<std::string> sources;  // the source tensors that `plan` reads, in its order
  bool verbatim = false;             // the bytes of the one source as they are; no plan
  TensorPlan plan;
};

// The name of a late parameter: how many -0 became +0.
inline constexpr std::string_view kNegativeZerosParam = "negative_zeros";

// The values of the parameter "codes" of linears whose codes are row-major: what they stand for.
inline constexpr std::string_view kBlockCodesParam = "block";
inline constexpr std::string_view kRowCodesParam = "row";

struct Preparation {
  std::vector<OutputTensor> outputs;  // in the order of the checkpoint, by their first source

  // Where every source tensor went.
  std::int64_t prepared = 0;  // into weights that were prepared
  std::int64_t copied = 0;    // no recipe knows them, or the target takes them as they are
  std::int64_t passed = 0;    // refused, but pass_through copied them
};

// Answers whether the row codes of a weight fold to 32 x 32 blocks.
using RowCodesFoldQuestion = std::function<absl::StatusOr<bool>(const MatchedWeight&)>;

// Plans every output of a match. `tensors` are the checkpoint's, by which every source is found.
// InvalidArgument lists, each with its reason, what the recipe or the target refuses, unless
// pass_through.
absl::StatusOr<Preparation> PlanPreparation(const RecipeMatch& match,
                                            std::span<const TensorSpec> tensors,
                                            const PreparationOptions& options,
                                            const RowCodesFoldQuestion& row_codes_fold);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_PREPARATION_H_
