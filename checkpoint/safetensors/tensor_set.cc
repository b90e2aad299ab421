#include "checkpoint/safetensors/tensor_set.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/safetensors/safetensors_index.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".safetensors";
constexpr std::string_view kIndexExtension = ".safetensors.index.json";

// The names of the files in a directory, sorted, hidden ones left out.
absl::StatusOr<std::vector<std::string>> FileNames(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator it(directory, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!name.starts_with('.')) names.push_back(std::move(name));
  }
  if (error) {
    return absl::InternalError(
        absl::StrCat(directory, ": cannot list the directory: ", error.message()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The number that all of `digits` spell, or -1.
int64_t Number(std::string_view digits) {
  if (digits.empty() || digits.size() > 9) return -1;
  int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Refuses a set of files "STEM-i-of-n.safetensors" of which one is missing: without an index
// nothing else would tell that a download is not complete.
absl::Status CheckNumbering(const std::string& directory, std::span<const std::string> names) {
  std::map<std::string, std::set<int64_t>> found;  // "STEM-*-of-n" -> the numbers i
  std::map<std::string, int64_t> expected;         // the n of each
  for (const std::string_view name : names) {
    const std::string_view stem = name.substr(0, name.size() - kExtension.size());
    const size_t of = stem.rfind("-of-");
    if (of == stem.npos || of == 0) continue;
    const size_t dash = stem.rfind('-', of - 1);
    if (dash == stem.npos) continue;
    const int64_t i = Number(stem.substr(dash + 1, of - dash - 1));
    const int64_t n = Number(stem.substr(of + 4));
    if (i < 0 || n < 0) continue;
    const std::string key =
        absl::StrCat(AbslView(stem.substr(0, dash)), "-*", AbslView(stem.substr(of)));
    found[key].insert(i);
    expected[key] = n;
  }
  for (const auto& [key, numbers] : found) {
    // Numbers start at 1, in some checkpoints at 0.
    const int64_t first = numbers.contains(0) ? 0 : 1;
    for (int64_t i = first; i < first + expected[key]; ++i) {
      if (!numbers.contains(i)) {
        return absl::NotFoundError(absl::StrCat(
            directory, ": of the files ", key, AbslView(kExtension), " number ", i, " is missing"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<TensorSet> TensorSet::Open(const std::string& path) {
  TensorSet set;
  absl::Status status;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    set.source_ = Source::kDirectory;
    set.directory_ = path;
    status = set.OpenDirectory();
  } else {
    const fs::path parent = fs::path(path).parent_path();
    set.directory_ = parent.empty() ? std::string(".") : parent.string();
    const std::string name = fs::path(path).filename().string();
    if (name.ends_with(".json")) {
      set.source_ = Source::kIndex;
      set.index_name_ = name;
      status = set.OpenIndex();
    } else {
      status = set.AddShard(name);
    }
  }
  if (!status.ok()) return status;
  return set;
}

absl::Status TensorSet::OpenDirectory() {
  const absl::StatusOr<std::vector<std::string>> names = FileNames(directory_);
  if (!names.ok()) return names.status();
  std::vector<std::string> indexes;
  std::vector<std::string> files;
  for (const std::string& name : *names) {
    if (name.ends_with(kIndexExtension)) indexes.push_back(name);
    if (name.ends_with(kExtension)) files.push_back(name);
  }
  if (indexes.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(directory_, ": holds several indexes (",
                                                   absl::StrJoin(indexes, ", "),
                                                   "): name the one that is meant"));
  }
  if (indexes.size() == 1) {
    index_name_ = indexes[0];
    if (absl::Status status = OpenIndex(); !status.ok()) return status;
    for (const std::string& file : files) {
      const bool named = std::any_of(shards_.begin(), shards_.end(),
                                     [&](const Shard& shard) { return shard.name == file; });
      if (!named) {
        notes_.push_back(absl::StrCat(directory_, "/", file, " is left out: ", index_name_,
                                      " does not name it"));
      }
    }
    return absl::OkStatus();
  }
  if (files.empty()) {
    return absl::NotFoundError(absl::StrCat(directory_, ": no *", AbslView(kExtension), " and no *",
                                            AbslView(kIndexExtension), " in this directory"));
  }
  if (absl::Status status = CheckNumbering(directory_, files); !status.ok()) return status;
  for (const std::string& file : files) {
    if (absl::Status status = AddShard(file); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TensorSet::OpenIndex() {
  const std::string path = absl::StrCat(directory_, "/", index_name_);
  const absl::StatusOr<SafetensorsIndex> index = ReadSafetensorsIndex(path);
  if (!index.ok()) return index.status();
  std::map<std::string, std::string> a_tensor_of;  // shard -> one tensor that sent us there
  for (const auto& [tensor, shard] : index->weight_map) a_tensor_of.emplace(shard, tensor);
  for (const auto& [shard, tensor] : a_tensor_of) {
    if (const absl::Status status = AddShard(shard); !status.ok()) {
      if (!absl::IsNotFound(status)) return status;
      return absl::NotFoundError(absl::StrCat(path, ": puts ", Quoted(tensor), " into ",
                                              Quoted(shard),
                                              ", which is not there: ", status.message()));
    }
  }
  for (const auto& [name, shard] : index->weight_map) {
    const Tensor* const tensor = Find(name);
    if (tensor == nullptr || shards_[tensor->shard].name != shard) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": puts ", Quoted(name), " into ", Quoted(shard), ", which does not hold it",
          tensor == nullptr ? ""
                            : absl::StrCat(" (", Quoted(shards_[tensor->shard].name), " does)")));
    }
  }
  for (const Tensor& tensor : tensors_) {
    if (!index->weight_map.contains(tensor.name())) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": does not name ",
                                                     Quoted(tensor.name()), ", which ",
                                                     Quoted(shards_[tensor.shard].name), " holds"));
    }
  }
  if (index->total_size && *index->total_size != total_bytes_) {
    notes_.push_back(absl::StrCat(path, ": says total_size ", *index->total_size,
                                  ", the tensors are ", total_bytes_, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status TensorSet::AddShard(const std::string& name) {
  const std::string path =
      directory_ == "." && source_ == Source::kFile ? name : absl::StrCat(directory_, "/", name);
  absl::StatusOr<SafetensorsFile> file = SafetensorsFile::Open(path);
  if (!file.ok()) return file.status();
  shards_.push_back({name, *std::move(file)});
  for (const TensorInfo& info : shards_.back().file.tensors()) {
    const auto [at, added] = by_name_.emplace(info.name, tensors_.size());
    if (!added) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor ", Quoted(info.name), " is also in ",
                       Quoted(shards_[tensors_[at->second].shard].name)));
    }
    tensors_.push_back({&info, shards_.size() - 1});
    total_bytes_ += info.byte_count();
  }
  return absl::OkStatus();
}

const TensorSet::Tensor* TensorSet::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

absl::Status TensorSet::CheckUnchanged() const {
  for (const Shard& shard : shards_) {
    if (absl::Status status = shard.file.CheckUnchanged(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise
