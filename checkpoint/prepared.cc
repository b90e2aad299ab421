#include "checkpoint/prepared.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/digest.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/files/text.h"

namespace lanewise {
namespace {

using Metadata = std::map<std::string, std::string>;

// The value of a key that every prepared file has.
absl::StatusOr<std::string> Value(const SafetensorsFile& file, std::string_view key) {
  const auto found = file.metadata().find(std::string(key));
  if (found != file.metadata().end()) return found->second;
  return absl::FailedPreconditionError(
      absl::StrCat(file.path(), ": is not a prepared file: its metadata has no ", AbslView(key)));
}

absl::Status CheckHeader(const SafetensorsFile& file) {
  const absl::StatusOr<std::string> stated = Value(file, kHeaderDigestKey);
  if (!stated.ok()) return stated.status();
  const absl::StatusOr<std::string> digest = HeaderDigest(file.header_json());
  if (!digest.ok()) {
    return absl::DataLossError(absl::StrCat(file.path(), ": ", digest.status().message()));
  }
  if (*digest != *stated) {
    return absl::DataLossError(
        absl::StrCat(file.path(), ": the header was changed after it was written: its digest is ",
                     *digest, ", lanewise.header_xxh3 says ", Quoted(*stated)));
  }
  return absl::OkStatus();
}

absl::Status CheckStored(const TensorInfo& stored, const PreparedTensor& what,
                         const std::string& path) {
  const auto refuse = [&](std::string_view expected) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": tensor ", Quoted(stored.name), " of layout ", Quoted(what.layout),
                     " is stored as ", AbslView(DTypeName(stored.dtype)), " ",
                     DimensionsText(stored.shape), ", expected ", AbslView(expected)));
  };
  if (what.layout == layout_tag::kPlain) {
    if (stored.dtype != what.dtype || stored.shape != what.shape) {
      return refuse(absl::StrCat(AbslView(DTypeName(what.dtype)), " ", DimensionsText(what.shape)));
    }
  } else if (stored.dtype != DType::kU8) {
    return refuse("U8");
  }
  return absl::OkStatus();
}

}  // namespace

bool IsPrepared(const TensorSet& set) {
  return std::any_of(set.shards().begin(), set.shards().end(), [](const TensorSet::Shard& shard) {
    const Metadata& metadata = shard.file.metadata();
    const auto at = metadata.lower_bound(std::string(kPreparedKeyPrefix));
    return at != metadata.end() && at->first.starts_with(kPreparedKeyPrefix);
  });
}

absl::StatusOr<PreparedCheckpoint> PreparedCheckpoint::Open(const std::string& path,
                                                            std::string_view target) {
  absl::StatusOr<TensorSet> set = TensorSet::Open(path);
  if (!set.ok()) return set.status();
  PreparedCheckpoint checkpoint(*std::move(set));
  for (const TensorSet::Shard& shard : checkpoint.set_.shards()) {
    if (absl::Status status = checkpoint.ReadShard(shard, target); !status.ok()) {
      return status;
    }
  }
  return checkpoint;
}

absl::Status PreparedCheckpoint::ReadShard(const TensorSet::Shard& shard, std::string_view target) {
  const SafetensorsFile& file = shard.file;
  const absl::StatusOr<std::string> format = Value(file, kFormatKey);
  if (!format.ok()) return format.status();
  if (*format != kPreparedFormat) {
    return absl::FailedPreconditionError(absl::StrCat(file.path(), ": has prepared format ",
                                                      Quoted(*format), ", this reads format '",
                                                      AbslView(kPreparedFormat), "'"));
  }
  // The header first: what is said below holds only if it is as it was written.
  if (absl::Status status = CheckHeader(file); !status.ok()) return status;
  const absl::StatusOr<std::string> its_target = Value(file, kTargetKey);
  if (!its_target.ok()) return its_target.status();
  const absl::StatusOr<std::string> its_recipe = Value(file, kRecipeKey);
  if (!its_recipe.ok()) return its_recipe.status();
  const absl::StatusOr<std::string> its_sources = Value(file, kSourceKey);
  if (!its_sources.ok()) return its_sources.status();
  if (!target.empty() && *its_target != target) {
    return absl::FailedPreconditionError(absl::StrCat(
        file.path(), ": is prepared for ", Quoted(*its_target), ", expected ", Quoted(target)));
  }
  if (&shard == &set_.shards().front()) {
    target_ = *its_target;
    recipe_ = *its_recipe;
  } else if (*its_target != target_ || *its_recipe != recipe_) {
    return absl::FailedPreconditionError(absl::StrCat(
        file.path(), ": is prepared for ", Quoted(*its_target), " by recipe ", Quoted(*its_recipe),
        ", but ", set_.shards().front().name, " for ", Quoted(target_), " by ", Quoted(recipe_)));
  }
  absl::StatusOr<std::vector<PreparedSource>> sources =
      ParsePreparedSources(*its_sources, absl::StrCat(file.path(), ": ", AbslView(kSourceKey)));
  if (!sources.ok()) return sources.status();
  for (PreparedSource& source : *sources) {
    if (std::find(sources_.begin(), sources_.end(), source) == sources_.end()) {
      sources_.push_back(std::move(source));
    }
  }

  size_t described = 0;
  for (auto at = file.metadata().lower_bound(std::string(kTensorKeyPrefix));
       at != file.metadata().end() && at->first.starts_with(kTensorKeyPrefix); ++at) {
    const std::string name = at->first.substr(kTensorKeyPrefix.size());
    const TensorInfo* const stored = file.Find(name);
    if (stored == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(file.path(), ": describes a tensor ",
                                                     Quoted(name), " that it does not hold"));
    }
    absl::StatusOr<PreparedTensor> what =
        ParsePreparedTensor(at->second, absl::StrCat(file.path(), ": ", Quoted(at->first)));
    if (!what.ok()) return what.status();
    if (absl::Status status = CheckStored(*stored, *what, file.path()); !status.ok()) {
      return status;
    }
    described_.emplace(name, *std::move(what));
    ++described;
  }
  if (described == file.tensors().size()) return absl::OkStatus();
  for (const TensorInfo& stored : file.tensors()) {
    if (described_.contains(stored.name)) continue;
    return absl::InvalidArgumentError(absl::StrCat(file.path(), ": holds tensor ",
                                                   Quoted(stored.name), " without its ",
                                                   AbslView(kTensorKeyPrefix), "NAME"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PreparedCheckpoint::View> PreparedCheckpoint::Get(std::string_view name,
                                                                 std::string_view layout) const {
  const PreparedTensor* const what = Describe(name);
  if (what == nullptr) {
    return absl::NotFoundError(absl::StrCat("no tensor ", Quoted(name), " among the ",
                                            described_.size(), " of ", set_.directory()));
  }
  if (what->layout != layout) {
    return absl::FailedPreconditionError(absl::StrCat("tensor ", Quoted(name), " has layout ",
                                                      Quoted(what->layout), ", expected ",
                                                      Quoted(layout)));
  }
  return View{what, set_.Bytes(*set_.Find(name))};
}

const PreparedTensor* PreparedCheckpoint::Describe(std::string_view name) const {
  const auto found = described_.find(name);
  return found == described_.end() ? nullptr : &found->second;
}

absl::Status PreparedCheckpoint::Verify(std::string_view name) const {
  const PreparedTensor* const what = Describe(name);
  if (what == nullptr) return absl::NotFoundError(absl::StrCat("no tensor ", Quoted(name)));
  // A piece at a time, so that it takes no more memory than that.
  constexpr int64_t kPiece = 2 * kPageBlockBytes;
  const TensorSet::Tensor& tensor = *set_.Find(name);
  const std::span<const uint8_t> file = set_.shards()[tensor.shard].file.file_bytes();
  const std::span<const uint8_t> bytes = set_.Bytes(tensor);
  Digest digest;
  for (int64_t at = 0; at < std::ssize(bytes); at += kPiece) {
    const auto piece = bytes.subspan(static_cast<size_t>(at),
                                     static_cast<size_t>(std::min(kPiece, std::ssize(bytes) - at)));
    PopulatePages(piece);
    digest.Update(piece);
    ReleasePages(file, piece);
  }
  return CheckDigest(name, digest.Hex());
}

absl::Status PreparedCheckpoint::CheckDigest(std::string_view name, std::string_view digest) const {
  const PreparedTensor* const what = Describe(name);
  if (what == nullptr) return absl::NotFoundError(absl::StrCat("no tensor ", Quoted(name)));
  if (digest == what->xxh3) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("tensor ", Quoted(name), ": its bytes have digest ",
                                          AbslView(digest), ", the file says ", what->xxh3,
                                          ": they were changed after they were written"));
}

}  // namespace lanewise
