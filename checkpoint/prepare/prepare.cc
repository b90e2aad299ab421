#include "checkpoint/prepare/prepare.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/atomic_file.h"
#include "checkpoint/files/json_text.h"
#include "checkpoint/files/made_directories.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepare/output_metadata.h"
#include "checkpoint/prepare/write_files.h"
#include "checkpoint/prepared.h"
#include "checkpoint/recipes/recipe_set.h"
#include "weights/linear_source.h"

namespace lanewise {
namespace {

namespace fs = std::filesystem;
using Fate = FileReport::Fate;

class Preparer {
 public:
  Preparer(const PrepareRequest& request, const Progress& progress)
      : request_(request), progress_(progress) {}

  absl::StatusOr<PrepareReport> Run() {
    absl::Status status = CheckRequest();
    if (status.ok()) status = OpenSource();
    if (status.ok()) status = ChooseRecipe();
    if (status.ok()) status = PlanRanks();
    if (!status.ok()) return status;
    files_ = PlanOutputFiles(plan_);
    status = CheckPlaces(
        plan_, files_, request_.in, request_.out,
        {request_.rules.overwrite, request_.rules.resume || request_.rules.shard.count > 1});
    if (status.ok()) status = Deal();
    if (status.ok() && !request_.dry_run) status = Write();
    if (status.ok() && !request_.dry_run) status = WriteIndexes();
    if (!status.ok()) return status;
    made_.Keep();
    for (RankPlan& rank : plan_.ranks) {
      report_.ranks[&rank - plan_.ranks.data()].preparation = std::move(rank.preparation);
    }
    return std::move(report_);
  }

 private:
  absl::Status CheckRequest() const {
    const auto& [rank, ranks] = std::pair(request_.rank, request_.options.ranks);
    if (rank && (*rank < 0 || *rank >= ranks)) {
      return absl::InvalidArgumentError(absl::StrCat("rank ", *rank, " of ", ranks, " ranks"));
    }
    return CheckShard(request_.rules.shard);
  }

  absl::Status OpenSource() {
    absl::StatusOr<TensorSet> set = TensorSet::Open(request_.in);
    if (!set.ok()) return set.status();
    set_ = std::make_unique<TensorSet>(*std::move(set));
    if (IsPrepared(*set_)) {
      return absl::FailedPreconditionError(
          absl::StrCat(request_.in, " is prepared already; restore gives its source back"));
    }
    // They go into the metadata.
    for (const TensorSet::Shard& shard : set_->shards()) {
      const absl::StatusOr<std::string> name = JsonString(shard.name);
      if (!name.ok()) {
        return absl::InvalidArgumentError(absl::StrCat("a file's name: ", name.status().message()));
      }
    }
    plan_.source = set_.get();
    plan_.options = request_.options;
    plan_.lossless = request_.lossless;
    specs_ = SpecsOf(*set_);
    report_.notes = set_->notes();
    report_.source_tensors = std::ssize(specs_);
    report_.source_bytes = set_->total_bytes();
    return absl::OkStatus();
  }

  absl::Status ChooseRecipe() {
    if (request_.recipe) {
      plan_.recipe = *request_.recipe;
      report_.why = absl::StrCat("recipe ", plan_.recipe.name, ", as asked for");
    } else {
      const absl::StatusOr<RecipeSet> recipes = RecipeSet::BuiltIn();
      if (!recipes.ok()) return recipes.status();
      const absl::StatusOr<RecipeSet::Choice> choice = recipes->Choose(specs_);
      if (!choice.ok()) return choice.status();
      plan_.recipe = *choice->recipe;
      report_.why = choice->why;
    }
    report_.recipe = plan_.recipe.name;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> RowCodesFoldOf(const MatchedWeight& weight) const {
    const TensorSet::Tensor& scale = *set_->Find(weight.parts[0].scale);
    const std::span<const std::uint8_t> codes = set_->Bytes(scale);
    const bool fold = RowCodesFold(codes, weight.n, weight.k / 32);
    ReleasePages(set_->shards()[scale.shard].file.file_bytes(), codes);
    return fold;
  }

  // Packed experts whose names no rule knows would be copied without a word.
  void NoteStrangeExperts(const RecipeMatch& match) {
    std::set<std::string> known;
    for (const MatchedWeight& weight : match.weights) {
      for (const WeightPart& part : weight.parts) known.insert({part.weight, part.scale});
    }
    std::int64_t strange = 0;
    const TensorSpec* first = nullptr;
    for (const TensorSpec& tensor : specs_) {
      const bool packed = tensor.dtype == DType::kU8 || tensor.dtype == DType::kI8;
      if (!packed || tensor.shape.size() < 2 || known.count(tensor.name) > 0 ||
          tensor.name.find("expert") == std::string::npos) {
        continue;
      }
      if (strange++ == 0) first = &tensor;
    }
    if (first == nullptr || plan_.recipe.name == "none") return;
    report_.notes.push_back(
        absl::StrCat(strange, strange == 1 ? " tensor" : " tensors", " of packed bytes, such as ",
                     first->name, ", may be quantized experts, but recipe ", plan_.recipe.name,
                     " has no rule for the name: copied as they are"));
  }

  absl::Status PlanRanks() {
    const RecipeMatch match = MatchRecipe(plan_.recipe, specs_);
    if (match.weights.empty() && match.refused.empty() && plan_.recipe.name != "none") {
      report_.notes.push_back(absl::StrCat("recipe ", plan_.recipe.name,
                                           " matches no tensor here: all of them are copied"));
    }
    NoteStrangeExperts(match);
    for (int rank = 0; rank < request_.options.ranks; ++rank) {
      if (request_.rank && *request_.rank != rank) continue;
      PreparationOptions options = request_.options;
      options.rank = rank;
      absl::StatusOr<Preparation> preparation =
          PlanPreparation(match, specs_, options,
                          [this](const MatchedWeight& weight) { return RowCodesFoldOf(weight); });
      if (!preparation.ok()) return preparation.status();
      const std::string out = RankDirectory(request_.out, rank, request_.options.ranks);
      plan_.ranks.push_back({rank, out, *std::move(preparation)});
      report_.ranks.emplace_back();
      report_.ranks.back().rank = rank;
      report_.ranks.back().out = out;
    }
    return absl::OkStatus();
  }

  // Whose each file is, and which of ours are there already.
  absl::Status Deal() {
    std::vector<FileReport> planned;
    for (const OutputFile& file : files_) {
      planned.push_back({file.path, Fate::kWritten, file.bytes});
    }
    const JudgeFile judge = [this](std::size_t i, FileReport* report) {
      const ExistingFile existing = LookAtExisting(plan_, files_[i]);
      if (existing.problem.empty()) {
        report->bytes = existing.bytes;
        report_.ranks[files_[i].rank].negative_zeros += existing.negative_zeros;
      }
      return existing.problem;
    };
    absl::StatusOr<std::vector<FileReport>> dealt =
        DealOutputs(std::move(planned), request_.rules, judge);
    if (!dealt.ok()) return dealt.status();
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if ((*dealt)[i].fate == Fate::kWritten) to_write_.push_back(&files_[i]);
      report_.ranks[files_[i].rank].files.push_back(std::move((*dealt)[i]));
    }
    return absl::OkStatus();
  }

  absl::Status Write() {
    if (to_write_.empty()) return absl::OkStatus();
    for (const OutputFile* file : to_write_) {
      if (absl::Status status = made_.Make(fs::path(file->path).parent_path()); !status.ok()) {
        return status;
      }
    }
    WriteRequest write;
    write.threads = request_.threads;
    write.memory = request_.memory;
    write.cancel = request_.cancel;
    write.rules = request_.rules;
    std::vector<WrittenFile> written;
    const absl::Status status = WriteFiles(plan_, to_write_, write, progress_, &written);
    if (!status.ok()) {
      std::vector<std::string> named;
      for (std::size_t i = 0; i < written.size(); ++i) {
        if (written[i].named) named.push_back(to_write_[i]->path);
      }
      return AfterFailure(status, named, to_write_.size());
    }
    for (std::size_t i = 0; i < written.size(); ++i) {
      PreparedRank& rank = report_.ranks[to_write_[i]->rank];
      rank.bytes += written[i].bytes;
      rank.negative_zeros += written[i].negative_zeros;
      for (FileReport& file : rank.files) {
        if (file.path == to_write_[i]->path) file.bytes = written[i].bytes;
      }
    }
    return absl::OkStatus();
  }

  absl::Status WriteIndexes() const {
    if (!plan_.HasIndex()) return absl::OkStatus();
    for (std::size_t r = 0; r < plan_.ranks.size(); ++r) {
      const std::vector<FileReport>& files = report_.ranks[r].files;
      if (std::all_of(files.begin(), files.end(),
                      [](const FileReport& file) { return file.fate == Fate::kOthers; })) {
        continue;
      }
      const absl::StatusOr<std::string> text = IndexTextOf(plan_, files_, r);
      if (!text.ok()) return text.status();
      absl::Status status = WriteFileAtomically(IndexPathOf(plan_, r), *text);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const PrepareRequest& request_;
  const Progress& progress_;
  PrepareReport report_;
  std::unique_ptr<TensorSet> set_;
  std::vector<TensorSpec> specs_;
  JobPlan plan_;
  std::vector<OutputFile> files_;  // of all shards; they point into plan_
  std::vector<const OutputFile*> to_write_;
  MadeDirectories made_;
};

}  // namespace

absl::StatusOr<PrepareReport> PrepareCheckpoint(const PrepareRequest& request,
                                                const Progress& progress) {
  return Preparer(request, progress).Run();
}

}  // namespace lanewise
