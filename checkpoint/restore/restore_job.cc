#include "checkpoint/restore/restore_job.h"

#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/restore/rank_paths.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "checkpoint/safetensors/safetensors_index.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// That the file holds what is planned: it does, unless it was written by another version.
absl::Status CheckSame(const RestoreRank& rank, const OutputTensor& output) {
  const std::string& name = output.tensor.stored.name;
  const PreparedTensor* what = rank.prepared->Describe(name);
  const TensorSet::Tensor* stored = rank.prepared->set().Find(name);
  if (what == nullptr || stored == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat("there is no tensor ", name));
  }
  PreparedTensor expected = output.tensor.what;
  expected.xxh3 = what->xxh3;
  for (const std::string& late : output.tensor.late) {
    if (const auto found = what->params.find(late); found != what->params.end()) {
      expected.params.insert(*found);
    }
  }
  if (expected == *what && stored->info->dtype == output.tensor.stored.dtype &&
      stored->info->shape == output.tensor.stored.shape) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat(name, " is not as this version would prepare it: layout ", what->layout,
                   ", expected ", expected.layout, " with other shapes or parameters"));
}

}  // namespace

absl::StatusOr<std::string> KeptMetadata(const TensorSet::Shard& shard, std::string_view key) {
  const auto& metadata = shard.file.metadata();
  const auto found = metadata.find(std::string(key));
  if (found != metadata.end()) return found->second;
  return absl::FailedPreconditionError(absl::StrCat(shard.file.path(), " has no ", AbslView(key),
                                                    ": it was not written by lanewise prepare"));
}

std::vector<std::size_t> HeldSources(const OutputTensor& output) {
  const TensorPlan& plan = output.plan;
  if (plan.place == nullptr) return {0};
  if (output.verbatim) return {static_cast<std::size_t>(plan.place(0).source)};
  std::vector<bool> held(output.sources.size());
  for (std::int64_t row = 0; row < plan.rows(); ++row) {
    const RowPlace place = plan.place(row);
    if (!place.IsPadding()) held[place.source] = true;
  }
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i]) numbers.push_back(i);
  }
  return numbers;
}

absl::StatusOr<RestoreJob> RestoreJob::Plan(const std::string& in, const std::string& out) {
  RestoreJob job;
  job.in_ = in;
  job.out_ = out;
  absl::Status status = job.OpenRanks();
  if (status.ok()) status = job.ReadHeaders();
  if (status.ok()) status = job.ReadSources();
  if (status.ok()) status = job.PlanAgain();
  if (!status.ok()) return status;
  job.AddOutputs();
  return job;
}

absl::Status RestoreJob::OpenRanks() {
  const std::vector<std::string> paths = RankPaths(in_);
  in_ranks_ = paths[0] != in_;
  for (const std::string& path : paths) {
    absl::StatusOr<PreparedCheckpoint> prepared = PreparedCheckpoint::Open(path, "");
    if (!prepared.ok()) return prepared.status();
    ranks_.push_back(std::make_unique<RestoreRank>());
    ranks_.back()->prepared = std::make_unique<PreparedCheckpoint>(*std::move(prepared));
    const PreparedCheckpoint& first = *ranks_[0]->prepared;
    const PreparedCheckpoint& last = *ranks_.back()->prepared;
    if (last.sources() != first.sources() || last.target() != first.target() ||
        last.recipe() != first.recipe()) {
      return absl::FailedPreconditionError(absl::StrCat(
          path,
          " was not prepared from the same source, by the same recipe and for the same target as ",
          paths[0]));
    }
  }
  return absl::OkStatus();
}

absl::Status RestoreJob::ReadHeaders() {
  for (const TensorSet::Shard& shard : ranks_[0]->prepared->set().shards()) {
    absl::StatusOr<std::string> text = KeptMetadata(shard, kSourceHeaderKey);
    if (!text.ok()) return text.status();
    absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeaderText(
        *text, absl::StrCat(shard.file.path(), ": ", AbslView(kSourceHeaderKey)));
    if (!header.ok()) return header.status();
    RestoredFile file;
    file.header_text = *std::move(text);
    file.tensors = std::move(header->tensors);
    for (std::size_t t = 0; t < file.tensors.size(); ++t) {
      const TensorInfo& info = file.tensors[t];
      specs_.push_back(info);
      places_[info.name] = {files_.size(), t, info.byte_count()};
      file.bytes += info.byte_count();
    }
    files_.push_back(std::move(file));
  }
  return absl::OkStatus();
}

absl::Status RestoreJob::ReadSources() {
  const TensorSet& set = ranks_[0]->prepared->set();
  const absl::StatusOr<std::vector<SourceFileName>> sources = SourceFilesOf(*ranks_[0]->prepared);
  if (!sources.ok()) return sources.status();
  // A prepared file comes from the source file of the same name; one alone may have any name.
  for (std::size_t i = 0; i < sources->size(); ++i) {
    if (sources->size() == 1 && files_.size() == 1) break;
    if (i < files_.size() && set.shards()[i].name == (*sources)[i].file) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        in_, ": ", (*sources)[i].file, ", of ", sources->size(),
        sources->size() == 1 ? " source file" : " source files", ", has no prepared file here"));
  }
  if (sources->size() != files_.size()) {
    return absl::FailedPreconditionError(absl::StrCat(in_, ": prepared files here: ", files_.size(),
                                                      ", source files: ", sources->size()));
  }
  std::map<std::string, std::string> digests;
  for (const PreparedSource& source : ranks_[0]->prepared->sources()) {
    digests[source.file] = source.xxh3;
  }
  const bool one_file = set.source() == TensorSet::Source::kFile && !in_ranks_;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    RestoredFile& file = files_[i];
    file.name = (*sources)[i].file;
    file.digest = digests[file.name];
    file.path = one_file ? out_ : (fs::path(out_) / file.name).string();
    if (!one_file && !IsContainedPath(file.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("source name \"", file.name, "\" leaves the output directory"));
    }
  }
  return absl::OkStatus();
}

absl::Status RestoreJob::PlanAgain() {
  const TensorSet::Shard& first = ranks_[0]->prepared->set().shards()[0];
  const absl::StatusOr<std::string> text = KeptMetadata(first, kRecipeTextKey);
  if (!text.ok()) return text.status();
  const absl::StatusOr<Recipe> recipe = Recipe::Parse(*text, first.file.path());
  if (!recipe.ok()) return recipe.status();
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (absl::Status status = PlanRank(*recipe, r); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RestoreJob::PlanRank(const Recipe& recipe, std::size_t r) {
  RestoreRank& rank = *ranks_[r];
  const TensorSet::Shard& shard = rank.prepared->set().shards()[0];
  const absl::StatusOr<std::string> text = KeptMetadata(shard, kOptionsKey);
  if (!text.ok()) return text.status();
  const absl::StatusOr<PreparationOptions> options = ParseOptions(*text, shard.file.path());
  if (!options.ok()) return options.status();
  if (options->rank != static_cast<int>(r) || options->ranks != static_cast<int>(ranks_.size())) {
    return absl::FailedPreconditionError(
        absl::StrCat(shard.file.path(), " is rank ", options->rank, " of ", options->ranks, "; ",
                     ranks_.size(), " are here: restoring needs all, in rank-0, rank-1, ..."));
  }
  const auto folded = [&](const MatchedWeight& weight) -> absl::StatusOr<bool> {
    const PreparedTensor* what = rank.prepared->Describe(weight.name);
    if (what == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat("there is no tensor ", weight.name));
    }
    if (what->layout == layout_tag::kGfx942Dense) return true;
    const absl::StatusOr<std::string> codes = what->TextParam("codes");
    return codes.ok() && *codes == kBlockCodesParam;
  };
  absl::StatusOr<Preparation> preparation =
      PlanPreparation(MatchRecipe(recipe, specs_), specs_, *options, folded);
  if (!preparation.ok()) return preparation.status();
  rank.preparation = *std::move(preparation);
  for (const OutputTensor& output : rank.preparation.outputs) {
    if (absl::Status status = CheckSame(rank, output); !status.ok()) return status;
  }
  return absl::OkStatus();
}

void RestoreJob::AddOutputs() {
  for (const std::unique_ptr<RestoreRank>& rank : ranks_) {
    for (const OutputTensor& output : rank->preparation.outputs) {
      std::set<std::size_t> files;
      for (const std::size_t source : HeldSources(output)) {
        files.insert(PlaceOf(output.sources[source]).file);
      }
      for (const std::size_t file : files) files_[file].outputs.push_back({rank.get(), &output});
    }
  }
}

std::int64_t RestoreJob::total_bytes() const {
  std::int64_t bytes = 0;
  for (const RestoredFile& file : files_) bytes += file.bytes;
  return bytes;
}

std::string RestoreJob::IndexPath() const {
  const TensorSet& set = ranks_[0]->prepared->set();
  return set.index_name().empty() ? "" : (fs::path(out_) / set.index_name()).string();
}

absl::StatusOr<std::string> RestoreJob::IndexText() const {
  SafetensorsIndex index;
  index.total_size = total_bytes();
  for (const RestoredFile& file : files_) {
    for (const TensorInfo& info : file.tensors) index.weight_map[info.name] = file.name;
  }
  return SafetensorsIndexText(index);
}

}  // namespace lanewise
