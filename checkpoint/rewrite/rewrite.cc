#include "checkpoint/rewrite/rewrite.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/files/made_directories.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/rewrite/rewrite_pieces.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "checkpoint/stream/buffer_pool.h"
#include "checkpoint/stream/memory_budget.h"
#include "checkpoint/stream/run_files.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;
using Fate = FileReport::Fate;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kPieceBytes = 2 * kMiB;

class Rewriter {
 public:
  Rewriter(const TensorSet& set, const RewriteRequest& request, const MetadataChange& metadata,
           const std::vector<RewrittenTensor>& tensors, const RewriteProgress& progress)
      : set_(set), request_(request), metadata_(metadata), tensors_(tensors), progress_(progress) {}

  absl::StatusOr<RewriteReport> Run() {
    absl::Status status = PlanFiles();
    if (status.ok()) status = CheckPlaces();
    if (status.ok()) status = Deal();
    if (status.ok()) status = Write();
    if (status.ok()) status = WriteIndex();
    if (!status.ok()) return status;
    made_.Keep();
    for (const FileReport& file : report_.files) {
      if (file.fate != Fate::kOthers) report_.bytes += file.bytes;
    }
    for (const TensorSet::Tensor& tensor : set_.tensors()) {
      report_.written.push_back(report_.files[tensor.shard].fate == Fate::kWritten);
    }
    return std::move(report_);
  }

 private:
  absl::Status PlanFiles() {
    if (tensors_.size() != set_.tensors().size()) {
      return absl::InternalError("a rewrite needs an entry for every source tensor");
    }
    const bool one_file = set_.source() == TensorSet::Source::kFile;
    for (const TensorSet::Shard& shard : set_.shards()) {
      RewrittenFile file;
      file.path = one_file ? request_.out : (fs::path(request_.out) / shard.name).string();
      file.metadata = shard.file.metadata();
      for (const std::string& key : metadata_.removed) file.metadata.erase(key);
      for (const auto& [key, value] : metadata_.set) file.metadata[key] = value;
      files_.push_back(std::move(file));
      report_.files.push_back({files_.back().path, Fate::kWritten, 0});
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const TensorSet::Tensor& source = set_.tensors()[i];
      RewrittenFile& file = files_[source.shard];
      file.sources.push_back(&source);
      file.tensors.push_back(&tensors_[i]);
      for (const RewriteOutput& output : tensors_[i].outputs) {
        if (!names.insert(output.spec.name).second) {
          return absl::InvalidArgumentError(
              absl::StrCat("two outputs would be named ", output.spec.name,
                           ", one of them made from ", source.name()));
        }
        file.specs.push_back(output.spec);
        const absl::StatusOr<std::int64_t> bytes = ByteCount(output.spec.dtype, output.spec.shape);
        if (!bytes.ok()) return bytes.status();
        report_.files[source.shard].bytes += *bytes;
      }
    }
    for (const FileReport& file : report_.files) total_size_ += file.bytes;
    return absl::OkStatus();
  }

  absl::Status CheckPlaces() const {
    std::error_code error;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      for (const TensorSet::Shard& shard : set_.shards()) {
        if (fs::equivalent(files_[i].path, shard.file.path(), error)) {
          return absl::InvalidArgumentError(
              absl::StrCat(files_[i].path, " is a file of the source: write elsewhere"));
        }
      }
    }
    return absl::OkStatus();
  }

  absl::Status Deal() {
    const JudgeFile judge = [this](std::size_t i, FileReport*) { return Judge(i); };
    absl::StatusOr<std::vector<FileReport>> dealt =
        DealOutputs(std::move(report_.files), request_.rules, judge);
    if (!dealt.ok()) return dealt.status();
    report_.files = *std::move(dealt);
    return absl::OkStatus();
  }

  // Why the file that is there is not the one that would be written; "" where it is.
  std::string Judge(std::size_t i) const {
    const RewrittenFile& file = files_[i];
    const absl::StatusOr<SafetensorsFile> there = SafetensorsFile::Open(file.path);
    if (!there.ok()) return std::string(there.status().message());
    const absl::StatusOr<std::string> header =
        SafetensorsWriter::HeaderOf(file.path, file.specs, file.metadata);
    if (!header.ok()) return std::string(header.status().message());
    const auto found = there->file_bytes().subspan(8, there->data_begin() - 8);
    if (!std::equal(header->begin(), header->end(), found.begin(), found.end(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })) {
      return "its header is another: other tensors, options or metadata";
    }
    std::error_code error;
    const fs::file_time_type written = fs::last_write_time(file.path, error);
    for (const TensorSet::Shard& shard : set_.shards()) {
      const fs::file_time_type changed = fs::last_write_time(shard.file.path(), error);
      if (error || changed > written) {
        return absl::StrCat(shard.file.path(), " was changed after it was written");
      }
    }
    return "";
  }

  absl::Status Write() {
    std::vector<std::size_t> to_write;
    std::int64_t least = 2 * kPageBlockBytes, total = 0, largest_header = 0;
    const TensorSet::Tensor* largest = nullptr;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (report_.files[i].fate != Fate::kWritten) continue;
      to_write.push_back(i);
      total += report_.files[i].bytes;
      largest_header = std::max(largest_header, set_.shards()[i].file.data_begin());
      for (std::size_t t = 0; t < files_[i].tensors.size(); ++t) {
        const std::int64_t bytes = LeastMemory(*files_[i].tensors[t]);
        if (bytes <= least) continue;
        least = bytes;
        largest = files_[i].sources[t];
      }
      absl::Status status = made_.Make(fs::path(files_[i].path).parent_path());
      if (!status.ok()) return status;
    }
    if (to_write.empty()) return absl::OkStatus();
    // One thread more than processors: some wait for the disk.
    const int threads = ThreadCount(request_.threads) + (request_.threads == 1 ? 0 : 1);
    const int in_flight = 2 * threads + 2;
    const std::int64_t overhead = 4 * kMiB + threads * kMiB / 2 + 8 * largest_header;
    const absl::StatusOr<MemoryShares> shares = ShareMemory(
        request_.memory, overhead, 2 * least, largest == nullptr ? "" : largest->name());
    if (!shares.ok()) return shares.status();
    const std::int64_t piece_bytes =
        std::clamp<std::int64_t>(shares->pieces / (6 * in_flight), 16 << 10, kPieceBytes);
    BufferPool buffers(piece_bytes);
    MemoryBudget budget(
        std::max<std::int64_t>(shares->pieces - in_flight * piece_bytes, shares->pieces / 2));
    PassedPages passed(shares->passed);
    std::mutex mutex;
    std::int64_t done = 0;
    RewriteContext context;
    context.set = &set_;
    context.buffers = &buffers;
    context.piece_bytes = piece_bytes;
    context.passed = &passed;
    context.rules = request_.rules;
    context.wrote = [&](std::int64_t bytes) {
      const std::lock_guard lock(mutex);
      done += bytes;
      if (progress_) progress_(done, total);
    };
    std::vector<std::unique_ptr<PiecedFile>> pieces;
    for (const std::size_t i : to_write) {
      pieces.push_back(std::make_unique<RewritePieces>(context, files_[i], pieces.size()));
    }
    const absl::Status status = RunFiles(pieces, budget, {threads, in_flight, request_.cancel});
    if (status.ok()) return status;
    std::vector<std::string> named;
    for (std::size_t n = 0; n < pieces.size(); ++n) {
      if (pieces[n]->named()) named.push_back(files_[to_write[n]].path);
    }
    return AfterFailure(status, named, to_write.size());
  }

  absl::Status WriteIndex() const {
    if (set_.index_name().empty() ||
        std::all_of(report_.files.begin(), report_.files.end(),
                    [](const FileReport& file) { return file.fate == Fate::kOthers; })) {
      return absl::OkStatus();
    }
    SafetensorsIndex index;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      for (const TensorSpec& spec : files_[i].specs) {
        index.weight_map[spec.name] = set_.shards()[i].name;
      }
    }
    index.total_size = total_size_;
    return WriteSafetensorsIndex((fs::path(request_.out) / set_.index_name()).string(), index);
  }

  const TensorSet& set_;
  const RewriteRequest& request_;
  const MetadataChange& metadata_;
  const std::vector<RewrittenTensor>& tensors_;
  const RewriteProgress& progress_;
  std::vector<RewrittenFile> files_;  // by shard
  MadeDirectories made_;
  RewriteReport report_;
  std::int64_t total_size_ = 0;
};

}  // namespace

absl::StatusOr<TensorSet> OpenUnprepared(const std::string& path) {
  absl::StatusOr<TensorSet> set = TensorSet::Open(path);
  if (!set.ok()) return set.status();
  for (const TensorSet::Shard& shard : set->shards()) {
    if (shard.file.metadata().count(std::string(kFormatKey)) == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(shard.file.path(), " is a prepared file: restore it first"));
  }
  return set;
}

absl::StatusOr<RewriteReport> RewriteCheckpoint(const TensorSet& set, const RewriteRequest& request,
                                                const MetadataChange& metadata,
                                                const std::vector<RewrittenTensor>& tensors,
                                                const RewriteProgress& progress) {
  return Rewriter(set, request, metadata, tensors, progress).Run();
}

}  // namespace lanewise
