#ifndef LANEWISE_CHECKPOINT_PREPARE_OUTPUT_FILES_H_
#define LANEWISE_CHECKPOINT_PREPARE_OUTPUT_FILES_H_

// Which files a preparation consists of, what each holds, and where they go. Everything here
// follows from names and shapes, so it is the same for every process that shares a job.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/prepare/preparation.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/safetensors/tensor_set.h"

namespace lanewise {

// A tensor that is not the checkpoint's own.
struct ExtraTensor {
  enum class Kind {
    kZeroSigns,  // of output `of`; how many bytes its zeros take, reading it tells
    kOriginal,   // the bytes that output `of` was dequantized from
    kEmpty,      // nothing: so that an index names the file
  };
  Kind kind = Kind::kEmpty;
  const OutputTensor* of = nullptr;
  OutputTensor output;
};

// One file of one rank.
struct OutputFile {
  std::size_t rank = 0;   // which of the ranks that are prepared
  std::size_t shard = 0;  // of the source: the file whose name and header it has
  std::string name;       // relative to the rank's directory
  std::string path;
  std::vector<const OutputTensor*> outputs;
  std::vector<ExtraTensor> extras;
  std::int64_t bytes = 0;  // of all tensors but signs of zeros
};

// One rank of a job.
struct RankPlan {
  int rank = 0;
  std::string out;  // its directory or file
  Preparation preparation;
};

// What all files of a job share.
struct JobPlan {
  const TensorSet* source = nullptr;
  Recipe recipe;
  PreparationOptions options;  // but rank, which is in `ranks`
  bool lossless = false;
  std::vector<RankPlan> ranks;

  bool InOneFile() const {
    return source->source() == TensorSet::Source::kFile && options.ranks == 1;
  }
  bool HasIndex() const { return !source->index_name().empty(); }
};

// The files, by shard, then by rank: ranks that read the same source are neighbours. They point
// into `plan`. Each output goes to the file of its first source.
std::vector<OutputFile> PlanOutputFiles(const JobPlan& plan);

// The index of a rank, as text: the same from every process. No total_size where --lossless, whose
// signs of zeros only reading the source tells.
absl::StatusOr<std::string> IndexTextOf(const JobPlan& plan, std::span<const OutputFile> files,
                                        std::size_t rank);
std::string IndexPathOf(const JobPlan& plan, std::size_t rank);

// What may be at the output already.
struct PlaceRules {
  bool overwrite = false;
  bool shared = false;  // files of the same job are expected there: other shards', an earlier run's
};

// Refuses outputs in the source's own directory or among its files, ranks and files that do not
// belong to this job, and an index that is not this job's. Says nothing of the job's own files.
absl::Status CheckPlaces(const JobPlan& plan, std::span<const OutputFile> files,
                         const std::string& in, const std::string& out, PlaceRules rules);

// Where rank `rank` of `ranks` goes: `out` itself, or out/rank-R.
std::string RankDirectory(std::string_view out, int rank, int ranks);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_OUTPUT_FILES_H_
