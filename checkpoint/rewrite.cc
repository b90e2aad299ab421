#include "checkpoint/rewrite.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/made_directories.h"
#include "checkpoint/mapped_file.h"
#include "checkpoint/prepared_metadata.h"
#include "checkpoint/safetensors_index.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/text.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// Bytes that are copied at a time.
constexpr std::int64_t kCopyBytes = std::int64_t{8} << 20;

// One output's place: its file, and its number there.
struct Place {
  std::size_t shard;
  std::size_t number;
};

class Rewriter {
 public:
  Rewriter(const TensorSet& set, const RewriteRequest& request,
           const std::vector<RewrittenTensor>& tensors, const RewriteProgress& progress)
      : set_(set), request_(request), tensors_(tensors), progress_(progress) {}

  absl::StatusOr<std::int64_t> Run() {
    absl::Status status = Plan();
    if (status.ok()) status = Create();
    for (std::size_t i = 0; status.ok() && i < tensors_.size(); ++i) status = WriteTensor(i);
    if (status.ok()) status = set_.CheckUnchanged();
    for (std::size_t i = 0; status.ok() && i < writers_.size(); ++i) status = writers_[i].Finish();
    if (status.ok()) status = WriteIndex();
    if (!status.ok()) return status;
    made_.Keep();
    return total_;
  }

 private:
  bool one_file() const { return set_.source() == TensorSet::Source::kFile; }

  std::string PathOf(const std::string& name) const {
    return one_file() ? request_.out : (fs::path(request_.out) / name).string();
  }

  absl::Status Plan() {
    if (tensors_.size() != set_.tensors().size()) {
      return absl::InternalError("a rewrite needs an entry for every source tensor");
    }
    std::set<std::string> names;
    specs_.resize(set_.shards().size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const std::size_t shard = set_.tensors()[i].shard;
      for (const TensorSpec& output : tensors_[i].outputs) {
        if (!names.insert(output.name).second) {
          return absl::InvalidArgumentError(absl::StrCat("two outputs would be named ", output.name,
                                                         ", one of them made from ",
                                                         set_.tensors()[i].name()));
        }
        specs_[shard].push_back(output);
      }
    }
    std::error_code error;
    for (const TensorSet::Shard& shard : set_.shards()) {
      if (shard.file.metadata().count(std::string(kFormatKey)) != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat(shard.file.path(), " is a prepared file: restore it first"));
      }
      const std::string path = PathOf(shard.name);
      for (const TensorSet::Shard& source : set_.shards()) {
        if (fs::equivalent(path, source.file.path(), error)) {
          return absl::InvalidArgumentError(
              absl::StrCat(path, " is a file of the source: write elsewhere"));
        }
      }
      if (fs::exists(path, error) && !request_.overwrite) {
        return absl::AlreadyExistsError(absl::StrCat(path, " exists; --overwrite replaces it"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Create() {
    for (std::size_t i = 0; i < set_.shards().size(); ++i) {
      const std::string path = PathOf(set_.shards()[i].name);
      if (absl::Status status = made_.Make(fs::path(path).parent_path()); !status.ok()) {
        return status;
      }
      std::map<std::string, std::string> metadata = set_.shards()[i].file.metadata();
      for (const auto& [key, value] : request_.metadata) metadata[key] = value;
      absl::StatusOr<SafetensorsWriter> writer =
          SafetensorsWriter::Create(path, specs_[i], metadata);
      if (!writer.ok()) return writer.status();
      for (const TensorInfo& info : writer->tensors()) total_ += info.byte_count();
      writers_.push_back(*std::move(writer));
    }
    next_.assign(writers_.size(), 0);
    return absl::OkStatus();
  }

  absl::Status WriteTensor(std::size_t index) {
    const TensorSet::Tensor& source = set_.tensors()[index];
    const RewrittenTensor& tensor = tensors_[index];
    SafetensorsWriter& writer = writers_[source.shard];
    const std::size_t first = next_[source.shard];
    next_[source.shard] += tensor.outputs.size();
    const RewriteSink sink = [&](std::size_t output, std::int64_t offset,
                                 std::span<const std::uint8_t> bytes) {
      return writer.Write(first + output, offset, bytes);
    };
    absl::Status status = absl::OkStatus();
    if (tensor.write) {
      status = tensor.write(sink);
    } else if (!tensor.outputs.empty()) {
      const std::span<const std::uint8_t> bytes = set_.Bytes(source);
      const auto size = static_cast<std::int64_t>(bytes.size());
      for (std::int64_t at = 0; status.ok() && at < size; at += kCopyBytes) {
        const auto count = static_cast<std::size_t>(std::min(kCopyBytes, size - at));
        const auto piece = bytes.subspan(static_cast<std::size_t>(at), count);
        status = sink(0, at, piece);
        ReleasePages(set_.shards()[source.shard].file.file_bytes(), piece);
      }
    }
    // What the work itself has not given back.
    ReleasePages(set_.shards()[source.shard].file.file_bytes(), set_.Bytes(source));
    if (!status.ok()) return OfTensor(source.name(), status);
    for (std::size_t i = first; i < next_[source.shard]; ++i) {
      done_ += writer.tensors()[i].byte_count();
    }
    if (progress_) progress_(done_, total_);
    return absl::OkStatus();
  }

  absl::Status WriteIndex() const {
    if (set_.index_name().empty()) return absl::OkStatus();
    SafetensorsIndex index;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      for (const TensorSpec& spec : specs_[i]) index.weight_map[spec.name] = set_.shards()[i].name;
    }
    index.total_size = total_;
    return WriteSafetensorsIndex((fs::path(request_.out) / set_.index_name()).string(), index);
  }

  const TensorSet& set_;
  const RewriteRequest& request_;
  const std::vector<RewrittenTensor>& tensors_;
  const RewriteProgress& progress_;
  std::vector<std::vector<TensorSpec>> specs_;  // by shard
  MadeDirectories made_;
  std::vector<SafetensorsWriter> writers_;  // by shard
  std::vector<std::size_t> next_;           // by shard: the number of its next output
  std::int64_t total_ = 0;
  std::int64_t done_ = 0;
};

}  // namespace

absl::StatusOr<std::int64_t> RewriteCheckpoint(const TensorSet& set, const RewriteRequest& request,
                                               const std::vector<RewrittenTensor>& tensors,
                                               const RewriteProgress& progress) {
  return Rewriter(set, request, tensors, progress).Run();
}

}  // namespace lanewise
