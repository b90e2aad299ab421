#include "checkpoint/stream/output_fates.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lanewise {

namespace fs = std::filesystem;

std::string_view FateName(FileReport::Fate fate) {
  switch (fate) {
    case FileReport::Fate::kWritten:
      return "written";
    case FileReport::Fate::kKept:
      return "kept";
    case FileReport::Fate::kOthers:
      return "left to another shard";
  }
  return "unknown";
}

bool IsNameTaken(const std::string& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool OutputRules::NamesWhenComplete(const std::string& path) const {
  return !overwrite || (resume && !IsNameTaken(path));
}

absl::Status CheckShard(const JobShard& shard) {
  if (shard.count >= 1 && shard.index >= 0 && shard.index < shard.count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("shard ", shard.index, "/", shard.count));
}

absl::StatusOr<std::vector<FileReport>> DealOutputs(std::vector<FileReport> files,
                                                    const OutputRules& rules,
                                                    const JudgeFile& judge) {
  if (absl::Status status = CheckShard(rules.shard); !status.ok()) return status;
  std::vector<std::int64_t> bytes;
  for (const FileReport& file : files) bytes.push_back(file.bytes);
  const std::vector<int> owner = DealFiles(bytes, rules.shard.count);
  for (std::size_t i = 0; i < files.size(); ++i) {
    FileReport& file = files[i];
    if (owner[i] != rules.shard.index) {
      file.fate = FileReport::Fate::kOthers;
      continue;
    }
    if (!IsNameTaken(file.path)) continue;
    if (!rules.resume) {
      if (rules.overwrite) continue;
      return absl::AlreadyExistsError(absl::StrCat(
          file.path, " exists; --overwrite replaces it, --resume goes on with what is there"));
    }
    const std::string problem = judge(i, &file);
    if (problem.empty()) {
      file.fate = FileReport::Fate::kKept;
    } else if (!rules.overwrite) {
      return absl::AlreadyExistsError(absl::StrCat(
          file.path, " is not what this run would write: ", problem, "; --overwrite replaces it"));
    }
  }
  return files;
}

absl::Status AfterFailure(const absl::Status& status, std::span<const std::string> named,
                          std::size_t of_files) {
  const bool refused = absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status) ||
                       absl::IsAborted(status) || absl::IsDataLoss(status);
  if (refused) {
    std::error_code ignored;
    for (const std::string& path : named) fs::remove(path, ignored);
    return status;
  }
  if (!absl::IsCancelled(status) && named.empty()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), "; ", named.size(), " of ", of_files,
                                   of_files == 1 ? " file is complete" : " files are complete",
                                   named.empty() ? "" : ", --resume goes on with them"));
}

}  // namespace lanewise
