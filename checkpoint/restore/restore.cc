#include "checkpoint/restore/restore.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/files/digest_of_pages.h"
#include "checkpoint/files/made_directories.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/restore/restore_job.h"
#include "checkpoint/restore/restore_pieces.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/run_files.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;
using Fate = FileReport::Fate;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Pieces of this size are written while they are in a core's second-level cache, and cost few
// calls.
constexpr std::int64_t kPieceBytes = 2 * kMiB;

class Restorer {
 public:
  Restorer(const RestoreRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  absl::StatusOr<RestoreReport> Run() {
    absl::StatusOr<RestoreJob> job = RestoreJob::Plan(request_.in, request_.out);
    if (!job.ok()) return job.status();
    job_ = std::make_unique<RestoreJob>(*std::move(job));
    absl::Status status = CheckOutside();
    if (status.ok()) status = Deal();
    if (status.ok()) status = Write();
    if (status.ok()) status = WriteIndex();
    if (!status.ok()) return status;
    made_.Keep();
    Account();
    return std::move(report_);
  }

 private:
  absl::Status CheckOutside() const {
    std::error_code error;
    for (const std::unique_ptr<RestoreRank>& rank : job_->ranks()) {
      for (const TensorSet::Shard& shard : rank->prepared->set().shards()) {
        for (const RestoredFile& file : job_->files()) {
          if (fs::equivalent(shard.file.path(), file.path, error)) {
            return absl::InvalidArgumentError(
                absl::StrCat(file.path, " is part of the prepared checkpoint that is read"));
          }
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Deal() {
    std::vector<FileReport> planned;
    for (const RestoredFile& file : job_->files()) {
      planned.push_back({file.path, Fate::kWritten, file.bytes});
    }
    exact_.assign(planned.size(), true);
    const JudgeFile judge = [this](std::size_t i, FileReport*) { return Judge(i); };
    absl::StatusOr<std::vector<FileReport>> dealt =
        DealOutputs(std::move(planned), request_.rules, judge);
    if (!dealt.ok()) return dealt.status();
    report_.files = *std::move(dealt);
    for (std::size_t i = 0; i < report_.files.size(); ++i) {
      if (report_.files[i].fate == Fate::kWritten) to_write_.push_back(i);
    }
    return absl::OkStatus();
  }

  // Why the file that is there is not the one that would be restored; "" where it is.
  std::string Judge(std::size_t i) {
    const RestoredFile& file = job_->files()[i];
    const absl::StatusOr<MappedFile> there = MappedFile::Open(file.path);
    if (!there.ok()) return std::string(there.status().message());
    const std::span<const std::uint8_t> bytes = there->bytes();
    const std::size_t header = file.header_text.size();
    if (bytes.size() != 8 + header + static_cast<std::size_t>(file.bytes)) {
      return absl::StrCat("it has ", bytes.size(), " bytes, its source had ",
                          8 + header + static_cast<std::size_t>(file.bytes));
    }
    if (!std::equal(file.header_text.begin(), file.header_text.end(), bytes.begin() + 8,
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })) {
      return "its header is not its source's";
    }
    if (DigestOfPages(bytes) == file.digest) return "";
    exact_[i] = false;
    if (!Losses(file).any()) return "its digest is not its source's";
    // What was discarded may be all that differs; then only the times can tell.
    std::error_code error;
    const fs::file_time_type written = fs::last_write_time(file.path, error);
    for (const RankOutput& output : file.outputs) {
      for (const TensorSet::Shard& shard : output.rank->prepared->set().shards()) {
        const fs::file_time_type changed = fs::last_write_time(shard.file.path(), error);
        if (error || changed > written) {
          return absl::StrCat(shard.file.path(), " was changed after it was written");
        }
      }
    }
    return "";
  }

  static RestoreLosses Losses(const RestoredFile& file) {
    RestoreLosses all;
    for (const RankOutput& output : file.outputs) {
      const RestoreLosses losses = LossesOf(output);
      all.zero_signs += losses.zero_signs;
      all.dequantized = all.dequantized || losses.dequantized;
    }
    return all;
  }

  absl::Status Write() {
    if (to_write_.empty()) return absl::OkStatus();
    RestoreNeed need;
    std::int64_t total = 0, largest_header = 0;
    for (const std::size_t i : to_write_) {
      const RestoredFile& file = job_->files()[i];
      absl::StatusOr<RestoreNeed> of_file = LeastMemory(*job_, i);
      if (!of_file.ok()) return of_file.status();
      if (of_file->bytes > need.bytes) need = *std::move(of_file);
      total += file.bytes;
      largest_header = std::max(largest_header, std::ssize(file.header_text));
      if (absl::Status status = made_.Make(fs::path(file.path).parent_path()); !status.ok()) {
        return status;
      }
    }
    // One thread more than processors: some wait for the disk.
    const int threads = ThreadCount(request_.threads) + (request_.threads == 1 ? 0 : 1);
    const int in_flight = 2 * threads + 2;
    // Stacks, headers of the files at work, what is read back, and what the allocator keeps.
    const std::int64_t overhead = 6 * kMiB + threads * kMiB / 2 + 4 * largest_header;
    const absl::StatusOr<MemoryShares> shares =
        ShareMemory(request_.memory, overhead, 2 * need.bytes, need.tensor);
    if (!shares.ok()) return shares.status();
    const std::int64_t piece_bytes =
        std::clamp<std::int64_t>(shares->pieces / (6 * in_flight), 16 << 10, kPieceBytes);
    BufferPool buffers(piece_bytes + piece_bytes / 8);
    MemoryBudget budget(
        std::max<std::int64_t>(shares->pieces - in_flight * piece_bytes, shares->pieces / 2));
    PassedPages passed(shares->passed);
    std::mutex mutex;
    std::int64_t done = 0;
    RestoreContext context;
    context.job = job_.get();
    context.buffers = &buffers;
    context.piece_bytes = piece_bytes;
    context.passed = &passed;
    context.rules = request_.rules;
    context.wrote = [&](std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      done += bytes;
      if (progress_) progress_(done, total);
    };
    std::vector<std::unique_ptr<PiecedFile>> files;
    std::vector<const RestorePieces*> pieces;
    for (std::size_t n = 0; n < to_write_.size(); ++n) {
      auto file = std::make_unique<RestorePieces>(&context, to_write_[n], n);
      pieces.push_back(file.get());
      files.push_back(std::move(file));
    }
    const absl::Status status = RunFiles(files, budget, {threads, in_flight, request_.cancel});
    std::vector<std::string> named;
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      exact_[to_write_[n]] = pieces[n]->exact();
      if (pieces[n]->named()) named.push_back(job_->files()[to_write_[n]].path);
    }
    return status.ok() ? status : AfterFailure(status, named, to_write_.size());
  }

  bool Mine(std::size_t i) const { return report_.files[i].fate != Fate::kOthers; }

  absl::Status WriteIndex() const {
    const std::string path = job_->IndexPath();
    bool any = false;
    for (std::size_t i = 0; i < report_.files.size(); ++i) any = any || Mine(i);
    if (path.empty() || !any) return absl::OkStatus();
    const absl::StatusOr<std::string> text = job_->IndexText();
    if (!text.ok()) return text.status();
    return WriteFileAtomically(path, *text);
  }

  void Account() {
    report_.exact = true;
    std::set<std::pair<const RestoreRank*, const OutputTensor*>> counted;
    for (std::size_t i = 0; i < report_.files.size(); ++i) {
      if (!Mine(i)) continue;
      const RestoredFile& file = job_->files()[i];
      report_.tensors += std::ssize(file.tensors);
      report_.bytes += file.bytes;
      for (const RankOutput& output : file.outputs) {
        if (!counted.insert({output.rank, output.output}).second) continue;
        report_.lost_zero_signs += LossesOf(output).zero_signs;
      }
      if (exact_[i]) continue;
      report_.exact = false;
      report_.differing.push_back(file.path);
    }
  }

  const RestoreRequest& request_;
  const Progress& progress_;
  RestoreReport report_;
  std::unique_ptr<RestoreJob> job_;
  std::vector<std::size_t> to_write_;  // numbers of files
  std::vector<bool> exact_;            // by file
  MadeDirectories made_;
};

}  // namespace

absl::StatusOr<RestoreReport> RestoreCheckpoint(const RestoreRequest& request,
                                                const Progress& progress) {
  return Restorer(request, progress).Run();
}

}  // namespace lanewise
