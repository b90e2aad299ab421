#ifndef LANEWISE_CHECKPOINT_REWRITE_REWRITE_H_
#define LANEWISE_CHECKPOINT_REWRITE_REWRITE_H_

// A checkpoint made from another, tensor by tensor, file by file: the outputs of a source tensor go
// to the file of the same name as the source's. Streamed: pieces of rows are read, made and written
// at the same time (ordered_work.h), within a bound of memory, and files are dealt, kept and
// replaced as prepare's are.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/safetensors/tensor_info.h"
#include "checkpoint/safetensors/tensor_set.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise {

// How the bytes of a tensor belong to the rows of a RewrittenTensor: `bytes` for each `rows` of
// them, the first from byte 0 on.
struct RowBytes {
  std::int64_t bytes = 0;
  std::int64_t rows = 1;

  std::int64_t OfRows(std::int64_t count) const { return (count + rows - 1) / rows * bytes; }
};

// A source tensor as rows.
struct RewriteInput {
  const TensorSet::Tensor* tensor = nullptr;
  RowBytes row;
};

struct RewriteOutput {
  TensorSpec spec;
  RowBytes row;
};

// Done in the order of the rows, by one thread at a time.
using RowsDone = std::function<void()>;

// What a source tensor becomes.
struct RewrittenTensor {
  // Its outputs; none, and it is left out.
  std::vector<RewriteOutput> outputs;

  // Makes rows [first, first + count) of every output from those of every input; null: the one
  // output is the tensor's bytes as they are. `first` and `count` are multiples of `together`, but
  // for the last rows. From any thread.
  std::function<absl::StatusOr<RowsDone>(std::int64_t first, std::int64_t count,
                                         std::span<const std::span<const std::uint8_t>> inputs,
                                         std::span<const std::span<std::uint8_t>> outputs)>
      make;
  std::vector<RewriteInput> inputs;
  std::int64_t rows = 0;
  std::int64_t together = 1;
};

// What every rewriting is told.
struct RewriteRequest {
  std::string in;     // a file, an index or a directory
  std::string out;    // a file if `in` is one, else a directory
  OutputRules rules;  // what happens to files that are there, and which are written
  int threads = 0;    // 0: all of the machine's
  std::int64_t memory = kDefaultMemory;       // that the process may hold, all in all
  const std::atomic<bool>* cancel = nullptr;  // becomes true when the work is to end
};

// How every file's metadata differ from its source file's.
struct MetadataChange {
  std::map<std::string, std::string> set;
  std::vector<std::string> removed;
};

struct RewriteReport {
  std::vector<FileReport> files;
  std::int64_t bytes = 0;     // of the tensors of files that were written or kept
  std::vector<bool> written;  // by tensor of the set: whether this run made it
};

// Told of output bytes written, out of all.
using RewriteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// The checkpoint at `path`; InvalidArgument for a prepared one, whose tensors are no elements and
// codes any more.
absl::StatusOr<TensorSet> OpenUnprepared(const std::string& path);

// Writes the checkpoint. `set` is OpenUnprepared(request.in); tensors[i] is what set.tensors()[i]
// becomes. An index is written where the source has one. Refuses an `out` that exists (as
// OutputRules say) or is a file of the source, names that two outputs share, a source that changes
// meanwhile, and a `memory` that is too little for the smallest piece, saying what it takes. A file
// that is there is kept, where rules.resume says so, if its header is byte for byte the one that
// would be written, its size is what that says, and the source's files are older.
absl::StatusOr<RewriteReport> RewriteCheckpoint(const TensorSet& set, const RewriteRequest& request,
                                                const MetadataChange& metadata,
                                                const std::vector<RewrittenTensor>& tensors,
                                                const RewriteProgress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_REWRITE_REWRITE_H_
