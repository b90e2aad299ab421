#include "checkpoint/prepare/output_files.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/safetensors/safetensors_index.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

std::int64_t BytesOf(const OutputTensor& output) {
  return ByteCount(output.tensor.stored.dtype, output.tensor.stored.shape).value_or(0);
}

ExtraTensor EmptyMarker(const OutputFile& file) {
  ExtraTensor marker;
  marker.output.tensor.stored = {EmptyFileName(file.name), DType::kU8, {0}};
  marker.output.tensor.what.layout = std::string(layout_tag::kPlain);
  marker.output.tensor.what.shape = {0};
  return marker;
}

// If every element was a zero.
std::int64_t MostZeroSignBytes(const TensorPlan& plan) {
  return (plan.rows() * plan.elements() + 7) / 8;
}

// What lossless stores beside an output, if anything.
void AddExtra(const OutputTensor& output, OutputFile* file) {
  const std::string& name = output.tensor.stored.name;
  ExtraTensor extra;
  extra.of = &output;
  PreparedTensorPlan& tensor = extra.output.tensor;
  if (DiscardsZeroSigns(output.plan)) {
    extra.kind = ExtraTensor::Kind::kZeroSigns;
    tensor.stored = {ZeroSignsName(name), DType::kU8, {MostZeroSignBytes(output.plan)}};
    tensor.grows = true;
  } else if (TraitsOf(output.plan.conversion).loss == Loss::kValues) {
    extra.kind = ExtraTensor::Kind::kOriginal;
    extra.output.plan = SourceRowsOf(output.plan);
    tensor.stored = {OriginalName(name), DType::kF8E4m3, extra.output.plan.shape};
  } else {
    return;
  }
  extra.output.sources = output.sources;
  tensor.what.layout = std::string(layout_tag::kPlain);
  tensor.what.dtype = tensor.stored.dtype;
  tensor.what.shape = tensor.stored.shape;
  tensor.what.from = output.tensor.what.from;
  if (!tensor.grows) file->bytes += BytesOf(extra.output);
  file->extras.push_back(std::move(extra));
}

// Nothing is written into a checkpoint's own directory.
absl::Status CheckOutside(const TensorSet& source, const std::string& out) {
  if (source.source() != TensorSet::Source::kDirectory) return absl::OkStatus();
  std::error_code error;
  const fs::path in = fs::weakly_canonical(fs::path(source.directory()) / ".", error);
  const fs::path to = fs::weakly_canonical(fs::absolute(out, error), error);
  const auto [rest, end] = std::mismatch(in.begin(), in.end(), to.begin(), to.end());
  // A path that ends with a slash has an empty last component.
  if (rest != in.end() && !rest->empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(out, " lies in ", source.directory(), ", the checkpoint that is read"));
}

// `own` may be there; `of_run` are the files that this run would write. Files that do not belong
// would be read as part of the prepared checkpoint.
absl::Status CheckNoOthers(const std::string& directory, const std::set<std::string>& own,
                           const std::set<std::string>& of_run) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".safetensors") && !name.ends_with(".safetensors.index.json")) continue;
    if (own.count(name) > 0) continue;
    return absl::AlreadyExistsError(
        absl::StrCat(directory, " holds ", name, " already; --overwrite goes on all the same",
                     of_run.count(name) > 0 ? ", --resume with what is there" : ""));
  }
  return absl::OkStatus();
}

absl::Status CheckIndex(const std::string& path, const std::string& text) {
  const absl::StatusOr<MappedFile> there = MappedFile::Open(path);
  if (absl::IsNotFound(there.status())) return absl::OkStatus();
  if (!there.ok()) return there.status();
  const std::span<const std::uint8_t> bytes = there->bytes();
  if (std::equal(bytes.begin(), bytes.end(), text.begin(), text.end(),
                 [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); })) {
    return absl::OkStatus();
  }
  return absl::AlreadyExistsError(
      absl::StrCat(path, " is the index of another checkpoint; --overwrite replaces it"));
}

}  // namespace

std::string RankDirectory(std::string_view out, int rank, int ranks) {
  if (ranks == 1) return std::string(out);
  return (fs::path(out) / absl::StrCat("rank-", rank)).string();
}

std::vector<OutputFile> PlanOutputFiles(const JobPlan& plan) {
  const std::vector<TensorSet::Shard>& shards = plan.source->shards();
  std::vector<OutputFile> files(shards.size() * plan.ranks.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    OutputFile& file = files[i];
    file.shard = i / plan.ranks.size();
    file.rank = i % plan.ranks.size();
    file.name = shards[file.shard].name;
    const std::string& out = plan.ranks[file.rank].out;
    file.path = plan.InOneFile() ? out : (fs::path(out) / file.name).string();
  }
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    for (const OutputTensor& output : plan.ranks[r].preparation.outputs) {
      const std::size_t shard = plan.source->Find(output.tensor.what.from[0])->shard;
      OutputFile& file = files[shard * plan.ranks.size() + r];
      file.outputs.push_back(&output);
      file.bytes += BytesOf(output);
      if (plan.lossless && !output.verbatim) AddExtra(output, &file);
    }
  }
  for (OutputFile& file : files) {
    // All of its tensors are parts of ones that begin in other files.
    if (file.outputs.empty() && plan.HasIndex()) file.extras.push_back(EmptyMarker(file));
  }
  return files;
}

absl::StatusOr<std::string> IndexTextOf(const JobPlan& plan, std::span<const OutputFile> files,
                                        std::size_t rank) {
  SafetensorsIndex index;
  std::int64_t bytes = 0;
  for (const OutputFile& file : files) {
    if (file.rank != rank) continue;
    bytes += file.bytes;
    for (const OutputTensor* output : file.outputs) {
      index.weight_map[output->tensor.stored.name] = file.name;
    }
    for (const ExtraTensor& extra : file.extras) {
      index.weight_map[extra.output.tensor.stored.name] = file.name;
    }
  }
  if (!plan.lossless) index.total_size = bytes;
  return SafetensorsIndexText(index);
}

std::string IndexPathOf(const JobPlan& plan, std::size_t rank) {
  return (fs::path(plan.ranks[rank].out) / plan.source->index_name()).string();
}

absl::Status CheckPlaces(const JobPlan& plan, std::span<const OutputFile> files,
                         const std::string& in, const std::string& out, PlaceRules rules) {
  if (absl::Status status = CheckOutside(*plan.source, out); !status.ok()) return status;
  std::error_code error;
  std::set<std::string> sources;
  for (const TensorSet::Shard& shard : plan.source->shards()) {
    sources.insert(fs::weakly_canonical(shard.file.path(), error).string());
  }
  std::set<std::string> own;
  for (const OutputFile& file : files) {
    if (sources.count(fs::weakly_canonical(file.path, error).string()) > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.path, " is part of the checkpoint that is read"));
    }
    own.insert(file.name);
  }
  if (plan.InOneFile()) return absl::OkStatus();
  if (plan.source->source() == TensorSet::Source::kFile &&
      !plan.source->shards()[0].name.ends_with(".safetensors")) {
    return absl::InvalidArgumentError(
        absl::StrCat(in, ": a file in a directory of ranks has to end in .safetensors"));
  }
  // Ranks of an earlier run with more of them would be read as part of this one.
  const std::string next = RankDirectory(out, plan.options.ranks, 2);
  if (plan.options.ranks > 1 && fs::exists(next, error)) {
    return absl::AlreadyExistsError(
        absl::StrCat(next, " exists, but there will be ", plan.options.ranks, " ranks: remove it"));
  }
  if (rules.overwrite) return absl::OkStatus();
  if (plan.HasIndex()) own.insert(plan.source->index_name());
  for (std::size_t r = 0; r < plan.ranks.size(); ++r) {
    const std::set<std::string> nothing;
    absl::Status status = CheckNoOthers(plan.ranks[r].out, rules.shared ? own : nothing, own);
    if (!status.ok()) return status;
    if (!plan.HasIndex()) continue;
    const absl::StatusOr<std::string> text = IndexTextOf(plan, files, r);
    if (!text.ok()) return text.status();
    status = CheckIndex(IndexPathOf(plan, r), *text);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace lanewise
