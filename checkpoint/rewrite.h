#ifndef LANEWISE_CHECKPOINT_REWRITE_H_
#define LANEWISE_CHECKPOINT_REWRITE_H_

// A checkpoint made from another, tensor by tensor, file by file: the outputs of a source tensor go
// to the file of the same name as the source's.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/tensor_info.h"
#include "checkpoint/tensor_set.h"

namespace lanewise {

// Writes bytes of output number `output`, the first at its byte `offset`. From any thread.
using RewriteSink = std::function<absl::Status(std::size_t output, std::int64_t offset,
                                               std::span<const std::uint8_t> bytes)>;

// What a source tensor becomes.
struct RewrittenTensor {
  // Its outputs; none, and it is left out.
  std::vector<TensorSpec> outputs;
  // Writes all bytes of all outputs. Null: the one output is the source's bytes as they are.
  std::function<absl::Status(const RewriteSink&)> write;
};

struct RewriteRequest {
  std::string in;   // what `set` was opened from
  std::string out;  // a file if `in` is one, else a directory
  bool overwrite = false;
  // Goes into every file, beside the source file's own metadata.
  std::map<std::string, std::string> metadata;
};

// Told of output bytes written, out of all.
using RewriteProgress = std::function<void(std::int64_t done, std::int64_t total)>;

// Writes the checkpoint and returns the bytes of its tensors. tensors[i] is what set.tensors()[i]
// becomes. An index is written where the source has one. Nothing has its name at `out` until every
// tensor is written. Refuses an `out` that exists (unless overwrite) or is a file of the source,
// names that two outputs share, a prepared checkpoint, and a source that changes meanwhile.
absl::StatusOr<std::int64_t> RewriteCheckpoint(const TensorSet& set, const RewriteRequest& request,
                                               const std::vector<RewrittenTensor>& tensors,
                                               const RewriteProgress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_REWRITE_H_
