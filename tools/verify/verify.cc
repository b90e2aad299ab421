#include "tools/verify/verify.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/prepared.h"
#include "checkpoint/restore/rank_paths.h"
#include "checkpoint/stream/memory_budget.h"
#include "tools/verify/against_source.h"
#include "tools/verify/stored_form.h"
#include "weights/parallel.h"

namespace lanewise::tools {
namespace {

namespace fs = std::filesystem;

// Bytes that are looked at, and in memory, at a time.
constexpr std::int64_t kPieceBytes = 2 * kPageBlockBytes;

// What the allocator does not give back after a rank, and code that was read meanwhile: some 10 MiB
// were seen.
constexpr std::int64_t kLeftByRank = std::int64_t{16} << 20;

// A tensor's digest and its form, in one pass.
absl::Status CheckTensor(const PreparedCheckpoint& prepared, const TensorSet::Tensor& tensor,
                         const std::function<void(std::int64_t)>& passed) {
  const PreparedTensor& what = *prepared.Describe(tensor.name());
  const std::span<const std::uint8_t> file =
      prepared.set().shards()[tensor.shard].file.file_bytes();
  const std::span<const std::uint8_t> bytes = prepared.set().Bytes(tensor);
  absl::Status form = CheckStoredSize(tensor.name(), what, std::ssize(bytes));
  Digest digest;
  for (std::int64_t at = 0; at < std::ssize(bytes); at += kPieceBytes) {
    const std::span<const std::uint8_t> piece =
        bytes.subspan(at, std::min(kPieceBytes, std::ssize(bytes) - at));
    PopulatePages(piece);
    digest.Update(piece);
    if (form.ok()) form = CheckStoredBytes(tensor.name(), what, at, piece);
    ReleasePages(file, piece);
    passed(std::ssize(piece));
  }
  const absl::Status status = prepared.CheckDigest(tensor.name(), digest.Hex());
  return status.ok() ? form : status;
}

// What the file says of itself.
absl::Status VerifyAlone(const PreparedCheckpoint& prepared, const VerifyLimits& limits,
                         const Progress& progress, VerifyReport* report) {
  constexpr std::int64_t kHeld = kPieceBytes + kPageBlockBytes;
  const absl::StatusOr<MemoryShares> shares = ShareMemory(limits.memory, kHeld, kHeld, "");
  if (!shares.ok()) return shares.status();
  const auto room = static_cast<int>(std::min<std::int64_t>(1024, shares->pieces / kHeld));
  const std::vector<TensorSet::Tensor>& tensors = prepared.set().tensors();
  std::vector<std::string> problems(tensors.size());
  std::mutex mutex;
  std::int64_t done = 0;
  const auto passed = [&](std::int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    done += bytes;
    if (progress) progress(done, prepared.set().total_bytes());
  };
  // Each thread takes the next tensor: their sizes differ much.
  std::atomic<std::size_t> next = 0;
  const int workers = std::min(ThreadCount(limits.threads), room);
  ParallelFor(workers, workers, [&](std::int64_t, std::int64_t, int) {
    for (std::size_t i = next++; i < tensors.size(); i = next++) {
      if (limits.cancel != nullptr && *limits.cancel) return;
      const absl::Status status = CheckTensor(prepared, tensors[i], passed);
      if (!status.ok()) problems[i] = std::string(status.message());
    }
  });
  if (limits.cancel != nullptr && *limits.cancel) return absl::CancelledError("interrupted");
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!problems[i].empty()) {
      report->problems.push_back(std::move(problems[i]));
      continue;
    }
    VerifyReport::Row& row = report->by_layout[prepared.Describe(tensors[i].name())->layout];
    ++row.tensors;
    row.bytes += tensors[i].info->byte_count();
  }
  return absl::OkStatus();
}

// What is odd about its files: an index with a wrong size, files that it does not name, no index
// where there was one.
void CheckFiles(const PreparedCheckpoint& prepared, VerifyReport* report) {
  const TensorSet& set = prepared.set();
  for (const std::string& note : set.notes()) report->problems.push_back(note);
  const auto& metadata = set.shards()[0].file.metadata();
  const auto index = metadata.find(std::string(kIndexKey));
  if (set.source() == TensorSet::Source::kDirectory && set.index_name().empty() &&
      index != metadata.end()) {
    report->problems.push_back(
        absl::StrCat(set.directory(), " has no ", index->second, ", which prepare wrote last"));
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
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": prepared files here: ", shards.size(), ", source files: ", files->size()));
  }
  if (path == all) return absl::OkStatus();
  const auto options = shards[0].file.metadata().find(std::string(kOptionsKey));
  if (options == shards[0].file.metadata().end()) return absl::OkStatus();
  const absl::StatusOr<PreparationOptions> parsed = ParseOptions(options->second, path);
  if (!parsed.ok()) return parsed.status();
  const std::string directory = RankDirectory(all, parsed->rank, 2);
  if (parsed->rank != expected_rank || parsed->ranks != static_cast<int>(ranks) ||
      fs::path(directory).filename() != fs::path(path).filename()) {
    return absl::FailedPreconditionError(absl::StrCat(path, " holds rank ", parsed->rank, " of ",
                                                      parsed->ranks, "; ranks here: ", ranks,
                                                      "; all are needed, in rank-0, rank-1, ..."));
  }
  return absl::OkStatus();
}

// Ranks stand alone: a tensor file beside them is of no rank, and nobody would look at it.
absl::Status CheckNothingBesideRanks(const std::string& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".safetensors") && !name.ends_with(".safetensors.index.json")) continue;
    return absl::FailedPreconditionError(
        absl::StrCat(path, " holds ", name, " beside its ranks, to which it does not belong"));
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
  if (paths[0] != request.prepared) {
    absl::Status alone = CheckNothingBesideRanks(request.prepared);
    if (!alone.ok()) return alone;
  }
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
    // The one that needs more memory first: it refuses what is too little.
    VerifyReport against;
    if (source != nullptr) {
      // The first rank asks for what all of them need.
      VerifyLimits limits = request.limits;
      if (report.ranks == 1 && paths.size() > 1) limits.left_over = kLeftByRank;
      absl::Status status = VerifyAgainst(*prepared, *source, limits, progress, &against);
      if (!status.ok()) return status;
      report.source_tensors = std::ssize(source->tensors());
    }
    absl::Status status = VerifyAlone(*prepared, request.limits, progress, &report);
    if (!status.ok()) return status;
    CheckFiles(*prepared, &report);
    std::move(against.problems.begin(), against.problems.end(),
              std::back_inserter(report.problems));
    if (paths.size() == 1) continue;
    for (std::size_t i = before; i < report.problems.size(); ++i) {
      report.problems[i] =
          absl::StrCat(fs::path(path).filename().string(), ": ", report.problems[i]);
    }
  }
  return report;
}

}  // namespace lanewise::tools
