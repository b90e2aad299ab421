#include "checkpoint/prepare/write_files.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/prepare/file_pieces.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/run_files.h"
#include "checkpoint/stream/source_digests.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Pieces of this size are written while they are in a core's second-level cache, and cost few
// calls.
constexpr std::int64_t kPieceBytes = 2 * kMiB;

// The digester may be so far ahead: in the page cache, not in memory of this process.
constexpr std::int64_t kAheadBytes = 64 * kMiB;

// Stacks, what the digester holds, headers of the files at work, and what the allocator keeps.
std::int64_t OverheadBytes(const JobPlan& plan, int threads) {
  std::int64_t largest_header = 0;
  for (const TensorSet::Shard& shard : plan.source->shards()) {
    largest_header = std::max(largest_header, shard.file.data_begin());
  }
  return SourceDigests::kHeldBytes + 4 * kMiB + threads * kMiB / 2 + 16 * largest_header;
}

class Job {
 public:
  Job(const JobPlan& plan, std::span<const OutputFile* const> files, const WriteRequest& request)
      : plan_(plan), files_(files), request_(request) {}

  absl::Status Run(const std::function<void(std::int64_t, std::int64_t)>& progress,
                   std::vector<WrittenFile>* written) {
    // One thread more than processors: some wait for the disk.
    const int threads = ThreadCount(request_.threads) + (request_.threads == 1 ? 0 : 1);
    const int in_flight = 2 * threads + 2;
    const absl::StatusOr<MemoryShares> shares = Shares(threads);
    if (!shares.ok()) return shares.status();
    const std::int64_t memory = shares->pieces;
    if (absl::Status status = CheckRoom(); !status.ok()) return status;

    // A piece holds its buffer and its part of the source; idle buffers count too.
    const std::int64_t piece_bytes =
        std::clamp<std::int64_t>(memory / (6 * in_flight), 16 << 10, kPieceBytes);
    BufferPool buffers(piece_bytes);
    MemoryBudget budget(std::max<std::int64_t>(memory - in_flight * piece_bytes, memory / 2));

    std::mutex mutex;
    std::int64_t done = 0, total = 0;
    for (const OutputFile* file : files_) total += file->bytes;
    SourceDigests digests(SourcesInOrder(), kAheadBytes);
    PassedPages passed(shares->passed);
    PieceContext context;
    context.passed = &passed;
    context.plan = &plan_;
    context.buffers = &buffers;
    context.piece_bytes = piece_bytes;
    context.digests = &digests;
    context.rules = request_.rules;
    context.wrote = [&](std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      done += bytes;
      if (progress) progress(done, total);
    };
    std::vector<std::unique_ptr<PiecedFile>> pieces;
    std::vector<const FilePieces*> files;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      auto file = std::make_unique<FilePieces>(context, *files_[i], i, digest_of_[i]);
      files.push_back(file.get());
      pieces.push_back(std::move(file));
    }

    const absl::Status status = RunFiles(pieces, budget, {threads, in_flight, request_.cancel});
    for (const FilePieces* file : files) {
      written->push_back({file->named(), file->bytes(), file->negative_zeros()});
    }
    return status;
  }

 private:
  // What is left of the memory for pieces in flight.
  absl::StatusOr<MemoryShares> Shares(int threads) const {
    std::int64_t least = 0;
    const OutputTensor* largest = nullptr;
    for (const OutputFile* file : files_) {
      for (const OutputTensor* output : file->outputs) {
        const std::int64_t bytes = LeastMemory(*plan_.source, *output, plan_.lossless);
        if (bytes <= least) continue;
        least = bytes;
        largest = output;
      }
    }
    // Half goes to buffers that wait to be used again.
    return ShareMemory(request_.memory, OverheadBytes(plan_, threads), 2 * least,
                       largest == nullptr ? "" : largest->tensor.stored.name);
  }

  // A disk that is too full is better found before anything is written.
  absl::Status CheckRoom() const {
    std::int64_t bytes = 0;
    for (const OutputFile* file : files_) bytes += file->bytes;
    std::error_code error;
    const fs::path directory = fs::absolute(files_[0]->path, error).parent_path();
    const fs::space_info space = fs::space(directory, error);
    if (error || static_cast<std::uintmax_t>(bytes) <= space.available) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(directory.string(), ": ", bytes,
                                                     " bytes are to be written, ", space.available,
                                                     " are free"));
  }

  // Each source file once, as the files need them; sets digest_of_.
  SourceDigests::Files SourcesInOrder() {
    SourceDigests::Files sources;
    std::optional<std::size_t> last;
    for (const OutputFile* file : files_) {
      // Files are in the order of their shards.
      if (file->shard != last) {
        sources.push_back(plan_.source->shards()[file->shard].file.file_bytes());
        last = file->shard;
      }
      digest_of_.push_back(sources.size() - 1);
    }
    return sources;
  }

  const JobPlan& plan_;
  const std::span<const OutputFile* const> files_;
  const WriteRequest& request_;
  std::vector<std::size_t> digest_of_;  // by file
};

}  // namespace

absl::Status WriteFiles(const JobPlan& plan, std::span<const OutputFile* const> files,
                        const WriteRequest& request,
                        const std::function<void(std::int64_t, std::int64_t)>& progress,
                        std::vector<WrittenFile>* written) {
  return Job(plan, files, request).Run(progress, written);
}

}  // namespace lanewise
