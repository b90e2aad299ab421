#ifndef LANEWISE_CHECKPOINT_PREPARE_WRITE_FILES_H_
#define LANEWISE_CHECKPOINT_PREPARE_WRITE_FILES_H_

// Writes the output files of a preparation, streamed.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/prepare/output_files.h"
#include "checkpoint/stream/output_fates.h"

namespace lanewise {

struct WriteRequest {
  int threads = 0;          // 0: all of the machine's
  std::int64_t memory = 0;  // that the process may hold, all in all
  const std::atomic<bool>* cancel = nullptr;
  OutputRules rules;  // whether something may be at a file's path, and when it gets its name
};

struct WrittenFile {
  bool named = false;
  std::int64_t bytes = 0;
  std::int64_t negative_zeros = 0;
};

// Writes `files`, whose directories exist. (*written)[i] tells of files[i], also where this fails.
// Holds what the process held before, and beyond that buffers and pages of the source; refuses
// (InvalidArgument) a `memory` in which the smallest piece of some tensor finds no room, and
// ResourceExhausted where the file system has no room for the files.
absl::Status WriteFiles(const JobPlan& plan, std::span<const OutputFile* const> files,
                        const WriteRequest& request,
                        const std::function<void(std::int64_t, std::int64_t)>& progress,
                        std::vector<WrittenFile>* written);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_PREPARE_WRITE_FILES_H_
