#ifndef LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_SET_H_
#define LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_SET_H_

// A checkpoint, be it one file or many: its tensors by name.
//
//   absl::StatusOr<TensorSet> set = TensorSet::Open("/models/gpt-oss-20b");
//   if (!set.ok()) return set.status();
//   if (const TensorSet::Tensor* tensor = set->Find("model.norm.weight")) Use(set->Bytes(*tensor));

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/safetensors/safetensors.h"

namespace lanewise {

// Spans and pointers that it gives stay valid until it is destroyed, also when it is moved. Reading
// is safe from any number of threads.
class TensorSet {
 public:
  enum class Source : uint8_t { kFile, kIndex, kDirectory };

  struct Shard {
    std::string name;  // relative to directory()
    SafetensorsFile file;
  };

  struct Tensor {
    const TensorInfo* info;  // its name, dtype, shape and place in its shard
    size_t shard;            // number in shards()

    const std::string& name() const { return info->name; }
  };

  // Opens every file of a checkpoint. `path` is
  //  - a directory: by its one *.index.json for safetensors where there is one; several are
  //  refused.
  //    Otherwise all its *.safetensors, in the order of their names; where they are numbered
  //    "-00001-of-00003", all numbers have to be there;
  //  - an index (*.json): the files that it names, in the order of their names;
  //  - anything else: one safetensors file.
  // Refuses a tensor that two files hold, and an index that differs from its files in any tensor:
  // one that is not in the file named, or one that the index does not name.
  static absl::StatusOr<TensorSet> Open(const std::string& path);

  // Shard by shard, in the order of their bytes.
  const std::vector<Tensor>& tensors() const { return tensors_; }

  // The tensor of that name, or null.
  const Tensor* Find(std::string_view name) const;

  std::span<const uint8_t> Bytes(const Tensor& tensor) const {
    return shards_[tensor.shard].file.Bytes(*tensor.info);
  }

  const std::vector<Shard>& shards() const { return shards_; }
  Source source() const { return source_; }
  // The directory of the file or index, or the directory itself; "." for a bare name.
  const std::string& directory() const { return directory_; }
  // The index's file name, or "".
  const std::string& index_name() const { return index_name_; }
  // Bytes of all tensors.
  int64_t total_bytes() const { return total_bytes_; }
  // What is odd but harmless, one sentence each, for the user to hear: an index whose total_size is
  // wrong, files beside it that it does not name.
  const std::vector<std::string>& notes() const { return notes_; }

  // Fails if any file is no longer what it was when it was opened.
  absl::Status CheckUnchanged() const;

 private:
  TensorSet() = default;
  absl::Status OpenDirectory();
  absl::Status OpenIndex();
  absl::Status AddShard(const std::string& name);

  Source source_ = Source::kFile;
  std::string directory_;
  std::string index_name_;
  std::vector<Shard> shards_;
  std::vector<Tensor> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;  // into tensors_
  int64_t total_bytes_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace lanewise

#endif  // LANEWISE_CHECKPOINT_SAFETENSORS_TENSOR_SET_H_
