#include "tools/verify/against_source.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/digest.h"
#include "checkpoint/kept_metadata.h"
#include "checkpoint/recipe.h"
#include "checkpoint/recipe_match.h"
#include "tools/verify/difference.h"
#include "tools/verify/logical_weight.h"
#include "tools/verify/reference_outputs.h"
#include "weights/parallel.h"

namespace lanewise::tools {
namespace {

class Comparison {
 public:
  Comparison(const PreparedCheckpoint& prepared, const TensorSet& source, VerifyReport* report)
      : prepared_(prepared), source_(source), report_(*report) {}

  absl::Status Run(int threads, const Progress& progress) {
    if (absl::Status status = PlanAgain(); !status.ok()) return status;
    Compare(threads, progress);
    CheckCensus();
    CheckSources();
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<std::string> Kept(const TensorSet::Shard& shard, std::string_view key) const {
    const auto& metadata = shard.file.metadata();
    const auto found = metadata.find(std::string(key));
    if (found != metadata.end()) return found->second;
    return absl::FailedPreconditionError(absl::StrCat(shard.file.path(), " has no ", AbslView(key),
                                                      ": it was not written by lanewise prepare"));
  }

  absl::Status PlanAgain() {
    const TensorSet::Shard& first = prepared_.set().shards()[0];
    const absl::StatusOr<std::string> recipe_text = Kept(first, kRecipeTextKey);
    if (!recipe_text.ok()) return recipe_text.status();
    const absl::StatusOr<std::string> options_text = Kept(first, kOptionsKey);
    if (!options_text.ok()) return options_text.status();
    const absl::StatusOr<Recipe> recipe = Recipe::Parse(*recipe_text, first.file.path());
    if (!recipe.ok()) return recipe.status();
    const absl::StatusOr<PreparationOptions> options =
        ParseOptions(*options_text, first.file.path());
    if (!options.ok()) return options.status();
    options_ = *options;
    lossless_ = IsLossless(*options_text);
    const std::vector<TensorSpec> specs = SpecsOf(source_);
    match_ = MatchRecipe(*recipe, specs);
    absl::StatusOr<Preparation> preparation = PlanPreparation(
        match_, specs, options_,
        [this](const MatchedWeight& weight) { return CodesAreBlocks(weight, source_); });
    if (!preparation.ok()) return preparation.status();
    preparation_ = *std::move(preparation);
    for (const OutputTensor& output : preparation_.outputs) {
      outputs_[output.tensor.stored.name] = &output;
    }
    return absl::OkStatus();
  }

  void Problem(std::string text) {
    if (text.empty()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    report_.problems.push_back(std::move(text));
  }

  // Copies first, then weight by weight, each on one thread: its memory is several times its size.
  void Compare(int threads, const Progress& progress) {
    const std::size_t before = report_.problems.size();
    std::int64_t done = 0, total = prepared_.set().total_bytes();
    const auto advance = [&](std::int64_t bytes) {
      const std::lock_guard<std::mutex> lock(mutex_);
      done += bytes;
      if (progress) progress(std::min(done, total), total);
    };
    for (const auto& [name, output] : outputs_) {
      if (output->plan.place != nullptr) continue;
      const TensorSet::Tensor& from = *source_.Find(output->sources[0]);
      ReferenceOutput expected = {name, layout_tag::kPlain, from.info->dtype, from.info->shape, {},
                                  0,    std::nullopt,       std::nullopt};
      CompareOutput(expected, source_.Bytes(from));
      advance(from.info->byte_count());
    }
    const std::vector<MatchedWeight>& weights = match_.weights;
    ParallelFor(std::ssize(weights), threads, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) advance(CompareWeight(weights[i]));
    });
    if (progress) progress(total, total);  // also where something is missing
    // Whichever thread met them.
    std::sort(report_.problems.begin() + static_cast<std::ptrdiff_t>(before),
              report_.problems.end());
  }

  bool IsPlanned(const std::string& name) const {
    const auto found = outputs_.find(name);
    return found != outputs_.end() && found->second->plan.place != nullptr;
  }

  std::int64_t CompareWeight(const MatchedWeight& weight) {
    if (!IsPlanned(weight.name)) {
      // Its parts were compared as copies.
      if (!IsCopiedFor(weight, options_) && !options_.pass_through) {
        Problem(absl::StrCat(weight.name, " was copied, not prepared"));
      }
      return 0;
    }
    const absl::StatusOr<std::vector<ReferenceOutput>> outputs =
        ReferenceOutputs(weight, source_, options_);
    if (!outputs.ok()) {
      Problem(
          absl::StrCat(weight.name, ": the reference refuses it: ", outputs.status().message()));
      return 0;
    }
    std::int64_t bytes = 0;
    for (const ReferenceOutput& output : *outputs) {
      CompareOutput(output, output.bytes);
      CompareExtra(ZeroSignsName(output.name), output.zero_signs);
      CompareExtra(OriginalName(output.name), output.original);
      bytes += std::ssize(output.bytes);
    }
    return bytes;
  }

  void CompareOutput(const ReferenceOutput& expected, std::span<const std::uint8_t> bytes) {
    Explain(expected.name);
    const TensorSet::Tensor* stored = prepared_.set().Find(expected.name);
    if (stored == nullptr) return Problem(absl::StrCat(expected.name, " is missing"));
    const auto planned = outputs_.find(expected.name);
    if (planned == outputs_.end()) {
      return Problem(absl::StrCat(expected.name, " is not what the plan makes of its sources"));
    }
    PreparedTensor what = planned->second->tensor.what;
    const PreparedTensor& found = *prepared_.Describe(expected.name);
    what.xxh3 = found.xxh3;
    for (const std::string& late : planned->second->tensor.late) {
      what.params[late] = expected.negative_zeros;
    }
    if (found.layout != expected.layout) {
      return Problem(absl::StrCat(expected.name, " has the layout ", found.layout, ", expected ",
                                  AbslView(expected.layout)));
    }
    if (stored->info->dtype != expected.dtype || stored->info->shape != expected.shape) {
      return Problem(absl::StrCat(expected.name, " is stored with another dtype or shape"));
    }
    if (!(found == what)) {
      Problem(absl::StrCat(expected.name, ": its description is ", JsonOf(found), ", expected ",
                           JsonOf(what)));
    }
    const TensorPlan& plan = planned->second->plan;
    const bool has_layout = plan.place != nullptr;
    std::vector<std::string> axes;
    for (int i = 0; has_layout && i < plan.layout.main.axes; ++i) {
      axes.emplace_back(plan.layout.main.axis_name[i].view());
    }
    Problem(DifferenceText(expected.name, bytes, prepared_.set().Bytes(*stored),
                           has_layout ? &plan.packer.layout() : nullptr, axes));
  }

  static std::string JsonOf(const PreparedTensor& what) {
    return PreparedTensorJson(what).value_or("not UTF-8");
  }

  void CompareExtra(const std::string& name,
                    const std::optional<std::vector<std::uint8_t>>& bytes) {
    if (!bytes || !lossless_) return;
    Explain(name);
    const TensorSet::Tensor* stored = prepared_.set().Find(name);
    if (stored == nullptr) return Problem(absl::StrCat(name, " is missing"));
    Problem(DifferenceText(name, *bytes, prepared_.set().Bytes(*stored), nullptr, {}));
  }

  void Explain(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mutex_);
    explained_.insert(name);
  }

  // Nothing lost, nothing added.
  void CheckCensus() {
    for (const TensorSet::Shard& shard : prepared_.set().shards()) {
      Explain(EmptyFileName(shard.name));
    }
    std::set<std::string, std::less<>> accounted;
    for (const TensorSet::Tensor& tensor : prepared_.set().tensors()) {
      if (explained_.count(tensor.name()) == 0) {
        Problem(absl::StrCat(tensor.name(), " is in the prepared checkpoint, and nothing in ",
                             source_.directory(), " explains it"));
      }
      const PreparedTensor& what = *prepared_.Describe(tensor.name());
      accounted.insert(what.from.begin(), what.from.end());
    }
    for (const TensorSet::Tensor& tensor : source_.tensors()) {
      if (accounted.count(tensor.name()) == 0) {
        Problem(absl::StrCat(tensor.name(), " of the source is in no prepared tensor"));
      }
    }
  }

  // That the source is the one that was prepared, also where no prepared byte tells.
  void CheckSources() {
    std::map<std::string, const PreparedSource*> kept;
    for (const PreparedSource& source : prepared_.sources()) kept[source.file] = &source;
    // One prepared file of several knows the others' names, not their digests.
    std::set<std::string> names;
    for (const SourceFileName& file :
         SourceFilesOf(prepared_).value_or(std::vector<SourceFileName>())) {
      names.insert(file.file);
    }
    for (const TensorSet::Shard& shard : source_.shards()) {
      const auto found = kept.find(shard.name);
      // One file may have been renamed.
      const PreparedSource* of = found != kept.end() ? found->second
                                 : prepared_.sources().size() == 1 && source_.shards().size() == 1
                                     ? &prepared_.sources()[0]
                                     : nullptr;
      if (of == nullptr) {
        if (names.erase(shard.name) > 0) continue;
        Problem(absl::StrCat(shard.name, " is none of the files that were prepared"));
        continue;
      }
      if (const std::string digest = DigestHex(shard.file.file_bytes()); digest != of->xxh3) {
        Problem(absl::StrCat(shard.name, " is not the file that was prepared: its digest is ",
                             digest, ", that one's was ", of->xxh3));
      }
      names.erase(of->file);
    }
    for (const std::string& file : names) {
      Problem(absl::StrCat(file, " was prepared, but is not in ", source_.directory()));
    }
  }

  const PreparedCheckpoint& prepared_;
  const TensorSet& source_;
  VerifyReport& report_;
  PreparationOptions options_;
  bool lossless_ = false;
  RecipeMatch match_;
  Preparation preparation_;
  std::map<std::string, const OutputTensor*> outputs_;
  std::set<std::string, std::less<>> explained_;
  std::mutex mutex_;
};

}  // namespace

absl::Status VerifyAgainst(const PreparedCheckpoint& prepared, const TensorSet& source, int threads,
                           const Progress& progress, VerifyReport* report) {
  return Comparison(prepared, source, report).Run(threads, progress);
}

}  // namespace lanewise::tools
