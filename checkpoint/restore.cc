#include "checkpoint/restore.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/digest.h"
#include "checkpoint/kept_metadata.h"
#include "checkpoint/made_directories.h"
#include "checkpoint/memory_budget.h"
#include "checkpoint/prepared.h"
#include "checkpoint/rank_paths.h"
#include "checkpoint/restore_tensor.h"
#include "checkpoint/safetensors_index.h"
#include "checkpoint/safetensors_writer.h"
#include "checkpoint/text.h"
#include "weights/parallel.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// One of the files to write.
struct SourceFile {
  std::string path;
  std::string digest;  // of the original
  std::vector<TensorInfo> tensors;
  std::unique_ptr<SafetensorsWriter> writer;
};

struct Place {
  std::size_t file = 0;
  std::size_t tensor = 0;  // in the writer's order
  std::int64_t bytes = 0;
};

struct Rank {
  std::unique_ptr<PreparedCheckpoint> prepared;
  Preparation preparation;
};

// An output of one rank.
struct RankOutput {
  const Rank* rank = nullptr;
  const OutputTensor* output = nullptr;
};

// Source tensors that have to be restored together, because an output holds parts of several.
struct Group {
  std::vector<std::string> sources;
  std::vector<RankOutput> outputs;
};

class Restorer {
 public:
  Restorer(const RestoreRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  absl::StatusOr<RestoreReport> Run() {
    absl::Status status = OpenRanks();
    if (status.ok()) status = ReadHeaders();
    if (status.ok()) status = PlanAgain();
    if (status.ok()) status = SetMemory();
    if (status.ok()) status = CreateFiles();
    for (std::size_t i = 0; status.ok() && i < groups_.size(); ++i) status = Restore(groups_[i]);
    if (status.ok()) status = Finish();
    if (!status.ok()) return status;
    made_.Keep();
    return std::move(report_);
  }

 private:
  absl::Status OpenRanks() {
    const std::vector<std::string> paths = RankPaths(request_.in);
    in_ranks_ = paths[0] != request_.in;
    for (const std::string& path : paths) {
      absl::StatusOr<PreparedCheckpoint> prepared = PreparedCheckpoint::Open(path, "");
      if (!prepared.ok()) return prepared.status();
      ranks_.emplace_back();
      ranks_.back().prepared = std::make_unique<PreparedCheckpoint>(*std::move(prepared));
      const PreparedCheckpoint& first = *ranks_[0].prepared;
      const PreparedCheckpoint& last = *ranks_.back().prepared;
      if (last.sources() != first.sources() || last.target() != first.target() ||
          last.recipe() != first.recipe()) {
        return absl::FailedPreconditionError(absl::StrCat(
            path,
            " was not prepared from the same source, by the same recipe and for the same target "
            "as ",
            paths[0]));
      }
    }
    return absl::OkStatus();
  }

  // A value that prepare leaves in the first shard of a rank.
  static absl::StatusOr<std::string> Kept(const TensorSet::Shard& shard, std::string_view key) {
    const auto& metadata = shard.file.metadata();
    const auto found = metadata.find(std::string(key));
    if (found != metadata.end()) return found->second;
    return absl::FailedPreconditionError(absl::StrCat(shard.file.path(), " has no ", AbslView(key),
                                                      ": it was not written by lanewise prepare"));
  }

  absl::Status ReadHeaders() {
    const TensorSet& set = ranks_[0].prepared->set();
    for (const TensorSet::Shard& shard : set.shards()) {
      const absl::StatusOr<std::string> text = Kept(shard, kSourceHeaderKey);
      if (!text.ok()) return text.status();
      const absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeaderText(
          *text, absl::StrCat(shard.file.path(), ": ", AbslView(kSourceHeaderKey)));
      if (!header.ok()) return header.status();
      header_texts_.push_back(*text);
      SourceFile file;
      file.tensors = header->tensors;
      for (const TensorInfo& info : header->tensors) specs_.push_back(info);
      files_.push_back(std::move(file));
    }
    const absl::StatusOr<std::vector<SourceFileName>> sources = SourceFilesOf(*ranks_[0].prepared);
    if (!sources.ok()) return sources.status();
    // A prepared file comes from the source file of the same name; one alone may have any name.
    for (std::size_t i = 0; i < sources->size(); ++i) {
      if (sources->size() == 1 && files_.size() == 1) break;
      if (i < files_.size() && set.shards()[i].name == (*sources)[i].file) continue;
      return absl::FailedPreconditionError(
          absl::StrCat(request_.in, ": it was prepared from ", sources->size(), " files, of which ",
                       (*sources)[i].file, " has no prepared file here"));
    }
    if (sources->size() != files_.size()) {
      return absl::FailedPreconditionError(absl::StrCat(request_.in, " has ", files_.size(),
                                                        " prepared files, but was prepared from ",
                                                        sources->size()));
    }
    std::map<std::string, std::string> digests;
    for (const PreparedSource& source : ranks_[0].prepared->sources()) {
      digests[source.file] = source.xxh3;
    }
    const bool one_file = set.source() == TensorSet::Source::kFile && !in_ranks_;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const std::string& name = (*sources)[i].file;
      files_[i].digest = digests[name];
      files_[i].path = one_file ? request_.out : (fs::path(request_.out) / name).string();
      if (!one_file && !IsContainedPath(name)) {
        return absl::InvalidArgumentError(
            absl::StrCat("source name \"", name, "\" leaves the output directory"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status PlanAgain() {
    const TensorSet::Shard& first = ranks_[0].prepared->set().shards()[0];
    const absl::StatusOr<std::string> recipe_text = Kept(first, kRecipeTextKey);
    if (!recipe_text.ok()) return recipe_text.status();
    const absl::StatusOr<Recipe> recipe = Recipe::Parse(*recipe_text, first.file.path());
    if (!recipe.ok()) return recipe.status();
    const RecipeMatch match = MatchRecipe(*recipe, specs_);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      Rank& rank = ranks_[r];
      const TensorSet::Shard& shard = rank.prepared->set().shards()[0];
      const absl::StatusOr<std::string> options_text = Kept(shard, kOptionsKey);
      if (!options_text.ok()) return options_text.status();
      const absl::StatusOr<PreparationOptions> options =
          ParseOptions(*options_text, shard.file.path());
      if (!options.ok()) return options.status();
      if (options->rank != static_cast<int>(r) ||
          options->ranks != static_cast<int>(ranks_.size())) {
        return absl::FailedPreconditionError(absl::StrCat(
            shard.file.path(), " is rank ", options->rank, " of ", options->ranks, "; ",
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
      absl::StatusOr<Preparation> preparation = PlanPreparation(match, specs_, *options, folded);
      if (!preparation.ok()) return preparation.status();
      rank.preparation = *std::move(preparation);
      for (const OutputTensor& output : rank.preparation.outputs) {
        if (absl::Status status = CheckSame(rank, output); !status.ok()) return status;
      }
    }
    MakeGroups();
    return absl::OkStatus();
  }

  // That the file holds what is planned: it does, unless it was written by another version.
  static absl::Status CheckSame(const Rank& rank, const OutputTensor& output) {
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

  void MakeGroups() {
    std::map<std::string, std::size_t, std::less<>> index;
    for (std::size_t i = 0; i < specs_.size(); ++i) index[specs_[i].name] = i;
    std::vector<std::size_t> root(specs_.size());
    std::iota(root.begin(), root.end(), std::size_t{0});
    const auto find = [&](std::size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    for (const Rank& rank : ranks_) {
      for (const OutputTensor& output : rank.preparation.outputs) {
        for (const std::string& source : output.sources) {
          root[find(index.at(source))] = find(index.at(output.sources[0]));
        }
      }
    }
    std::map<std::size_t, std::size_t> group_of;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const auto [at, added] = group_of.try_emplace(find(i), groups_.size());
      if (added) groups_.emplace_back();
      groups_[at->second].sources.push_back(specs_[i].name);
    }
    for (const Rank& rank : ranks_) {
      for (const OutputTensor& output : rank.preparation.outputs) {
        groups_[group_of.at(find(index.at(output.sources[0])))].outputs.push_back({&rank, &output});
      }
    }
    // Codes first: a weight that was converted with them is taken back with them.
    for (Group& group : groups_) {
      std::vector<RankOutput> in_order;
      for (const bool reads_codes : {false, true}) {
        for (const RankOutput& one : group.outputs) {
          if ((one.output->plan.code_place != nullptr) == reads_codes) in_order.push_back(one);
        }
      }
      group.outputs = std::move(in_order);
    }
  }

  absl::Status CreateFiles() {
    std::error_code error;
    for (const Rank& rank : ranks_) {
      for (const TensorSet::Shard& shard : rank.prepared->set().shards()) {
        for (const SourceFile& file : files_) {
          if (fs::equivalent(shard.file.path(), file.path, error)) {
            return absl::InvalidArgumentError(
                absl::StrCat(file.path, " is part of the prepared checkpoint that is read"));
          }
        }
      }
    }
    for (const SourceFile& file : files_) {
      if (fs::exists(file.path, error) && !request_.overwrite) {
        return absl::AlreadyExistsError(
            absl::StrCat(file.path, " exists; --overwrite replaces it"));
      }
    }
    for (std::size_t f = 0; f < files_.size(); ++f) {
      SourceFile& file = files_[f];
      if (absl::Status status = made_.Make(fs::path(file.path).parent_path()); !status.ok()) {
        return status;
      }
      absl::StatusOr<SafetensorsWriter> writer =
          SafetensorsWriter::CreateWithHeader(file.path, header_texts_[f]);
      if (!writer.ok()) return writer.status();
      file.writer = std::make_unique<SafetensorsWriter>(*std::move(writer));
      for (std::size_t t = 0; t < file.writer->tensors().size(); ++t) {
        const TensorInfo& info = file.writer->tensors()[t];
        places_[info.name] = {f, t, info.byte_count()};
        total_bytes_ += info.byte_count();
        ++report_.tensors;
      }
    }
    report_.bytes = total_bytes_;
    return absl::OkStatus();
  }

  // What is left of the memory for pieces in flight.
  absl::Status SetMemory() {
    constexpr std::int64_t kMiB = std::int64_t{1} << 20;
    std::int64_t least = 2 * kPageBlockBytes;
    const OutputTensor* largest = nullptr;
    for (const Group& group : groups_) {
      for (const RankOutput& one : group.outputs) {
        if (one.output->verbatim) continue;
        const std::int64_t bytes = LeastRestoreMemory(one.output->plan);
        if (bytes <= least) continue;
        least = bytes;
        largest = one.output;
      }
    }
    const int threads = ThreadCount(request_.threads);
    const std::int64_t passed = std::min(request_.memory / 16, 32 * kMiB);
    const std::int64_t held = ResidentBytes() + passed + 8 * kMiB + threads * kMiB;
    if (request_.memory - held < least) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--memory ", request_.memory, " bytes are too little: ", held,
          " are taken by the program and the plan, and the smallest piece takes ", least,
          largest == nullptr ? "" : absl::StrCat(", because of ", largest->tensor.stored.name),
          "; give at least ", (held + least + kMiB - 1) / kMiB, "M"));
    }
    passed_ = std::make_unique<PassedPages>(passed);
    settings_.threads = threads;
    settings_.memory = request_.memory - held;
    settings_.piece_bytes =
        std::clamp<std::int64_t>(settings_.memory / (16 * threads), 64 << 10, 2 * kMiB);
    settings_.passed = passed_.get();
    return absl::OkStatus();
  }

  absl::Status Restore(const Group& group) {
    std::map<std::string_view, MappedSink> room;
    for (const std::string& source : group.sources) {
      const Place& place = places_.at(source);
      MappedSink& sink = room[source];
      const absl::StatusOr<std::span<std::uint8_t>> bytes =
          files_[place.file].writer->Map(place.tensor, &sink.mapping);
      if (!bytes.ok()) return bytes.status();
      sink.bytes = *bytes;
    }
    for (const RankOutput& one : group.outputs) {
      if (request_.cancel != nullptr && *request_.cancel) {
        return absl::CancelledError("interrupted; nothing was written");
      }
      std::vector<MappedSink> sinks;
      for (const std::string& source : one.output->sources) sinks.push_back(room.at(source));
      absl::Status status = RestoreOutput(one, sinks);
      if (!status.ok()) return OfTensor(one.output->tensor.stored.name, status);
    }
    for (const std::string& source : group.sources) done_bytes_ += places_.at(source).bytes;
    if (progress_) progress_(done_bytes_, total_bytes_);
    return absl::OkStatus();
  }

  // While a tensor is taken back, another thread digests it: nothing has a name until all is right.
  absl::Status RestoreOutput(const RankOutput& one, const std::vector<MappedSink>& sinks) {
    absl::Status digests;
    std::thread digester([&] {
      const PreparedCheckpoint& prepared = *one.rank->prepared;
      const std::string& name = one.output->tensor.stored.name;
      for (const std::string& each : {name, OriginalName(name), ZeroSignsName(name)}) {
        if (prepared.set().Find(each) != nullptr) digests.Update(prepared.Verify(each));
      }
    });
    absl::Status status = RestoreStored(one, sinks);
    digester.join();
    // Wrong bytes explain whatever else went wrong.
    return digests.ok() ? status : digests;
  }

  absl::Status RestoreStored(const RankOutput& one, const std::vector<MappedSink>& sinks) {
    const OutputTensor& output = *one.output;
    const PreparedCheckpoint& prepared = *one.rank->prepared;
    const std::string& name = output.tensor.stored.name;
    const auto memory = Stored(prepared, name);
    if (output.verbatim) {
      const int source = output.plan.place == nullptr ? 0 : output.plan.place(0).source;
      if (memory->bytes.size() != sinks[source].bytes.size()) {
        return absl::DataLossError("its size is not its source's");
      }
      CopyTensor(*memory, sinks[source], settings_);
      return absl::OkStatus();
    }
    if (const auto original = Stored(prepared, OriginalName(name))) {
      return RestoreTensor(SourceRowsOf(output.plan), *original, sinks, settings_);
    }
    dequantized_ = dequantized_ || output.plan.conversion == Conversion::kE4m3ToBf16;
    absl::Status status = RestoreTensor(output.plan, *memory, sinks, settings_);
    if (!status.ok() || !DiscardsZeroSigns(output.plan)) return status;
    if (const auto signs = Stored(prepared, ZeroSignsName(name))) {
      return RestoreZeroSigns(output.plan, *signs, sinks, settings_);
    }
    report_.lost_zero_signs += prepared.Describe(name)->IntParam(kNegativeZerosParam).value_or(0);
    return absl::OkStatus();
  }

  static std::optional<MappedSource> Stored(const PreparedCheckpoint& prepared,
                                            std::string_view name) {
    const TensorSet::Tensor* tensor = prepared.set().Find(name);
    if (tensor == nullptr) return std::nullopt;
    return MappedSource{prepared.set().Bytes(*tensor),
                        prepared.set().shards()[tensor->shard].file.file_bytes()};
  }

  absl::Status Finish() {
    report_.exact = true;
    passed_->Release();
    std::vector<absl::StatusOr<std::string>> digests(files_.size());
    ParallelFor(std::ssize(files_), request_.threads,
                [&](std::int64_t begin, std::int64_t end, int) {
                  for (std::int64_t f = begin; f < end; ++f) {
                    digests[f] = DigestOf(static_cast<std::size_t>(f));
                  }
                });
    for (std::size_t f = 0; f < files_.size(); ++f) {
      if (!digests[f].ok()) return digests[f].status();
      if (*digests[f] == files_[f].digest) continue;
      report_.exact = false;
      report_.differing.push_back(files_[f].path);
    }
    if (!report_.exact && report_.lost_zero_signs == 0 && !dequantized_) {
      return absl::DataLossError(
          absl::StrCat(report_.differing[0],
                       " would not be the source file it was prepared from, and nothing that "
                       "preparing discards explains it: the prepared files do not belong "
                       "together"));
    }
    for (SourceFile& file : files_) {
      if (absl::Status status = file.writer->Finish(); !status.ok()) return status;
    }
    return WriteIndex();
  }

  // Of a whole file as it will be.
  absl::StatusOr<std::string> DigestOf(std::size_t f) const {
    Digest digest;
    const std::string& text = header_texts_[f];
    std::uint8_t length[8];
    for (int i = 0; i < 8; ++i) length[i] = static_cast<std::uint8_t>(text.size() >> (8 * i));
    digest.Update(length);
    digest.Update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    const SafetensorsWriter& writer = *files_[f].writer;
    std::vector<std::uint8_t> piece;
    for (std::size_t t = 0; t < writer.tensors().size(); ++t) {
      const std::int64_t bytes = writer.tensors()[t].byte_count();
      constexpr std::int64_t kPiece = std::int64_t{1} << 20;
      for (std::int64_t at = 0; at < bytes; at += kPiece) {
        piece.resize(static_cast<std::size_t>(std::min(kPiece, bytes - at)));
        if (absl::Status status = writer.Read(t, at, piece); !status.ok()) return status;
        digest.Update(piece);
      }
    }
    return digest.Hex();
  }

  absl::Status WriteIndex() {
    const TensorSet& set = ranks_[0].prepared->set();
    if (set.index_name().empty()) return absl::OkStatus();
    SafetensorsIndex index;
    index.total_size = total_bytes_;
    for (const SourceFile& file : files_) {
      for (const TensorInfo& info : file.tensors) {
        index.weight_map[info.name] = fs::path(file.path).lexically_relative(request_.out).string();
      }
    }
    return WriteSafetensorsIndex((fs::path(request_.out) / set.index_name()).string(), index);
  }

  const RestoreRequest& request_;
  const Progress& progress_;
  RestoreReport report_;
  std::vector<Rank> ranks_;
  bool in_ranks_ = false;  // whether `in` holds rank-0, rank-1, ...
  MadeDirectories made_;
  std::vector<SourceFile> files_;
  // After the files: it gives back their pages before they are unmapped.
  std::unique_ptr<PassedPages> passed_;
  RestoreSettings settings_;
  std::vector<std::string> header_texts_;
  std::vector<TensorSpec> specs_;
  std::vector<Group> groups_;
  std::map<std::string, Place, std::less<>> places_;
  std::int64_t total_bytes_ = 0;
  std::int64_t done_bytes_ = 0;
  bool dequantized_ = false;  // some weight was, and its original is not stored
};

}  // namespace

absl::StatusOr<RestoreReport> RestoreCheckpoint(const RestoreRequest& request,
                                                const Progress& progress) {
  return Restorer(request, progress).Run();
}

}  // namespace lanewise
