#ifndef LANEWISE_CHECKPOINT_RESTORE_RESTORE_H_
#define LANEWISE_CHECKPOINT_RESTORE_RESTORE_H_

// Gives back the checkpoint that a prepared one was made from.

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise {

struct RestoreRequest {
  std::string in;     // a prepared file, index or directory, or a directory of rank-0, rank-1, ...
  std::string out;    // a file or a directory, as the source was
  OutputRules rules;  // what happens to files that are there, and which are written
  int threads = 0;
  std::int64_t memory = kDefaultMemory;       // that the process may hold, all in all
  const std::atomic<bool>* cancel = nullptr;  // becomes true when the work is to end
};

struct RestoreReport {
  // Of the files that were written or kept.
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  std::vector<FileReport> files;  // all
  // Zeros whose sign was discarded and not stored: they come back as +0. 0 with lossless.
  std::int64_t lost_zero_signs = 0;
  bool exact = false;  // every file equals its source, byte for byte: checked by its digest
  std::vector<std::string> differing;  // the files that do not
};

// Writes the source files again, under their names and with their headers. Refuses a checkpoint
// that is not prepared, that lacks what prepare writes for this, or whose tensors do not have the
// digests they were written with, and a `memory` that is too little for one lead of a tensor, with
// what it takes.
//
// Files get their names as those of PrepareCheckpoint do, and mean the same: the index comes last,
// shards deal files by their bytes, resume keeps a file whose digest is its source's, or, where
// preparing discarded what would make it so, one that has the source's header and size and is newer
// than the prepared files.
absl::StatusOr<RestoreReport> RestoreCheckpoint(const RestoreRequest& request,
                                                const Progress& progress);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RESTORE_RESTORE_H_
