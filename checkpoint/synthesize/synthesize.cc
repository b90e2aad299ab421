#include "checkpoint/synthesize/synthesize.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "checkpoint/files/made_directories.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "checkpoint/safetensors/safetensors_writer.h"
#include "weights/parallel.h"

namespace lanewise {
namespace {

constexpr char kIndexName[] = "model.safetensors.index.json";

// What one thread makes and writes at a time: small enough to stay in its cache until the kernel
// has copied it.
constexpr std::int64_t kPieceBytes = std::int64_t{512} << 10;

// Tensors [begin, end) of the request.
struct Shard {
  SynthesizedFile file;
  std::size_t begin = 0, end = 0;
};

absl::StatusOr<std::vector<Shard>> Deal(const SynthesizeRequest& request) {
  if (request.tensors.empty()) return absl::InvalidArgumentError("there are no tensors to make");
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < request.tensors.size(); ++i) {
    const TensorSpec& spec = request.tensors[i].spec;
    const absl::StatusOr<std::int64_t> bytes = ByteCount(spec.dtype, spec.shape);
    if (!bytes.ok()) return OfTensor(spec.name, bytes.status());
    if (shards.empty() || *bytes > request.shard_bytes - shards.back().file.bytes) {
      shards.push_back({{}, i, i});
    }
    Shard& shard = shards.back();
    shard.end = i + 1;
    shard.file.bytes += *bytes;
    ++shard.file.tensors;
  }
  for (std::size_t i = 0; i < shards.size(); ++i) {
    shards[i].file.name = absl::StrFormat("model-%05d-of-%05d.safetensors", static_cast<int>(i + 1),
                                          static_cast<int>(shards.size()));
  }
  return shards;
}

// What the threads of all files share.
class Reporter {
 public:
  Reporter(const SynthesizeProgress& progress, std::int64_t total)
      : progress_(progress), total_(total) {}

  void Add(std::int64_t bytes) {
    if (!progress_) return;
    const std::lock_guard lock(mutex_);
    progress_(done_ += bytes, total_);
  }

 private:
  const SynthesizeProgress& progress_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  const std::int64_t total_;
};

// Makes all bytes of a file's tensors. Threads take pieces in the order of the file, so that the
// kernel sees one stream of writes.
absl::Status Fill(const SynthesizeRequest& request, const Shard& shard, SafetensorsWriter& writer,
                  Reporter& reporter) {
  struct Piece {
    std::size_t tensor;
    std::int64_t offset, size;
  };
  std::vector<std::size_t> order(shard.end - shard.begin);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return writer.tensors()[a].begin < writer.tensors()[b].begin;
  });
  std::mutex mutex;  // for the place of the next piece and the status
  std::size_t next = 0;
  std::int64_t offset = 0;
  absl::Status status;
  const auto take = [&]() -> std::optional<Piece> {
    const std::lock_guard lock(mutex);
    while (status.ok() && next < order.size()) {
      const std::int64_t bytes = writer.tensors()[order[next]].byte_count();
      if (offset < bytes) {
        const Piece piece{order[next], offset, std::min(kPieceBytes, bytes - offset)};
        offset += piece.size;
        return piece;
      }
      ++next;
      offset = 0;
    }
    return std::nullopt;
  };
  const int threads = ThreadCount(request.threads);
  ParallelFor(threads, threads, [&](std::int64_t, std::int64_t, int) {
    std::vector<std::uint8_t> buffer(kPieceBytes);
    while (const std::optional<Piece> piece = take()) {
      if (request.cancel != nullptr && *request.cancel) {
        const std::lock_guard lock(mutex);
        status.Update(absl::CancelledError("interrupted; nothing is left at the output"));
        return;
      }
      const SyntheticTensor& tensor = request.tensors[shard.begin + piece->tensor];
      const std::span<std::uint8_t> bytes =
          std::span(buffer).first(static_cast<std::size_t>(piece->size));
      FillSynthetic(tensor.values, SyntheticKey(request.seed, tensor.spec.name),
                    tensor.spec.shape.empty() ? 1 : tensor.spec.shape.back(), piece->offset, bytes);
      if (const absl::Status written = writer.Write(piece->tensor, piece->offset, bytes);
          !written.ok()) {
        const std::lock_guard lock(mutex);
        status.Update(written);
        return;
      }
      reporter.Add(piece->size);
    }
  });
  return status;
}

class Synthesis {
 public:
  Synthesis(const SynthesizeRequest& request, const SynthesizeProgress& progress,
            std::int64_t total)
      : request_(request), reporter_(progress, total) {}

  // Without Keep, all that was written is removed.
  ~Synthesis() {
    if (keep_) return;
    std::error_code ignored;
    for (const std::string& path : written_) std::filesystem::remove(path, ignored);
  }

  absl::Status Run(const std::vector<Shard>& shards) {
    const std::filesystem::path out = request_.out;
    SafetensorsIndex index;
    index.total_size = 0;
    // While one file goes to disk, the next is made.
    std::future<absl::Status> finishing;
    const auto finished = [&] { return finishing.valid() ? finishing.get() : absl::OkStatus(); };
    for (const Shard& shard : shards) {
      std::vector<TensorSpec> specs;
      for (std::size_t i = shard.begin; i < shard.end; ++i) {
        specs.push_back(request_.tensors[i].spec);
        index.weight_map[specs.back().name] = shard.file.name;
      }
      *index.total_size += shard.file.bytes;
      const std::string path = (out / shard.file.name).string();
      absl::StatusOr<SafetensorsWriter> writer =
          SafetensorsWriter::Create(path, std::move(specs), request_.metadata);
      absl::Status status = writer.status();
      if (status.ok()) status = Fill(request_, shard, *writer, reporter_);
      if (absl::Status before = finished(); !before.ok()) return before;
      if (!status.ok()) return status;
      written_.push_back(path);
      finishing = std::async(std::launch::async,
                             [writer = *std::move(writer)]() mutable { return writer.Finish(); });
    }
    if (absl::Status status = finished(); !status.ok()) return status;
    if (absl::Status status = WriteSafetensorsIndex((out / kIndexName).string(), index);
        !status.ok()) {
      return status;
    }
    keep_ = true;
    return absl::OkStatus();
  }

 private:
  const SynthesizeRequest& request_;
  Reporter reporter_;
  std::vector<std::string> written_;
  bool keep_ = false;
};

// What a reader would take for part of the checkpoint.
absl::Status CheckFree(const SynthesizeRequest& request) {
  if (request.overwrite) return absl::OkStatus();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(request.out, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
      return absl::AlreadyExistsError(absl::StrCat(
          entry.path().string(), " is there already; --overwrite replaces files of the same name"));
    }
  }
  return absl::OkStatus();
}

std::vector<SynthesizedFile> Files(const std::vector<Shard>& shards) {
  std::vector<SynthesizedFile> files;
  for (const Shard& shard : shards) files.push_back(shard.file);
  return files;
}

}  // namespace

absl::StatusOr<std::vector<SynthesizedFile>> PlanSynthesis(const SynthesizeRequest& request) {
  const absl::StatusOr<std::vector<Shard>> shards = Deal(request);
  if (!shards.ok()) return shards.status();
  return Files(*shards);
}

absl::StatusOr<std::vector<SynthesizedFile>> SynthesizeCheckpoint(
    const SynthesizeRequest& request, const SynthesizeProgress& progress) {
  const absl::StatusOr<std::vector<Shard>> shards = Deal(request);
  if (!shards.ok()) return shards.status();
  if (absl::Status status = CheckFree(request); !status.ok()) return status;
  std::int64_t total = 0;
  for (const Shard& shard : *shards) total += shard.file.bytes;
  MadeDirectories directories;
  if (absl::Status status = directories.Make(request.out); !status.ok()) return status;
  {
    Synthesis synthesis(request, progress, total);
    if (absl::Status status = synthesis.Run(*shards); !status.ok()) return status;
  }
  directories.Keep();
  return Files(*shards);
}

}  // namespace lanewise
