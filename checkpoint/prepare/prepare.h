#ifndef LANEWISE_CHECKPOINT_PREPARE_PREPARE_H_
#define LANEWISE_CHECKPOINT_PREPARE_PREPARE_H_

// Prepares a checkpoint: reads its tensors, and writes the prepared files beside which
// preparation.h and prepared_metadata.h stand.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/prepare/output_files.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise {

struct PrepareRequest {
  std::string in;                // a file, an index or a directory
  std::string out;               // a file if `in` is one and ranks == 1, else a directory
  PreparationOptions options;    // its rank is set from `rank`
  std::optional<int> rank;       // of several ranks, only this one
  std::optional<Recipe> recipe;  // chosen by looking at the names where there is none
  bool lossless = false;         // also store what layouts discard, so that restore is exact
  OutputRules rules;             // what happens to files that are there, and which are written
  bool dry_run = false;          // plan, and write nothing
  int threads = 0;               // 0: all of the machine's
  std::int64_t memory = kDefaultMemory;       // that the process may hold, all in all
  const std::atomic<bool>* cancel = nullptr;  // becomes true when the work is to end
};

struct PreparedRank {
  int rank = 0;
  std::string out;  // the file or directory
  Preparation preparation;
  std::vector<FileReport> files;    // bytes of others' without signs of zeros
  std::int64_t bytes = 0;           // of tensors written, what lossless stores included
  std::int64_t negative_zeros = 0;  // -0 that became +0, in files written or kept
};

struct PrepareReport {
  std::string recipe;
  std::string why;                 // this recipe, one sentence with its name
  std::vector<std::string> notes;  // what is odd but harmless
  std::int64_t source_tensors = 0;
  std::int64_t source_bytes = 0;
  std::vector<PreparedRank> ranks;
};

// Told of bytes written, out of all that are to be (without signs of zeros, which are not known
// beforehand). By one thread at a time.
using Progress = std::function<void(std::int64_t done, std::int64_t total)>;

// Refuses a checkpoint that is prepared already, an `out` that exists (unless overwrite or resume)
// or that is part of `in`, and what PlanPreparation, RunPlan and the files themselves refuse; each
// message names the tensor. Refuses a `memory` that is too little for one lead of a tensor, saying
// what it takes.
//
// Files get their names one by one, each when it is complete and on disk; with overwrite and
// without resume all at the end. Where the source is refused, those that got theirs are removed
// again. Where the work was cancelled or the disk failed, they stay, and resume goes on with them:
// it keeps a file if LookAtExisting (output_metadata.h) finds it to be what would be written, and
// refuses another one unless overwrite. The index comes last.
//
// With shards, each process writes the files that DealFiles gives it, and the index of every rank
// of which it has a file: the same bytes, whichever process writes it.
absl::StatusOr<PrepareReport> PrepareCheckpoint(const PrepareRequest& request,
                                                const Progress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_PREPARE_H_
