#include "tools/verify/verify.h"

#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/kept_metadata.h"
#include "checkpoint/prepared.h"
#include "checkpoint/rank_paths.h"
#include "tools/verify/against_source.h"
#include "tools/verify/stored_form.h"
#include "weights/parallel.h"

namespace lanewise::tools {
namespace {

namespace fs = std::filesystem;

// What the file says of itself.
void VerifyAlone(const PreparedCheckpoint& prepared, int threads, const Progress& progress,
                 VerifyReport* report) {
  const std::vector<TensorSet::Tensor>& tensors = prepared.set().tensors();
  std::vector<std::string> problems(tensors.size());
  std::mutex mutex;
  std::int64_t done = 0;
  const auto check = [&](std::size_t i) {
    const TensorSet::Tensor& tensor = tensors[i];
    absl::Status status = prepared.Verify(tensor.name());
    if (status.ok()) {
      status = CheckStoredForm(tensor.name(), *prepared.Describe(tensor.name()),
                               prepared.set().Bytes(tensor));
    }
    if (!status.ok()) problems[i] = std::string(status.message());
    const std::lock_guard<std::mutex> lock(mutex);
    done += tensor.info->byte_count();
    if (progress) progress(done, prepared.set().total_bytes());
  };
  ParallelFor(std::ssize(tensors), threads, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) check(static_cast<std::size_t>(i));
  });
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!problems[i].empty()) {
      report->problems.push_back(std::move(problems[i]));
      continue;
    }
    VerifyReport::Row& row = report->by_layout[prepared.Describe(tensors[i].name())->layout];
    ++row.tensors;
    row.bytes += tensors[i].info->byte_count();
  }
}

// That no file and no rank is missing, and that ranks are where they belong.
absl::Status CheckWhole(const PreparedCheckpoint& prepared, const std::string& all,
                        const std::string& path, std::size_t ranks, std::int64_t expected_rank) {
  const std::vector<TensorSet::Shard>& shards = prepared.set().shards();
  const bool one_of_many = prepared.set().source() == TensorSet::Source::kFile;
  const absl::StatusOr<std::vector<SourceFileName>> files = SourceFilesOf(prepared);
  if (!files.ok()) return files.status();
  if (!one_of_many && files->size() != shards.size()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " was prepared from ", files->size(),
                                                      " files; ", shards.size(),
                                                      " prepared files are here"));
  }
  if (path == all) return absl::OkStatus();
  const auto options = shards[0].file.metadata().find(std::string(kOptionsKey));
  if (options == shards[0].file.metadata().end()) return absl::OkStatus();
  const absl::StatusOr<PreparationOptions> parsed = ParseOptions(options->second, path);
  if (!parsed.ok()) return parsed.status();
  const std::string directory = RankDirectory(all, parsed->rank, 2);
  if (parsed->rank != expected_rank || parsed->ranks != static_cast<int>(ranks) ||
      fs::path(directory).filename() != fs::path(path).filename()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " holds rank ", parsed->rank, " of ", parsed->ranks, "; ", ranks,
                     " ranks are here, and all are needed, in rank-0, rank-1, ..."));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<VerifyReport> VerifyPrepared(const VerifyRequest& request,
                                            const Progress& progress) {
  std::unique_ptr<TensorSet> source;
  if (request.against) {
    absl::StatusOr<TensorSet> opened = TensorSet::Open(*request.against);
    if (!opened.ok()) return opened.status();
    source = std::make_unique<TensorSet>(*std::move(opened));
  }
  VerifyReport report;
  const std::vector<std::string> paths = RankPaths(request.prepared);
  std::vector<PreparedSource> sources;
  for (const std::string& path : paths) {
    const absl::StatusOr<PreparedCheckpoint> prepared = PreparedCheckpoint::Open(path, "");
    if (!prepared.ok()) return prepared.status();
    absl::Status whole = CheckWhole(*prepared, request.prepared, path, paths.size(), report.ranks);
    if (!whole.ok()) return whole;
    if (report.ranks == 0) sources = prepared->sources();
    if (prepared->sources() != sources) {
      return absl::FailedPreconditionError(
          absl::StrCat(path, " was not prepared from the same source as ", paths[0]));
    }
    ++report.ranks;
    const std::size_t before = report.problems.size();
    VerifyAlone(*prepared, request.threads, progress, &report);
    if (source != nullptr) {
      absl::Status status = VerifyAgainst(*prepared, *source, request.threads, progress, &report);
      if (!status.ok()) return status;
      report.source_tensors = std::ssize(source->tensors());
    }
    if (paths.size() == 1) continue;
    for (std::size_t i = before; i < report.problems.size(); ++i) {
      report.problems[i] =
          absl::StrCat(fs::path(path).filename().string(), ": ", report.problems[i]);
    }
  }
  return report;
}

}  // namespace lanewise::tools
