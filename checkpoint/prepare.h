#ifndef LANEWISE_CHECKPOINT_PREPARE_H_
#define LANEWISE_CHECKPOINT_PREPARE_H_

// Prepares a checkpoint: reads its tensors, and writes the prepared files beside which
// preparation.h and prepared_metadata.h stand.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/preparation.h"
#include "checkpoint/recipe.h"
#include "checkpoint/tensor_set.h"

namespace lanewise {

struct PrepareRequest {
  std::string in;                // a file, an index or a directory
  std::string out;               // a file if `in` is one and ranks == 1, else a directory
  PreparationOptions options;    // its rank is set from `rank`
  std::optional<int> rank;       // of several ranks, only this one
  std::optional<Recipe> recipe;  // chosen by looking at the names where there is none
  bool lossless = false;         // also store what layouts discard, so that restore is exact
  bool overwrite = false;        // replace files that are at `out` already
  bool dry_run = false;          // plan, and write nothing
  int threads = 0;               // 0: all of the machine's
  std::int64_t buffer_bytes = std::int64_t{64} << 20;  // of output in flight; one lead at least
};

struct PreparedRank {
  int rank = 0;
  std::string out;  // the file or directory
  Preparation preparation;
  std::int64_t bytes = 0;           // of tensors written, what lossless stores included
  std::int64_t negative_zeros = 0;  // -0 that became +0
};

struct PrepareReport {
  std::string recipe;
  std::string why;                 // this recipe, one sentence with its name
  std::vector<std::string> notes;  // what is odd but harmless
  std::int64_t source_tensors = 0;
  std::int64_t source_bytes = 0;
  std::vector<PreparedRank> ranks;
};

// Told of bytes written, out of all.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

// Nothing appears at `out` unless everything succeeds. Refuses a checkpoint that is prepared
// already, an `out` that exists (unless overwrite) or that is part of `in`, and what
// PlanPreparation, RunPlan and the files themselves refuse; each message names the tensor.
absl::StatusOr<PrepareReport> PrepareCheckpoint(const PrepareRequest& request,
                                                const Progress& progress);

// Where rank `rank` of `ranks` goes: `out` itself, or out/rank-R.
std::string RankDirectory(std::string_view out, int rank, int ranks);

// ---- What a prepared file keeps so that it can be restored ----

// Metadata of each prepared file: the header text of the source file it comes from (its spaces
// included), the recipe's JSON, and the options as JSON.
inline constexpr std::string_view kSourceHeaderKey = "lanewise.x.source_header";
inline constexpr std::string_view kRecipeTextKey = "lanewise.x.recipe";
inline constexpr std::string_view kOptionsKey = "lanewise.x.options";

// Names of the tensors that lossless stores: signs of zeros (weights/zero_signs.h) of a prepared
// tensor, and the original of one that was dequantized.
std::string ZeroSignsName(std::string_view tensor);
std::string OriginalName(std::string_view tensor);

// An index can only name files that hold a tensor. A file of an indexed checkpoint that would have
// none, because its tensors are fused into ones of other files, gets an empty one of this name: it
// still keeps its source's header.
std::string EmptyFileName(std::string_view file);

std::string OptionsJson(const PreparationOptions& options, bool lossless);
absl::StatusOr<PreparationOptions> ParseOptions(std::string_view json, std::string_view origin);
// Whether the options say lossless; of text that ParseOptions takes.
bool IsLossless(std::string_view options_json);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_H_
