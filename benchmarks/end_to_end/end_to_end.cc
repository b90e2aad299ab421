// bazel run //benchmarks:end_to_end -- --model gpt-oss-20b --layers 2
//
// Copies a checkpoint with cp, copies it with dd and fsync, prepares it, verifies and restores what
// was prepared (or quantizes it and dequantizes that), each as a whole process, all of them in turn
// in every repetition, and prints rates and their ratios to the copies.

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status.h"
#include "benchmarks/end_to_end/process.h"
#include "benchmarks/end_to_end/report.h"
#include "benchmarks/processor.h"

namespace lanewise::benchmarks {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string checkpoint, model = "gpt-oss-20b", target = "gfx942", directory, lanewise, json;
  std::vector<std::string> synthesize, prepare, quantize;
  int layers = 1, repetitions = 5;
  bool cold = false, lossless = false;
};

std::string UserPath(const std::string& path) {
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  return caller == nullptr || path.empty() ? path : (fs::path(caller) / path).string();
}

std::vector<std::string> FilesIn(const fs::path& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  return files;
}

// Removed with all that is in it.
class WorkDirectory {
 public:
  explicit WorkDirectory(const fs::path& parent)
      : path_(parent / absl::StrCat("lanewise-end-to-end-", getpid())) {
    fs::create_directories(path_);
  }
  WorkDirectory(const WorkDirectory&) = delete;
  WorkDirectory& operator=(const WorkDirectory&) = delete;
  ~WorkDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

class EndToEnd {
 public:
  EndToEnd(const Options& options, const WorkDirectory& work)
      : options_(options),
        work_(work),
        source_(options.checkpoint.empty() ? work / "source"
                                           : fs::path(UserPath(options.checkpoint))) {}

  absl::StatusOr<Measured> Run() {
    if (options_.checkpoint.empty()) {
      std::vector<std::string> command = {options_.lanewise, "synthesize",
                                          "--model",         options_.model,
                                          "--layers",        absl::StrCat(options_.layers),
                                          source_.string()};
      command.insert(command.end(), options_.synthesize.begin(), options_.synthesize.end());
      std::fprintf(stderr, "making %s\n", options_.model.c_str());
      if (const auto made = RunProcess(command); !made.ok()) return made.status();
    } else if (!fs::is_directory(source_)) {
      return InvalidArgument(source_.string(), " is not a directory");
    }
    Measured measured;
    measured.checkpoint =
        absl::StrCat(options_.checkpoint.empty()
                         ? absl::StrCat(options_.model, ", ", options_.layers, " of its layers")
                         : options_.checkpoint,
                     ", ", options_.quantize.empty() ? options_.target : "quantized",
                     options_.lossless ? ", lossless" : "");
    measured.cold = options_.cold;
    measured.processor = ThisProcessor().ToString();
    const std::vector<std::string> files = FilesIn(source_);
    for (const std::string& file : files) {
      measured.bytes += static_cast<std::int64_t>(fs::file_size(file));
    }
    measured.baselines = {"cp", "dd fsync"};
    for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
      std::fprintf(stderr, "repetition %d of %d\n", repetition + 1, options_.repetitions);
      LANEWISE_RETURN_IF_ERROR(Repeat(files, measured));
    }
    return measured;
  }

 private:
  using Step = std::function<absl::Status()>;

  // An output directory, empty and there.
  static std::string Fresh(const fs::path& path) {
    fs::remove_all(path);
    fs::create_directories(path);
    return path.string();
  }

  absl::Status Repeat(const std::vector<std::string>& files, Measured& measured) {
    const fs::path copy = work_ / "copy", prepared = work_ / "prepared", back = work_ / "back";
    const std::vector<Step> copies = {
        [&] {
          std::vector<std::string> command = {"cp"};
          command.insert(command.end(), files.begin(), files.end());
          command.push_back(Fresh(copy));
          return Time("cp", source_, command, measured);
        },
        [&] {
          // One process, so that all files count as one copy.
          std::vector<std::string> command = {
              "sh", "-ec",
              "to=$1; shift; for f; do dd if=\"$f\" of=\"$to/${f##*/}\" bs=16M conv=fsync "
              "status=none; done",
              "sh", Fresh(copy)};
          command.insert(command.end(), files.begin(), files.end());
          const absl::Status status = Time("dd fsync", source_, command, measured);
          fs::remove_all(copy);
          return status;
        }};
    const std::vector<Step> preparing = {
        [&] {
          fs::remove_all(prepared);
          std::vector<std::string> command = {options_.lanewise, "prepare",  source_.string(),
                                              prepared.string(), "--target", options_.target};
          if (options_.lossless) command.push_back("--lossless");
          command.insert(command.end(), options_.prepare.begin(), options_.prepare.end());
          return Time("prepare", source_, command, measured);
        },
        [&] {
          return Time("verify", prepared, {options_.lanewise, "verify", prepared.string()},
                      measured);
        },
        [&] {
          fs::remove_all(back);
          const absl::Status status =
              Time("restore", prepared,
                   {options_.lanewise, "restore", prepared.string(), back.string()}, measured);
          fs::remove_all(back);
          fs::remove_all(prepared);
          return status;
        }};
    const std::vector<Step> quantizing = {
        [&] {
          fs::remove_all(prepared);
          std::vector<std::string> command = {options_.lanewise, "quantize", source_.string(),
                                              prepared.string()};
          command.insert(command.end(), options_.quantize.begin(), options_.quantize.end());
          return Time("quantize", source_, command, measured);
        },
        [&] {
          fs::remove_all(back);
          const absl::Status status =
              Time("dequantize", prepared,
                   {options_.lanewise, "dequantize", prepared.string(), back.string()}, measured);
          fs::remove_all(back);
          fs::remove_all(prepared);
          return status;
        }};
    LANEWISE_RETURN_IF_ERROR(RunAll(copies));
    return RunAll(options_.quantize.empty() ? preparing : quantizing);
  }

  static absl::Status RunAll(const std::vector<Step>& steps) {
    for (const auto& step : steps) {
      LANEWISE_RETURN_IF_ERROR(step());
    }
    return absl::OkStatus();
  }

  // Runs it with the files of `input` in the cache, or out of it.
  absl::Status Time(const std::string& name, const fs::path& input,
                    const std::vector<std::string>& command, Measured& measured) {
    for (const std::string& file : FilesIn(input)) {
      LANEWISE_RETURN_IF_ERROR(options_.cold ? DropFromCache(file) : ReadIntoCache(file));
    }
    if (!options_.cold) {
      LANEWISE_RETURN_IF_ERROR(TouchMemory((work_ / "memory").string(), measured.bytes));
    }
    LANEWISE_ASSIGN_OR_RETURN(const ProcessCost cost, RunProcess(command));
    std::fprintf(stderr, "  %-10s %8.3f s\n", name.c_str(), cost.seconds);
    for (Operation& operation : measured.operations) {
      if (operation.name == name) {
        operation.runs.push_back(cost);
        return absl::OkStatus();
      }
    }
    measured.operations.push_back({name, {cost}});
    return absl::OkStatus();
  }

  const Options& options_;
  const WorkDirectory& work_;
  const fs::path source_;
};

int Main(int argc, char** argv) {
  Options options;
  // Where `bazel run` starts it; elsewhere it is to be said.
  options.lanewise = fs::absolute("tools/lanewise").string();
  CLI::App app{
      "Preparing, verifying and restoring a checkpoint, or quantizing and dequantizing it, beside "
      "copying it."};
  app.add_option("--checkpoint", options.checkpoint,
                 "A directory of files; by default a synthetic checkpoint is made and removed");
  app.add_option("--model", options.model, "The model that is synthesized");
  app.add_option("--layers", options.layers, "How many of its layers")->check(CLI::PositiveNumber);
  app.add_option("--synthesize", options.synthesize,
                 "More arguments of `lanewise synthesize`, each after a --synthesize=");
  app.add_option("--prepare", options.prepare,
                 "More arguments of `lanewise prepare`, each after a --prepare=");
  app.add_option("--quantize", options.quantize,
                 "Quantize and dequantize instead; arguments of `lanewise quantize`, each after a "
                 "--quantize=, such as --quantize=--format --quantize=mxfp4");
  app.add_option("--target", options.target, "gfx942, gfx950 or flashmla");
  app.add_flag("--lossless", options.lossless, "Prepare with --lossless");
  app.add_option("--repetitions", options.repetitions, "How often each is run")
      ->check(CLI::PositiveNumber);
  app.add_flag("--cold", options.cold, "Take the inputs out of the cache before every run");
  app.add_option("--directory", options.directory,
                 "Where to work, with room for four times the checkpoint; by default here. "
                 "/dev/shm leaves the disk out");
  app.add_option("--lanewise", options.lanewise, "The command that is measured");
  app.add_option("--json", options.json, "Write what was measured into this file as well");
  CLI11_PARSE(app, argc, argv);
  const WorkDirectory work(UserPath(options.directory.empty() ? "." : options.directory));
  const absl::StatusOr<Measured> measured = EndToEnd(options, work).Run();
  if (!measured.ok()) {
    std::fprintf(stderr, "end_to_end: %s\n", std::string(measured.status().message()).c_str());
    return 1;
  }
  std::printf("%s", Table(*measured).c_str());
  if (!options.json.empty()) {
    std::ofstream json(UserPath(options.json));
    if (!(json << Json(*measured)).flush()) {
      std::fprintf(stderr, "end_to_end: cannot write %s\n", options.json.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) { return lanewise::benchmarks::Main(argc, argv); }
