#include "checkpoint/prepare/output_metadata.h"

#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/text.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/prepared.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// Whether a source file that the output reads was changed after the output was written.
std::string ChangedSource(const JobPlan& plan, const OutputFile& file) {
  std::set<std::size_t> shards = {file.shard};
  for (const OutputTensor* output : file.outputs) {
    for (const std::string& name : output->tensor.what.from) {
      shards.insert(plan.source->Find(name)->shard);
    }
  }
  std::error_code error;
  const fs::file_time_type written = fs::last_write_time(file.path, error);
  for (const std::size_t shard : shards) {
    const std::string& path = plan.source->shards()[shard].file.path();
    const fs::file_time_type changed = fs::last_write_time(path, error);
    if (error || changed > written) return absl::StrCat(path, " was changed after it was written");
  }
  return "";
}

// Metadata that do not depend on the tensors' bytes.
std::string DifferentMetadata(const PreparedWriter::About& about, const PreparedCheckpoint& there) {
  if (there.target() != about.target) return absl::StrCat("its target is ", there.target());
  if (there.recipe() != about.recipe) return absl::StrCat("its recipe is ", there.recipe());
  const auto& metadata = there.set().shards()[0].file.metadata();
  for (const auto& [key, value] : about.more) {
    const auto found = metadata.find(key);
    if (found == metadata.end() || found->second != value) {
      return absl::StrCat("its ", Quoted(key), " is another");
    }
  }
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(kPreparedKeyPrefix) && about.more.count(key) == 0) {
      return absl::StrCat("its source had the metadata ", Quoted(key));
    }
  }
  const std::vector<PreparedSource>& sources = there.sources();
  if (sources.size() != 1 || sources[0].file != about.sources[0].file ||
      sources[0].size != about.sources[0].size) {
    return "its source has another name or size";
  }
  return "";
}

std::string DifferentTensor(const PreparedTensorPlan& plan, const PreparedCheckpoint& there) {
  const std::string& name = plan.stored.name;
  const PreparedTensor* what = there.Describe(name);
  if (what == nullptr) return absl::StrCat("it has no tensor ", Quoted(name));
  const TensorInfo& stored = *there.set().Find(name)->info;
  PreparedTensor expected = plan.what;
  expected.xxh3 = what->xxh3;
  for (const std::string& late : plan.late) {
    if (const auto found = what->params.find(late); found != what->params.end()) {
      expected.params[late] = found->second;
    }
  }
  // How many signs there are, only reading the source would tell.
  const bool signs =
      name == ZeroSignsName(name.substr(std::min(name.size(), ZeroSignsName("").size())));
  if (signs && stored.shape.size() == 1) expected.shape = stored.shape;
  if (!(expected == *what) || stored.dtype != plan.stored.dtype ||
      stored.shape != (signs ? expected.shape : plan.stored.shape)) {
    return absl::StrCat("its tensor ", Quoted(name), " has another layout, shape or parameter");
  }
  return "";
}

}  // namespace

PreparedWriter::About AboutFile(const JobPlan& plan, const OutputFile& file) {
  const TensorSet::Shard& shard = plan.source->shards()[file.shard];
  PreparedWriter::About about;
  about.target = std::string(TargetName(plan.options.target));
  about.recipe = plan.recipe.name;
  about.sources = {{shard.name, shard.file.file_size(), ""}};
  about.more = shard.file.metadata();
  const auto header = shard.file.file_bytes().subspan(8, shard.file.data_begin() - 8);
  about.more[std::string(kSourceHeaderKey)].assign(header.begin(), header.end());
  about.more[std::string(kRecipeTextKey)] = plan.recipe.json;
  PreparationOptions options = plan.options;
  options.rank = plan.ranks[file.rank].rank;
  about.more[std::string(kOptionsKey)] = OptionsJson(options, plan.lossless);
  if (plan.HasIndex()) about.more[std::string(kIndexKey)] = plan.source->index_name();
  // All of them, in every file: a file that is missing is missed.
  about.more[std::string(kSourceFilesKey)] = SourceFilesJson(*plan.source);
  return about;
}

std::vector<PreparedTensorPlan> TensorsOf(const OutputFile& file) {
  std::vector<PreparedTensorPlan> tensors;
  for (const OutputTensor* output : file.outputs) tensors.push_back(output->tensor);
  for (const ExtraTensor& extra : file.extras) tensors.push_back(extra.output.tensor);
  return tensors;
}

ExistingFile LookAtExisting(const JobPlan& plan, const OutputFile& file) {
  ExistingFile existing;
  const absl::StatusOr<PreparedCheckpoint> there = PreparedCheckpoint::Open(file.path, "");
  if (!there.ok()) {
    existing.problem = std::string(there.status().message());
    return existing;
  }
  existing.problem = DifferentMetadata(AboutFile(plan, file), *there);
  const std::vector<PreparedTensorPlan> tensors = TensorsOf(file);
  for (const PreparedTensorPlan& tensor : tensors) {
    if (existing.problem.empty()) existing.problem = DifferentTensor(tensor, *there);
  }
  if (existing.problem.empty() && tensors.size() != there->set().tensors().size()) {
    existing.problem = "it has more tensors";
  }
  if (existing.problem.empty()) existing.problem = ChangedSource(plan, file);
  existing.bytes = there->set().total_bytes();
  for (const TensorSet::Tensor& tensor : there->set().tensors()) {
    existing.negative_zeros +=
        there->Describe(tensor.name())->IntParam(kNegativeZerosParam).value_or(0);
  }
  return existing;
}

}  // namespace lanewise
