#include "checkpoint/prepare.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/digest.h"
#include "checkpoint/made_directories.h"
#include "checkpoint/prepared.h"
#include "checkpoint/recipe_set.h"
#include "checkpoint/safetensors_index.h"
#include "checkpoint/text.h"
#include "nlohmann/json.hpp"
#include "weights/linear_source.h"
#include "weights/zero_signs.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;

// One output file: its tensors and, once begun, its writer.
struct OutputFile {
  std::string path;
  std::string name;       // relative to the rank's directory
  std::size_t shard = 0;  // of the source
  std::vector<const OutputTensor*> outputs;
  std::vector<OutputTensor> extras;  // what lossless stores
  // Bytes of the extras that are made when planned; empty where a plan makes them.
  std::vector<std::vector<std::uint8_t>> extra_bytes;
  std::unique_ptr<PreparedWriter> writer;
};

class Preparer {
 public:
  Preparer(const PrepareRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  absl::StatusOr<PrepareReport> Run() {
    absl::Status status = OpenSource();
    if (status.ok()) status = ChooseRecipe();
    if (status.ok()) status = PlanRanks();
    if (!status.ok()) return status;
    status = CheckPlaces();
    if (status.ok() && request_.dry_run) return std::move(report_);
    if (status.ok()) status = Write();
    if (!status.ok()) return status;
    made_.Keep();
    return std::move(report_);
  }

 private:
  absl::Status OpenSource() {
    absl::StatusOr<TensorSet> set = TensorSet::Open(request_.in);
    if (!set.ok()) return set.status();
    set_ = std::make_unique<TensorSet>(*std::move(set));
    if (IsPrepared(*set_)) {
      return absl::FailedPreconditionError(
          absl::StrCat(request_.in, " is prepared already; restore gives its source back"));
    }
    specs_ = SpecsOf(*set_);
    report_.notes = set_->notes();
    report_.source_tensors = std::ssize(specs_);
    report_.source_bytes = set_->total_bytes();
    return absl::OkStatus();
  }

  absl::Status ChooseRecipe() {
    if (request_.recipe) {
      recipe_ = *request_.recipe;
      report_.recipe = recipe_.name;
      report_.why = absl::StrCat("recipe ", recipe_.name, ", as asked for");
      return absl::OkStatus();
    }
    const absl::StatusOr<RecipeSet> recipes = RecipeSet::BuiltIn();
    if (!recipes.ok()) return recipes.status();
    const absl::StatusOr<RecipeSet::Choice> choice = recipes->Choose(specs_);
    if (!choice.ok()) return choice.status();
    recipe_ = *choice->recipe;
    report_.recipe = recipe_.name;
    report_.why = choice->why;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> RowCodesFoldOf(const MatchedWeight& weight) const {
    const TensorSet::Tensor* scale = set_->Find(weight.parts[0].scale);
    return RowCodesFold(set_->Bytes(*scale), weight.n, weight.k / 32);
  }

  absl::Status PlanRanks() {
    const RecipeMatch match = MatchRecipe(recipe_, specs_);
    if (match.weights.empty() && match.refused.empty() && recipe_.name != "none") {
      report_.notes.push_back(
          absl::StrCat("recipe ", recipe_.name, " matches no tensor here: all of them are copied"));
    }
    if (request_.rank && (*request_.rank < 0 || *request_.rank >= request_.options.ranks)) {
      return absl::InvalidArgumentError(
          absl::StrCat("rank ", *request_.rank, " of ", request_.options.ranks, " ranks"));
    }
    for (int rank = 0; rank < request_.options.ranks; ++rank) {
      if (request_.rank && *request_.rank != rank) continue;
      PreparationOptions options = request_.options;
      options.rank = rank;
      absl::StatusOr<Preparation> preparation =
          PlanPreparation(match, specs_, options,
                          [this](const MatchedWeight& weight) { return RowCodesFoldOf(weight); });
      if (!preparation.ok()) return preparation.status();
      PreparedRank prepared;
      prepared.rank = rank;
      prepared.out = RankDirectory(request_.out, rank, request_.options.ranks);
      prepared.preparation = *std::move(preparation);
      report_.ranks.push_back(std::move(prepared));
    }
    return absl::OkStatus();
  }

  bool OneFile() const { return set_->source() == TensorSet::Source::kFile; }

  // The files of every rank, and that nothing is in their way.
  absl::Status CheckPlaces() {
    std::set<std::string> sources;
    std::error_code error;
    for (const TensorSet::Shard& shard : set_->shards()) {
      sources.insert(fs::weakly_canonical(shard.file.path(), error).string());
    }
    if (absl::Status status = CheckOutside(); !status.ok()) return status;
    for (std::size_t r = 0; r < report_.ranks.size(); ++r) {
      const std::string& out = report_.ranks[r].out;
      const bool is_file = OneFile() && request_.options.ranks == 1;
      for (std::size_t s = 0; s < set_->shards().size(); ++s) {
        OutputFile file;
        file.shard = s;
        file.name = set_->shards()[s].name;
        file.path = is_file ? out : (fs::path(out) / file.name).string();
        if (sources.count(fs::weakly_canonical(file.path, error).string()) > 0) {
          return absl::InvalidArgumentError(
              absl::StrCat(file.path, " is part of the checkpoint that is read"));
        }
        if (fs::exists(file.path, error) && !request_.overwrite) {
          return absl::AlreadyExistsError(
              absl::StrCat(file.path, " exists; --overwrite replaces it"));
        }
        files_.emplace_back(r, std::move(file));
      }
      if (!is_file && OneFile() && !set_->shards()[0].name.ends_with(".safetensors")) {
        return absl::InvalidArgumentError(absl::StrCat(
            request_.in, ": a file in a directory of ranks has to end in .safetensors"));
      }
      if (!is_file && !request_.overwrite) {
        if (absl::Status status = CheckNoOtherCheckpoint(out); !status.ok()) return status;
      }
    }
    return CheckNoOtherRanks();
  }

  // Ranks of an earlier run with more of them would be read as part of this one.
  absl::Status CheckNoOtherRanks() const {
    if (request_.options.ranks == 1) return absl::OkStatus();
    std::error_code error;
    const std::string next = RankDirectory(request_.out, request_.options.ranks, 2);
    if (!fs::exists(next, error)) return absl::OkStatus();
    return absl::AlreadyExistsError(absl::StrCat(next, " exists, but there will be ",
                                                 request_.options.ranks, " ranks: remove it"));
  }

  // Nothing is written into a checkpoint's own directory.
  absl::Status CheckOutside() const {
    if (set_->source() != TensorSet::Source::kDirectory) return absl::OkStatus();
    std::error_code error;
    const fs::path in = fs::weakly_canonical(fs::path(set_->directory()) / ".", error);
    const fs::path out = fs::weakly_canonical(fs::absolute(request_.out, error), error);
    const auto [rest, end] = std::mismatch(in.begin(), in.end(), out.begin(), out.end());
    // A path that ends with a slash has an empty last component.
    if (rest != in.end() && !rest->empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(request_.out, " lies in ", set_->directory(),
                                                   ", the checkpoint that is read"));
  }

  // Files that do not belong would be read as part of the prepared checkpoint.
  static absl::Status CheckNoOtherCheckpoint(const std::string& directory) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      const std::string name = entry.path().filename().string();
      if (name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json")) {
        return absl::AlreadyExistsError(
            absl::StrCat(directory, " holds ", name, " already; --overwrite goes on all the same"));
      }
    }
    return absl::OkStatus();
  }

  Sources SourcesOf(const OutputTensor& output) const {
    Sources sources;
    for (const std::string& name : output.sources) {
      sources.push_back(set_->Bytes(*set_->Find(name)));
    }
    return sources;
  }

  // Deals a rank's outputs to its files: each to the file of its first source.
  void Deal() {
    for (auto& [r, file] : files_) {
      for (const OutputTensor& output : report_.ranks[r].preparation.outputs) {
        if (set_->Find(output.tensor.what.from[0])->shard != file.shard) continue;
        file.outputs.push_back(&output);
        if (request_.lossless && !output.verbatim) AddExtras(output, &file);
      }
      // All of its tensors are parts of ones that begin in other files.
      if (file.outputs.empty() && !set_->index_name().empty()) AddEmptyMarker(&file);
    }
  }

  static void AddEmptyMarker(OutputFile* file) {
    OutputTensor marker;
    marker.tensor.stored = {EmptyFileName(file->name), DType::kU8, {0}};
    marker.tensor.what.layout = std::string(layout_tag::kPlain);
    marker.tensor.what.shape = {0};
    file->extras.push_back(std::move(marker));
    file->extra_bytes.emplace_back();
  }

  void AddExtras(const OutputTensor& output, OutputFile* file) const {
    const std::string& name = output.tensor.stored.name;
    OutputTensor extra;
    std::vector<std::uint8_t> bytes;
    if (DiscardsZeroSigns(output.plan)) {
      bytes = ZeroSigns(output.plan, SourcesOf(output));
      extra.tensor.stored = {ZeroSignsName(name), DType::kU8, {std::ssize(bytes)}};
    } else if (output.plan.conversion == Conversion::kE4m3ToBf16) {
      extra.plan = SourceRowsOf(output.plan);
      extra.sources = output.sources;
      extra.tensor.stored = {OriginalName(name), DType::kF8E4m3, extra.plan.shape};
    } else {
      return;
    }
    extra.tensor.what.layout = std::string(layout_tag::kPlain);
    extra.tensor.what.dtype = extra.tensor.stored.dtype;
    extra.tensor.what.shape = extra.tensor.stored.shape;
    extra.tensor.what.from = output.tensor.what.from;
    file->extras.push_back(std::move(extra));
    file->extra_bytes.push_back(std::move(bytes));
  }

  absl::Status Write() {
    Deal();
    for (auto& [r, file] : files_) {
      if (absl::Status status = Begin(r, &file); !status.ok()) return status;
    }
    for (auto& [r, file] : files_) {
      for (std::size_t i = 0; i < file.outputs.size(); ++i) {
        absl::Status status = WriteOutput(*file.outputs[i], i, &file, &report_.ranks[r]);
        if (!status.ok()) return OfTensor(file.outputs[i]->tensor.stored.name, status);
      }
      for (std::size_t i = 0; i < file.extras.size(); ++i) {
        absl::Status status = WriteExtra(i, &file, &report_.ranks[r]);
        if (!status.ok()) return OfTensor(file.extras[i].tensor.stored.name, status);
      }
    }
    for (std::size_t s = 0; s < set_->shards().size(); ++s) {
      const std::string digest = DigestHex(set_->shards()[s].file.file_bytes());
      for (auto& [r, file] : files_) {
        if (absl::Status status = file.writer->SetSourceDigest(s, digest); !status.ok()) {
          return status;
        }
      }
    }
    if (absl::Status status = set_->CheckUnchanged(); !status.ok()) return status;
    return Finish();
  }

  absl::Status Begin(std::size_t r, OutputFile* file) {
    if (absl::Status status = made_.Make(fs::path(file->path).parent_path()); !status.ok()) {
      return status;
    }
    const SafetensorsFile& source = set_->shards()[file->shard].file;
    PreparedWriter::About about;
    about.target = std::string(TargetName(request_.options.target));
    about.recipe = recipe_.name;
    // All of them, in every file: a file that is missing is missed.
    for (const TensorSet::Shard& shard : set_->shards()) {
      about.sources.push_back({shard.name, shard.file.file_size(), ""});
    }
    about.more = source.metadata();
    const auto header = source.file_bytes().subspan(8, source.data_begin() - 8);
    about.more[std::string(kSourceHeaderKey)].assign(header.begin(), header.end());
    about.more[std::string(kRecipeTextKey)] = recipe_.json;
    PreparationOptions options = request_.options;
    options.rank = report_.ranks[r].rank;
    about.more[std::string(kOptionsKey)] = OptionsJson(options, request_.lossless);
    std::vector<PreparedTensorPlan> tensors;
    for (const OutputTensor* output : file->outputs) tensors.push_back(output->tensor);
    for (const OutputTensor& extra : file->extras) tensors.push_back(extra.tensor);
    for (const PreparedTensorPlan& tensor : tensors) {
      total_bytes_ += ByteCount(tensor.stored.dtype, tensor.stored.shape).value_or(0);
    }
    absl::StatusOr<PreparedWriter> writer =
        PreparedWriter::Create(file->path, about, std::move(tensors));
    if (!writer.ok()) return writer.status();
    file->writer = std::make_unique<PreparedWriter>(*std::move(writer));
    return absl::OkStatus();
  }

  absl::Status WriteBytes(OutputFile* file, std::size_t tensor, std::int64_t offset,
                          std::span<const std::uint8_t> bytes, PreparedRank* rank) {
    absl::Status status = file->writer->Write(tensor, offset, bytes);
    rank->bytes += std::ssize(bytes);
    done_bytes_ += std::ssize(bytes);
    if (progress_) progress_(done_bytes_, total_bytes_);
    return status;
  }

  absl::Status WriteWhole(OutputFile* file, std::size_t tensor, std::span<const std::uint8_t> bytes,
                          PreparedRank* rank) {
    const std::size_t piece = static_cast<std::size_t>(request_.buffer_bytes);
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      absl::Status status = WriteBytes(file, tensor, static_cast<std::int64_t>(at),
                                       bytes.subspan(at, std::min(piece, bytes.size() - at)), rank);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RewriteCounts> WritePlan(const TensorPlan& plan, const Sources& sources,
                                          OutputFile* file, std::size_t tensor,
                                          PreparedRank* rank) {
    RewriteCounts counts;
    if (plan.bytes() == 0) return counts;
    const std::int64_t lead_bytes = plan.packer.lead_bytes();
    const std::int64_t leads = plan.packer.leads();
    const std::int64_t step =
        std::clamp<std::int64_t>(request_.buffer_bytes / lead_bytes, 1, leads);
    buffer_.resize(std::max<std::size_t>(buffer_.size(), step * lead_bytes));
    // The bytes go to the file at once: they had better stay in the cache.
    const RunOptions options = {request_.threads, PackOptions::Stores::kCached};
    for (std::int64_t lead = 0; lead < leads; lead += step) {
      const std::int64_t count = std::min(step, leads - lead);
      const std::span<std::uint8_t> memory(buffer_.data(), count * lead_bytes);
      const absl::StatusOr<RewriteCounts> run =
          RunPlanLeads(plan, sources, options, lead, count, memory);
      if (!run.ok()) return run.status();
      counts += *run;
      absl::Status status = WriteBytes(file, tensor, lead * lead_bytes, memory, rank);
      if (!status.ok()) return status;
    }
    return counts;
  }

  absl::Status WriteOutput(const OutputTensor& output, std::size_t tensor, OutputFile* file,
                           PreparedRank* rank) {
    const Sources sources = SourcesOf(output);
    if (output.verbatim) {
      const int source = output.plan.place == nullptr ? 0 : output.plan.place(0).source;
      return WriteWhole(file, tensor, sources[source], rank);
    }
    const absl::StatusOr<RewriteCounts> counts =
        WritePlan(output.plan, sources, file, tensor, rank);
    if (!counts.ok()) return counts.status();
    rank->negative_zeros += counts->negative_zeros;
    if (output.tensor.late.empty()) return absl::OkStatus();
    return file->writer->SetParam(tensor, kNegativeZerosParam, counts->negative_zeros);
  }

  absl::Status WriteExtra(std::size_t i, OutputFile* file, PreparedRank* rank) {
    const std::size_t tensor = file->outputs.size() + i;
    const OutputTensor& extra = file->extras[i];
    if (extra.plan.place == nullptr) return WriteWhole(file, tensor, file->extra_bytes[i], rank);
    return WritePlan(extra.plan, SourcesOf(extra), file, tensor, rank).status();
  }

  absl::Status Finish() {
    std::error_code error;
    for (const auto& [r, file] : files_) {
      if (!request_.overwrite && fs::exists(file.path, error)) {
        return absl::AlreadyExistsError(absl::StrCat(file.path, " has appeared meanwhile"));
      }
    }
    for (auto& [r, file] : files_) {
      if (absl::Status status = file.writer->Finish(); !status.ok()) return status;
    }
    if (OneFile() || set_->index_name().empty()) return absl::OkStatus();
    for (std::size_t r = 0; r < report_.ranks.size(); ++r) {
      SafetensorsIndex index;
      index.total_size = report_.ranks[r].bytes;
      for (const auto& [owner, file] : files_) {
        if (owner != r) continue;
        for (const OutputTensor* output : file.outputs) {
          index.weight_map[output->tensor.stored.name] = file.name;
        }
        for (const OutputTensor& extra : file.extras) {
          index.weight_map[extra.tensor.stored.name] = file.name;
        }
      }
      const fs::path path = fs::path(report_.ranks[r].out) / set_->index_name();
      if (absl::Status status = WriteSafetensorsIndex(path.string(), index); !status.ok()) {
        return status;
      }
    }
    return absl::OkStatus();
  }

  const PrepareRequest& request_;
  const Progress& progress_;
  PrepareReport report_;
  std::unique_ptr<TensorSet> set_;
  std::vector<TensorSpec> specs_;
  Recipe recipe_;
  MadeDirectories made_;
  std::vector<std::pair<std::size_t, OutputFile>>
      files_;  // with the index of its rank in the report
  std::vector<std::uint8_t> buffer_;
  std::int64_t total_bytes_ = 0;
  std::int64_t done_bytes_ = 0;
};

}  // namespace

absl::StatusOr<PrepareReport> PrepareCheckpoint(const PrepareRequest& request,
                                                const Progress& progress) {
  return Preparer(request, progress).Run();
}

std::string RankDirectory(std::string_view out, int rank, int ranks) {
  if (ranks == 1) return std::string(out);
  return (fs::path(out) / absl::StrCat("rank-", rank)).string();
}

std::string ZeroSignsName(std::string_view tensor) {
  return absl::StrCat("lanewise.zero_signs/", AbslView(tensor));
}

std::string OriginalName(std::string_view tensor) {
  return absl::StrCat("lanewise.original/", AbslView(tensor));
}

std::string EmptyFileName(std::string_view file) {
  return absl::StrCat("lanewise.empty/", AbslView(file));
}

std::string OptionsJson(const PreparationOptions& options, bool lossless) {
  return nlohmann::json{{"target", std::string(TargetName(options.target))},
                        {"ranks", options.ranks},
                        {"rank", options.rank},
                        {"pass_through", options.pass_through},
                        {"batch_invariant", options.batch_invariant},
                        {"lossless", lossless}}
      .dump();
}

absl::StatusOr<PreparationOptions> ParseOptions(std::string_view json, std::string_view origin) {
  const nlohmann::json parsed = nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  const auto refuse = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(AbslView(origin), ": ", AbslView(kOptionsKey),
                     " is not what prepare writes: ", AbslView(json)));
  };
  if (!parsed.is_object()) return refuse();
  for (const char* name : {"ranks", "rank"}) {
    if (!parsed.contains(name) || !parsed[name].is_number_integer()) return refuse();
  }
  for (const char* name : {"pass_through", "batch_invariant"}) {
    if (!parsed.contains(name) || !parsed[name].is_boolean()) return refuse();
  }
  if (!parsed.contains("target") || !parsed["target"].is_string()) return refuse();
  const absl::StatusOr<Target> target = TargetNamed(parsed["target"].get<std::string>());
  if (!target.ok()) return target.status();
  const std::int64_t ranks = parsed["ranks"].get<std::int64_t>();
  const std::int64_t rank = parsed["rank"].get<std::int64_t>();
  if (ranks < 1 || ranks > 1'000'000 || rank < 0 || rank >= ranks) return refuse();
  return PreparationOptions{*target, static_cast<int>(ranks), static_cast<int>(rank),
                            parsed["pass_through"].get<bool>(),
                            parsed["batch_invariant"].get<bool>()};
}

bool IsLossless(std::string_view options_json) {
  const nlohmann::json parsed =
      nlohmann::json::parse(options_json, nullptr, /*allow_exceptions=*/false);
  return parsed.is_object() && parsed.contains("lossless") && parsed["lossless"] == true;
}

}  // namespace lanewise
