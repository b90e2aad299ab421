#ifndef LANEWISE_CHECKPOINT_STREAM_RUN_FILES_H_
#define LANEWISE_CHECKPOINT_STREAM_RUN_FILES_H_

// Makes files that are cut into pieces of work (ordered_work.h), one after the other, the pieces of
// all of them overlapping: what prepare, restore, quantize and dequantize have in common.

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/ordered_work.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise {

// One output file: its contents, as pieces, and when it gets its name.
class PiecedFile {
 public:
  // Number `lane` of those that are written. Something may be at `path` where `rules` say so.
  PiecedFile(std::string path, const OutputRules& rules, std::size_t lane)
      : path_(std::move(path)), rules_(rules), lane_(lane) {}
  virtual ~PiecedFile() = default;

  // Before Next, by one thread.
  absl::Status Open();

  // The next piece, none after the last. The last one completes the file's contents; where the file
  // is to get its name then, it also calls Finish. By one thread at a time.
  std::optional<Piece> Next();

  // After the last piece: flushes the file and gives it its name.
  absl::Status Finish();

  // Whether it has its name.
  bool named() const { return named_; }

 private:
  // Makes the file, without its name.
  virtual absl::Status Begin() = 0;
  // The next piece of the contents, its lane left open; none after the last.
  virtual std::optional<Piece> NextOfContents() = 0;
  // When all of them are committed: what is left to find and to check.
  virtual absl::Status Complete() = 0;
  // Gives the file its name.
  virtual absl::Status Name() = 0;

  const std::string path_;
  const OutputRules rules_;
  const std::size_t lane_;
  bool name_when_complete_ = true;
  bool dealt_last_ = false;
  bool named_ = false;
};

struct RunFilesOptions {
  int threads = 1;
  int most_in_flight = 4;
  const std::atomic<bool>* cancel = nullptr;
};

// Runs every piece of every file; the files' pieces have the files' numbers as their lanes. If none
// failed, files that have no name yet get theirs at the end, in their order.
absl::Status RunFiles(std::span<const std::unique_ptr<PiecedFile>> files, MemoryBudget& memory,
                      const RunFilesOptions& options);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_RUN_FILES_H_
