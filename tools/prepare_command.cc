#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/option_values.h"
#include "base/text.h"
#include "checkpoint/prepare/prepare.h"
#include "checkpoint/recipes/recipe_set.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/json_report.h"
#include "tools/options.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string in, out, target, recipe;
  int ranks = 1;
  std::optional<int> rank;
  bool dry_run = false, lossless = false, pass_through = false;
  bool batch_invariant = false, json = false;
  OutputRules rules;
  std::int64_t memory = kDefaultMemory;
  int threads = 0;
};

// A built-in recipe by name, or a file by its path.
absl::StatusOr<Recipe> FindRecipe(const std::string& recipe) {
  if (recipe.find('/') != std::string::npos || recipe.ends_with(".json")) {
    return Recipe::FromFile(UserPath(recipe));
  }
  const absl::StatusOr<RecipeSet> built_in = RecipeSet::BuiltIn();
  if (!built_in.ok()) return built_in.status();
  const absl::StatusOr<const Recipe*> found = built_in->Find(recipe);
  if (!found.ok()) return found.status();
  return **found;
}

void PrintOutputs(const PreparedRank& rank) {
  for (const OutputTensor& output : rank.preparation.outputs) {
    if (output.verbatim) continue;
    std::string shape;
    for (const std::int64_t extent : output.tensor.what.shape) {
      absl::StrAppend(&shape, shape.empty() ? "" : ", ", extent);
    }
    PrintLine(absl::StrFormat("  %-28s %-14s %-18s %s", output.tensor.what.layout,
                              AbslView(DTypeName(output.tensor.what.dtype)),
                              absl::StrCat("[", shape, "]"), output.tensor.stored.name));
  }
}

void Print(const PrepareReport& report, const Options& options) {
  PrintLine(report.why);
  for (const PreparedRank& rank : report.ranks) {
    if (options.dry_run) {
      PrintOutputs(rank);
      PrintLine(
          "planned by shapes; NaN bytes, scale codes and bf16 values are looked at when written");
    }
    const Preparation& done = rank.preparation;
    std::string line = absl::StrCat(options.dry_run ? "would write " : "", rank.out, ": ",
                                    CountText(report.source_tensors, "source tensor"), " = ",
                                    done.prepared, " prepared + ", done.copied, " copied");
    if (done.passed > 0) absl::StrAppend(&line, " + ", done.passed, " passed through unprepared");
    absl::StrAppend(&line, "; ", CountText(std::ssize(done.outputs), "tensor"), " out");
    if (!options.dry_run) {
      absl::StrAppend(&line, ", ", SizeText(rank.bytes), FatesText(rank.files));
      if (rank.negative_zeros > 0) {
        absl::StrAppend(&line, "; ", CountText(rank.negative_zeros, "element"), " -0 became +0",
                        options.lossless ? ", the signs are stored" : "");
      }
    }
    PrintLine(line);
  }
}

void Fill(const PrepareReport& report, const Options& options, JsonReport* json) {
  using Fate = FileReport::Fate;
  (*json)["target"] = options.target;
  (*json)["dry_run"] = options.dry_run;
  (*json)["recipe"] = report.recipe;
  (*json)["notes"] = report.notes;
  (*json)["source_tensors"] = report.source_tensors;
  (*json)["source_bytes"] = report.source_bytes;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const PreparedRank& rank : report.ranks) {
    nlohmann::ordered_json files = nlohmann::ordered_json::array();
    for (const FileReport& file : rank.files) {
      const bool planned = file.fate == Fate::kWritten && options.dry_run;
      const std::string fate(planned ? "planned" : FateName(file.fate));
      files.push_back({{"path", file.path}, {"fate", fate}, {"bytes", file.bytes}});
    }
    ranks.push_back({{"rank", rank.rank},
                     {"out", rank.out},
                     {"sources_prepared", rank.preparation.prepared},
                     {"sources_copied", rank.preparation.copied},
                     {"sources_passed_through", rank.preparation.passed},
                     {"tensors", rank.preparation.outputs.size()},
                     {"bytes_written", rank.bytes},
                     {"negative_zeros", rank.negative_zeros},
                     {"files", std::move(files)}});
  }
  (*json)["ranks"] = std::move(ranks);
}

absl::Status Prepare(const Options& options, JsonReport* json) {
  PrepareRequest request;
  request.in = UserPath(options.in);
  request.out = UserPath(options.out);
  const absl::StatusOr<Target> target = TargetNamed(options.target);
  if (!target.ok()) return target.status();
  request.options.target = *target;
  request.options.ranks = options.ranks;
  request.options.pass_through = options.pass_through;
  request.options.batch_invariant = options.batch_invariant;
  request.rank = options.rank;
  request.lossless = options.lossless;
  request.rules = options.rules;
  request.dry_run = options.dry_run;
  request.threads = options.threads;
  request.memory = options.memory;
  request.cancel = Interrupted();
  if (!options.recipe.empty()) {
    absl::StatusOr<Recipe> recipe = FindRecipe(options.recipe);
    if (!recipe.ok()) return recipe.status();
    request.recipe = *std::move(recipe);
  }
  const absl::StatusOr<PrepareReport> report = PrepareCheckpoint(request, ProgressBar("prepare"));
  if (!report.ok()) return report.status();
  for (const std::string& note : report->notes) PrintNote("lanewise prepare", note);
  if (json->wanted()) {
    Fill(*report, options, json);
  } else {
    Print(*report, options);
  }
  return absl::OkStatus();
}

}  // namespace

Action AddPrepare(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("IN", options->in,
                 "A safetensors file, a *.safetensors.index.json, or a directory of a checkpoint")
      ->required()
      ->check(NotEmpty());
  app.add_option("OUT", options->out, "A file if IN is a file (and --tp is 1), else a directory")
      ->required()
      ->check(NotEmpty());
  app.add_option("--target", options->target, "gfx942, gfx950 or flashmla")
      ->type_name("TARGET")
      ->required()
      ->check(OneOf({"gfx942", "gfx950", "flashmla"}));
  app.add_option(
      "--recipe", options->recipe,
      "A built-in recipe or a JSON file (docs/recipes.md); by default chosen by looking at the "
      "tensors' names, and said aloud");
  app.add_option("--tp", options->ranks,
                 "Tensor-parallel ranks, 1 to 4096: each is prepared into OUT/rank-R, because "
                 "prepared bytes cannot be sliced later. Default 1: no ranks, OUT itself")
      ->type_name("N")
      ->check(WholeNumber(1, 4096));
  app.add_option("--rank", options->rank, "Of --tp ranks only this one, from 0 to N - 1")
      ->type_name("R")
      ->check(WholeNumber(0, 4095));
  app.add_flag("--dry-run", options->dry_run, "Show what would be written, and write nothing");
  app.add_flag(
      "--lossless", options->lossless,
      "Also store what a layout discards (signs of zeros, dequantized originals), so that restore "
      "is byte for byte");
  app.add_flag(
      "--pass-through", options->pass_through,
      "Copy weights that the target has no preparation for, instead of refusing the checkpoint");
  app.add_flag("--batch-invariant", options->batch_invariant,
               "gfx950: keep row codes, whose GEMM's order of sums does not depend on the batch");
  AddRules(app, &options->rules);
  AddMemory(app, &options->memory);
  AddThreads(app, &options->threads);
  AddJson(app, &options->json);
  app.callback([options] {
    if (options->batch_invariant && options->target != "gfx950") {
      throw CLI::ValidationError(
          "--batch-invariant",
          absl::StrCat("chooses among gfx950's layouts, and the target is ", options->target));
    }
    if (options->rank && *options->rank >= options->ranks) {
      throw CLI::ValidationError(
          "--rank", absl::StrCat("'", *options->rank, "': expected from 0 to ", options->ranks - 1,
                                 ", of --tp ", options->ranks));
    }
  });
  return [options] {
    JsonReport json("prepare", options->json);
    return json.End(Prepare(*options, &json));
  };
}

}  // namespace lanewise::tools
