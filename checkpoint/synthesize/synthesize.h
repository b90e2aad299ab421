#ifndef LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_H_
#define LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_H_

// Writes a checkpoint of random weights with a model's names, dtypes and shapes, so that a
// preparation can be tried at full size without a download.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/synthesize/synthesize_model.h"

namespace lanewise {

struct SynthesizeRequest {
  std::string out;  // a directory
  std::vector<SyntheticTensor> tensors;
  std::map<std::string, std::string> metadata;  // of each file
  std::uint64_t seed = 0;
  // A file takes tensors until the next one would make its tensors more than this; at least one.
  std::int64_t shard_bytes = 5'000'000'000;
  int threads = 0;                            // 0: all of the machine's
  bool overwrite = false;                     // replace files that are at `out` already
  const std::atomic<bool>* cancel = nullptr;  // becomes true when the work is to end
};

struct SynthesizedFile {
  std::string name;  // model-00001-of-00004.safetensors
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;  // of its tensors
};

// The files that SynthesizeCheckpoint would write, beside model.safetensors.index.json.
absl::StatusOr<std::vector<SynthesizedFile>> PlanSynthesis(const SynthesizeRequest& request);

// Told of bytes written, out of all. By one thread at a time.
using SynthesizeProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Writes the files and then the index; memory holds a few MiB a thread, and the names. The bytes of
// a tensor follow from the seed, its name, dtype and shape alone: not from threads, files, or which
// other tensors there are. Each file gets its name when it is complete and on disk; where a later
// one fails, or the work is cancelled, those of this call are removed again. Refuses an `out` that
// holds such files or an index already (unless overwrite), and a model without tensors.
absl::StatusOr<std::vector<SynthesizedFile>> SynthesizeCheckpoint(
    const SynthesizeRequest& request, const SynthesizeProgress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SYNTHESIZE_SYNTHESIZE_H_
