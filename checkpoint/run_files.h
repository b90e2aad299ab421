#ifndef LANEWISE_CHECKPOINT_RUN_FILES_H_
#define LANEWISE_CHECKPOINT_RUN_FILES_H_

// Makes files that are cut into pieces of work (ordered_work.h), one after the other, the pieces of
// all of them overlapping: what prepare, restore, quantize and dequantize have in common.

#include <atomic>
#include <memory>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "checkpoint/memory_budget.h"
#include "checkpoint/ordered_work.h"

namespace lanewise {

// One output file.
class PiecedFile {
 public:
  virtual ~PiecedFile() = default;

  // Makes the file, without its name. Before Next, by one thread.
  virtual absl::Status Open() = 0;

  // The next piece, none after the last. The last one completes the file's contents; where files
  // get their names when they are complete, also calls Finish. By one thread at a time.
  virtual std::optional<Piece> Next() = 0;

  // After the last piece: flushes the file and gives it its name.
  virtual absl::Status Finish() = 0;

  // Whether it has its name.
  virtual bool named() const = 0;
};

struct RunFilesOptions {
  int threads = 1;
  int most_in_flight = 4;
  const std::atomic<bool>* cancel = nullptr;
  bool name_when_complete = true;  // else all at the end, in their order, if nothing failed
};

// Runs every piece of every file; the files' pieces have the files' numbers as their lanes.
absl::Status RunFiles(std::span<const std::unique_ptr<PiecedFile>> files, MemoryBudget& memory,
                      const RunFilesOptions& options);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_RUN_FILES_H_
