#ifndef LANEWISE_CHECKPOINT_STREAM_OUTPUT_FATES_H_
#define LANEWISE_CHECKPOINT_STREAM_OUTPUT_FATES_H_

// What becomes of each output file of a run: --overwrite, --resume and --shard, which mean the same
// for every command that writes files.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/stream/shard_deal.h"

namespace lanewise {

struct FileReport {
  enum class Fate {
    kWritten,  // or planned
    kKept,     // it was there, and is what would have been written
    kOthers    // another shard's
  };
  std::string path;
  Fate fate = Fate::kWritten;
  std::int64_t bytes = 0;  // of its tensors
};

// "written", "kept", "left to another shard".
std::string_view FateName(FileReport::Fate fate);

struct OutputRules {
  bool overwrite = false;  // replace files that are there already
  bool resume = false;     // keep files of an earlier run that are as they would be made
  JobShard shard;          // of the output files, only this part

  // Whether the file gets the name `path` when it is complete, so that `resume` finds it. With
  // `overwrite` it gets it at the end instead, so that a refusal leaves what was there before: with
  // `resume` also, if something is there now.
  bool NamesWhenComplete(const std::string& path) const;
};

// Whether something has this name: a link to nothing too, which opening would pass over.
bool IsNameTaken(const std::string& path);

// InvalidArgument unless 0 <= index < count.
absl::Status CheckShard(const JobShard& shard);

// Looks at the file that is at files[i].path: "" if it is the one that would be written, otherwise
// why not. May set what the report says of a file that is kept.
using JudgeFile = std::function<std::string(std::size_t i, FileReport* report)>;

// The fates of `files`, whose paths and bytes (equal in every process) are given: each is dealt to
// a shard (DealFiles), and of this shard's own, the ones that are there are judged where `resume`
// says so. AlreadyExists, with what helps, where a file is there that is not kept, unless
// `overwrite`.
absl::StatusOr<std::vector<FileReport>> DealOutputs(std::vector<FileReport> files,
                                                    const OutputRules& rules,
                                                    const JudgeFile& judge);

// What to say of a run that ended with `status`, an error, after the files at `named` of
// `of_files` got their names. Where the source was refused they are removed: it will be again.
// Where the run was cancelled or the disk failed they stay, and the message says so.
absl::Status AfterFailure(const absl::Status& status, std::span<const std::string> named,
                          std::size_t of_files);

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_STREAM_OUTPUT_FATES_H_
