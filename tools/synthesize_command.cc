#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/option_values.h"
#include "checkpoint/safetensors/dtype.h"
#include "checkpoint/synthesize/synthesize.h"
#include "checkpoint/synthesize/synthesize_model.h"
#include "tools/command.h"
#include "tools/console.h"
#include "tools/options.h"

namespace lanewise::tools {
namespace {

struct Options {
  std::string model, out;
  std::optional<std::int64_t> layers, experts;
  std::map<std::string, std::int64_t> sizes;
  std::uint64_t seed = 0;
  std::int64_t shard_bytes = 5'000'000'000;
  bool dry_run = false, overwrite = false;
  int threads = 0;
};

// A built-in model by name, or a file by its path.
absl::StatusOr<SyntheticModel> FindModel(const std::string& model) {
  if (model.find('/') != std::string::npos || model.ends_with(".json")) {
    return SyntheticModel::FromFile(UserPath(model));
  }
  absl::StatusOr<std::vector<SyntheticModel>> built_in = SyntheticModel::BuiltIn();
  if (!built_in.ok()) return built_in.status();
  std::string names;
  for (SyntheticModel& one : *built_in) {
    if (one.name() == model) return std::move(one);
    absl::StrAppend(&names, "\n  ", one.name(), ": ", one.about());
  }
  return absl::NotFoundError(absl::StrCat("there is no model '", model, "'; there are", names));
}

void PrintPlan(const std::vector<SynthesizedFile>& files,
               const std::vector<SyntheticTensor>& tensors) {
  struct Sum {
    std::int64_t tensors = 0, bytes = 0;
  };
  std::map<std::string, Sum> by_dtype;
  for (const SyntheticTensor& tensor : tensors) {
    Sum& sum = by_dtype[std::string(DTypeName(tensor.spec.dtype))];
    ++sum.tensors;
    sum.bytes += ByteCount(tensor.spec.dtype, tensor.spec.shape).value_or(0);
  }
  for (const auto& [dtype, sum] : by_dtype) {
    PrintLine(
        absl::StrFormat("  %-10s %8d tensors  %12s", dtype, sum.tensors, SizeText(sum.bytes)));
  }
  for (const SynthesizedFile& file : files) {
    PrintLine(
        absl::StrFormat("  %s %8d tensors  %12s", file.name, file.tensors, SizeText(file.bytes)));
  }
}

absl::Status Synthesize(const Options& options) {
  const absl::StatusOr<SyntheticModel> model = FindModel(options.model);
  if (!model.ok()) return model.status();
  absl::StatusOr<std::vector<SyntheticTensor>> tensors =
      model->Tensors({options.layers, options.experts, options.sizes});
  if (!tensors.ok()) return tensors.status();
  SynthesizeRequest request;
  request.out = UserPath(options.out);
  request.tensors = *std::move(tensors);
  request.metadata = model->metadata();
  request.seed = options.seed;
  request.shard_bytes = options.shard_bytes;
  request.threads = options.threads;
  request.overwrite = options.overwrite;
  request.cancel = Interrupted();
  const absl::StatusOr<std::vector<SynthesizedFile>> files =
      options.dry_run ? PlanSynthesis(request)
                      : SynthesizeCheckpoint(request, ProgressBar("synthesize"));
  if (!files.ok()) return files.status();
  if (options.dry_run) PrintPlan(*files, request.tensors);
  std::int64_t bytes = 0;
  for (const SynthesizedFile& file : *files) bytes += file.bytes;
  PrintLine(absl::StrCat(options.dry_run ? "would write " : "", request.out, ": ",
                         CountText(std::ssize(request.tensors), "tensor"), " in ",
                         CountText(std::ssize(*files), "file"), ", ", SizeText(bytes), "; seed ",
                         options.seed, "; random weights of ", model->about()));
  return absl::OkStatus();
}

// "NAME=N" into the sizes; says what is wrong with it, or "".
std::string AddNamedSize(const std::string& text, std::map<std::string, std::int64_t>& sizes) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return absl::StrCat("'", text, "': expected NAME=N, such as hidden=512");
  }
  std::string number = text.substr(equals + 1);
  if (const std::string mistake = WholeNumber(1)(number); !mistake.empty()) {
    return absl::StrCat("'", text, "', ", mistake);
  }
  if (!sizes.emplace(text.substr(0, equals), std::stoll(number)).second) {
    return absl::StrCat("'", text, "': this size is given twice");
  }
  return "";
}

}  // namespace

Action AddSynthesize(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("OUT", options->out, "A directory for the checkpoint's files and its index")
      ->required()
      ->check(NotEmpty());
  app.add_option("--model", options->model,
                 "deepseek-v4.1-flash, deepseek-v4-flash, deepseek-v4-pro, gpt-oss-20b, "
                 "gpt-oss-120b, minimax-m3, or a JSON file (docs/synthesize.md)")
      ->type_name("MODEL")
      ->required()
      ->check(NotEmpty());
  app.add_option("--layers", options->layers,
                 "At most so many layers of each kind. Default all that the model has")
      ->type_name("N")
      ->check(WholeNumber(1));
  app.add_option("--experts", options->experts,
                 "At most so many experts a layer. Default all that the model has")
      ->type_name("N")
      ->check(WholeNumber(1));
  app.add_option_function<std::vector<std::string>>(
         "--size",
         [options](const std::vector<std::string>& texts) {
           options->sizes.clear();
           for (const std::string& text : texts) {
             if (const std::string mistake = AddNamedSize(text, options->sizes); !mistake.empty()) {
               throw CLI::ValidationError("--size", mistake);
             }
           }
         },
         "Another value for a size of the model's table, such as hidden=512; may be given several "
         "times")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  app.add_option("--seed", options->seed,
                 "Equal seeds give equal bytes, whatever the threads, files and layers. Default 0")
      ->type_name("N")
      ->check(Seed());
  AddSize(app, "--shard-size", &options->shard_bytes, /*decimal=*/true,
          "The most bytes of tensors in a file, such as 500MB or 1.5GiB (KB, MB, GB are of 1000). "
          "Default 5GB");
  app.add_flag("--dry-run", options->dry_run, "Show the sizes, and write nothing");
  app.add_flag("--overwrite", options->overwrite, "Replace files that are at OUT already");
  AddThreads(app, &options->threads);
  return [options] { return Synthesize(*options); };
}

}  // namespace lanewise::tools
