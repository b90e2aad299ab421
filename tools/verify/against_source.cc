#include "tools/verify/against_source.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "checkpoint/files/digest_of_pages.h"
#include "checkpoint/files/mapped_file.h"
#include "checkpoint/prepare/kept_metadata.h"
#include "checkpoint/recipes/recipe.h"
#include "checkpoint/recipes/recipe_match.h"
#include "checkpoint/stream/memory_budget.h"
#include "tools/verify/difference.h"
#include "tools/verify/logical_weight.h"
#include "tools/verify/reference_outputs.h"
#include "weights/parallel.h"

namespace lanewise::tools {
namespace {

// Of a linear, that are computed again at a time: a dozen times as much is held for it.
constexpr std::int64_t kSliceBytes = std::int64_t{4} << 20;

class Comparison {
 public:
  Comparison(const PreparedCheckpoint& prepared, const TensorSet& source,
             const VerifyLimits& limits, VerifyReport* report)
      : prepared_(prepared), source_(source), limits_(limits), report_(*report) {}

  absl::Status Run(const Progress& progress) {
    if (absl::Status status = PlanAgain(); !status.ok()) return status;
    if (absl::Status status = Compare(progress); !status.ok()) return status;
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

  // Copies and weights, each on one thread, as many at once as find room in memory.
  absl::Status Compare(const Progress& progress) {
    const std::size_t before = report_.problems.size();
    std::int64_t done = 0, total = prepared_.set().total_bytes();
    const auto advance = [&](std::int64_t bytes) {
      const std::lock_guard<std::mutex> lock(mutex_);
      done += bytes;
      if (progress) progress(std::min(done, total), total);
    };
    std::vector<const OutputTensor*> copies;
    for (const auto& [name, output] : outputs_) {
      if (output->plan.place == nullptr) copies.push_back(output);
    }
    const std::vector<MatchedWeight>& weights = match_.weights;
    const std::int64_t tasks = std::ssize(copies) + std::ssize(weights);
    std::vector<std::int64_t> memory(static_cast<std::size_t>(tasks), 4 * kPageBlockBytes);
    std::int64_t least = 4 * kPageBlockBytes;
    std::string largest;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!IsPlanned(weights[i].name)) continue;
      std::int64_t& bytes = memory[copies.size() + i];
      bytes = ReferenceMemory(weights[i], source_, options_, kSliceBytes);
      if (bytes <= least) continue;
      least = bytes;
      largest = weights[i].name;
    }
    const int threads = ThreadCount(limits_.threads);
    const absl::StatusOr<MemoryShares> shares =
        ShareMemory(limits_.memory, 8 * kPageBlockBytes + limits_.left_over, least, largest);
    if (!shares.ok()) return shares.status();
    MemoryBudget budget(shares->pieces + shares->passed);
    std::atomic<std::int64_t> next = 0;
    ParallelFor(threads, threads, [&](std::int64_t, std::int64_t, int) {
      for (std::int64_t i = next++; i < tasks; i = next++) {
        if (limits_.cancel != nullptr && *limits_.cancel) return;
        const std::int64_t held = memory[static_cast<std::size_t>(i)];
        if (!budget.Take(held)) return;
        if (i < std::ssize(copies)) {
          CompareCopy(*copies[static_cast<std::size_t>(i)], advance);
        } else {
          CompareWeight(weights[static_cast<std::size_t>(i - std::ssize(copies))], advance);
        }
        budget.GiveBack(held);
      }
    });
    if (limits_.cancel != nullptr && *limits_.cancel) return absl::CancelledError("interrupted");
    if (progress) progress(total, total);  // also where something is missing
    // Whichever thread met them.
    std::sort(report_.problems.begin() + static_cast<std::ptrdiff_t>(before),
              report_.problems.end());
    return absl::OkStatus();
  }

  bool IsPlanned(const std::string& name) const {
    const auto found = outputs_.find(name);
    return found != outputs_.end() && found->second->plan.place != nullptr;
  }

  using Advance = std::function<void(std::int64_t bytes)>;

  void CompareCopy(const OutputTensor& output, const Advance& advance) {
    const TensorSet::Tensor& from = *source_.Find(output.sources[0]);
    ReferenceOutput expected = {output.tensor.stored.name,
                                layout_tag::kPlain,
                                from.info->dtype,
                                from.info->shape,
                                {},
                                0,
                                std::nullopt,
                                std::nullopt};
    Expected whole(expected, prepared_);
    const std::span<const std::uint8_t> bytes = source_.Bytes(from);
    for (std::int64_t at = 0; at < std::ssize(bytes); at += kPageBlockBytes) {
      const auto piece = bytes.subspan(at, std::min(kPageBlockBytes, std::ssize(bytes) - at));
      whole.AddBytes(piece);
      ReleasePages(source_.shards()[from.shard].file.file_bytes(), piece);
      advance(std::ssize(piece));
    }
    CompareOutput(whole);
  }

  // Stored bytes beside the expected ones, as these come.
  struct StoredDifference {
    StoredDifference(const PreparedCheckpoint& prepared, const std::string& name)
        : tensor(prepared.set().Find(name)),
          bytes(tensor == nullptr ? std::span<const std::uint8_t>()
                                  : prepared.set().Bytes(*tensor)),
          file(tensor == nullptr ? std::span<const std::uint8_t>()
                                 : prepared.set().shards()[tensor->shard].file.file_bytes()),
          difference(bytes) {}

    void Add(std::span<const std::uint8_t> expected) {
      const std::int64_t from = std::min(difference.compared(), std::ssize(bytes));
      difference.Add(expected);
      const std::int64_t to = std::min(difference.compared(), std::ssize(bytes));
      ReleasePages(file, bytes.subspan(from, to - from));
    }

    const TensorSet::Tensor* tensor;
    std::span<const std::uint8_t> bytes, file;
    Difference difference;
  };

  // An output that comes in pieces.
  struct Expected {
    Expected(const ReferenceOutput& first, const PreparedCheckpoint& prepared)
        : name(first.name),
          layout(first.layout),
          dtype(first.dtype),
          shape(first.shape),
          stored(prepared, first.name),
          signs(prepared, ZeroSignsName(first.name)),
          original(prepared, OriginalName(first.name)) {}

    void AddBytes(std::span<const std::uint8_t> more) { stored.Add(more); }

    void Add(const ReferenceOutput& piece) {
      AddBytes(piece.bytes);
      negative_zeros += piece.negative_zeros;
      if (piece.zero_signs) signs.Add(*piece.zero_signs);
      if (piece.original) original.Add(*piece.original);
      has_signs = has_signs || piece.zero_signs.has_value();
      has_original = has_original || piece.original.has_value();
    }

    std::string name;
    std::string_view layout;
    DType dtype;
    std::vector<std::int64_t> shape;
    std::int64_t negative_zeros = 0;
    bool has_signs = false, has_original = false;
    StoredDifference stored, signs, original;
  };

  void CompareWeight(const MatchedWeight& weight, const Advance& advance) {
    if (!IsPlanned(weight.name)) {
      // Its parts were compared as copies.
      if (!IsCopiedFor(weight, options_) && !options_.pass_through) {
        Problem(absl::StrCat(weight.name, " was copied, not prepared"));
      }
      return;
    }
    std::vector<std::unique_ptr<Expected>> outputs;
    const TakeOutputs take = [&](const std::vector<ReferenceOutput>& pieces) {
      for (const ReferenceOutput& piece : pieces) {
        const auto known = std::find_if(outputs.begin(), outputs.end(),
                                        [&](const auto& one) { return one->name == piece.name; });
        if (known == outputs.end()) {
          outputs.push_back(std::make_unique<Expected>(piece, prepared_));
          outputs.back()->Add(piece);
        } else {
          if (!piece.shape.empty()) (*known)->shape[0] += piece.shape[0];
          (*known)->Add(piece);
        }
        advance(std::ssize(piece.bytes));
      }
    };
    const absl::Status status = ReferenceOutputs(weight, source_, options_, kSliceBytes, take);
    if (!status.ok()) {
      Problem(absl::StrCat(weight.name, ": the reference refuses it: ", status.message()));
      return;
    }
    for (const std::unique_ptr<Expected>& output : outputs) {
      CompareOutput(*output);
      if (output->has_signs) CompareExtra(ZeroSignsName(output->name), output->signs);
      if (output->has_original) CompareExtra(OriginalName(output->name), output->original);
    }
  }

  void CompareOutput(const Expected& expected) {
    Explain(expected.name);
    const TensorSet::Tensor* stored = expected.stored.tensor;
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
    Problem(expected.stored.difference.Text(expected.name,
                                            has_layout ? &plan.packer.layout() : nullptr, axes));
  }

  static std::string JsonOf(const PreparedTensor& what) {
    return PreparedTensorJson(what).value_or("not UTF-8");
  }

  void CompareExtra(const std::string& name, const StoredDifference& stored) {
    if (!lossless_) return;
    Explain(name);
    if (stored.tensor == nullptr) return Problem(absl::StrCat(name, " is missing"));
    Problem(stored.difference.Text(name, nullptr, {}));
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
      if (const std::string digest = DigestOfPages(shard.file.file_bytes()); digest != of->xxh3) {
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
  const VerifyLimits& limits_;
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

absl::Status VerifyAgainst(const PreparedCheckpoint& prepared, const TensorSet& source,
                           const VerifyLimits& limits, const Progress& progress,
                           VerifyReport* report) {
  return Comparison(prepared, source, limits, report).Run(progress);
}

}  // namespace lanewise::tools
