// Runs one kernel of a code object on the emulator; --help says how.

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/option_values.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"
#include "emulator/checks.h"
#include "emulator/launch/launch.h"
#include "emulator/load/read_file.h"
#include "emulator/run/run_arguments.h"

namespace lanewise::emulator {
namespace {

constexpr char kArgumentHelp[] =
    "The kernel's arguments in order:\n"
    "  in:FILE            a buffer with the file's bytes\n"
    "  out:FILE:BYTES     a poisoned buffer, written to the file afterwards\n"
    "  inout:FILE:OUTFILE a buffer with the file's bytes, written to OUTFILE afterwards\n"
    "  i32:V f32:V ...    a value; there are i1, i8, i16, i32, i64, f16, bf16, f32, f64";

constexpr char kExitHelp[] =
    "Exit status: 0 done, 1 refused, failed or stopped (the reason on stderr), 2 wrong usage.";

struct Options {
  std::string file, kernel, arch = "gfx942";
  std::string grid = "1", block = "64";
  std::vector<std::string> arguments;
  uint32_t dynamic_lds = 0;
  std::string checks = "all";
  int threads = 0;
  int timeout = 120;
  bool counts = false;
  std::string trace;  // "WORKGROUP,WAVE"
  Schedule schedule;
  uint64_t seed = 0;
  bool has_seed = false;
  uint32_t schedules = 0;
};

// Paths are relative to where the user stands, also under `bazel run`.
void GoToCaller() {
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    std::error_code ignored;
    std::filesystem::current_path(directory, ignored);
  }
}

// Numbers with commas between them; empty where one is none or below `least`.
std::vector<uint32_t> Numbers(const std::string& text, uint32_t least) {
  std::vector<uint32_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < least) return {};
    numbers.push_back(number);
  }
  return numbers;
}

// Between `few` and `many` numbers of `least` or more: "'4,x': expected X, X,Y or X,Y,Z, each ...".
CLI::Validator NumberList(size_t few, size_t many, uint32_t least, const std::string& form) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        const size_t count = Numbers(text, least).size();
        if (count >= few && count <= many) return "";
        return absl::StrCat("'", text, "': expected ", form, ", each from ", least, " to 2^32 - 1");
      },
      "");
}

CLI::Validator CheckList() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        return std::string(StdView(ParseChecks(text).status().message()));
      },
      "");
}

Extent ToExtent(const std::string& text) {
  std::vector<uint32_t> sizes = Numbers(text, 1);
  sizes.resize(3, 1);
  return {sizes[0], sizes[1], sizes[2]};
}

// Where the trace of one wave goes; refuses a wave that the launch does not have.
absl::StatusOr<TraceOptions> Trace(const std::string& text, const Extent& grid,
                                   const Extent& block) {
  const std::vector<uint32_t> chosen = Numbers(text, 0);
  const uint64_t waves = (block.Count() + 63) / 64;
  if (chosen[0] >= grid.Count() || chosen[1] >= waves) {
    return absl::OutOfRangeError(absl::StrCat("--trace ", text, ": the launch has workgroups 0 to ",
                                              grid.Count() - 1, " (x fastest), each of waves 0 to ",
                                              waves - 1));
  }
  return TraceOptions{stdout, chosen[0], static_cast<int>(chosen[1])};
}

absl::StatusOr<LaunchConfig> Configure(const Options& options, const CodeObject& object,
                                       const Kernel& kernel, const RunArguments& arguments) {
  LaunchConfig config;
  config.object = &object;
  config.kernel = &kernel;
  config.grid = ToExtent(options.grid);
  config.block = ToExtent(options.block);
  config.dynamic_lds = options.dynamic_lds;
  config.arguments = arguments.kernarg();
  config.memory = arguments.Memory();
  config.checks = *ParseChecks(options.checks);
  config.threads = options.threads;
  config.schedule = options.schedule;
  if (options.has_seed) config.schedule.seed = options.seed;
  if (!options.trace.empty()) {
    LANEWISE_ASSIGN_OR_RETURN(config.trace, Trace(options.trace, config.grid, config.block));
  }
  if (options.timeout > 0) config.time_limit = std::chrono::seconds(options.timeout);
  return config;
}

// The same launch under other schedules: what differs then is no result of the kernel.
absl::Status CompareSchedules(const Options& options, const LaunchConfig& usual,
                              const RunArguments& results) {
  for (uint64_t seed = 1; seed <= options.schedules; ++seed) {
    LANEWISE_ASSIGN_OR_RETURN(RunArguments arguments,
                              RunArguments::Parse(options.arguments, *usual.kernel));
    LaunchConfig config = usual;
    config.arguments = arguments.kernarg();
    config.memory = arguments.Memory();
    config.trace = TraceOptions();
    config.schedule.seed = seed;
    LANEWISE_RETURN_IF_ERROR(Launch(config).status());
    const std::string difference = results.FirstDifference(arguments);
    if (difference.empty()) continue;
    return absl::AbortedError(absl::StrCat(
        "kernel ", usual.kernel->name, " is schedule-dependent: ", difference,
        " under the random schedule of seed ", seed, " (--seed ", seed, " runs it again)"));
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  LANEWISE_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(options.file));
  LANEWISE_ASSIGN_OR_RETURN(const std::unique_ptr<CodeObject> object,
                            CodeObject::Load(bytes, *ArchFromName(options.arch)));
  const Kernel* kernel = object->FindKernel(options.kernel);
  if (kernel == nullptr) {
    std::string names;
    for (const Kernel& each : object->kernels()) absl::StrAppend(&names, " ", each.name);
    return absl::NotFoundError(absl::StrCat("no kernel ", options.kernel, "; there are:", names));
  }
  LANEWISE_ASSIGN_OR_RETURN(const RunArguments arguments,
                            RunArguments::Parse(options.arguments, *kernel));
  LANEWISE_ASSIGN_OR_RETURN(const LaunchConfig config,
                            Configure(options, *object, *kernel, arguments));
  LANEWISE_ASSIGN_OR_RETURN(const LaunchCounters counters, Launch(config));
  LANEWISE_RETURN_IF_ERROR(CompareSchedules(options, config, arguments));
  LANEWISE_RETURN_IF_ERROR(arguments.WriteOutputs());
  if (options.counts) std::fputs(CountersText(counters).c_str(), stdout);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  // A limit of file sizes is an error of the write.
  std::signal(SIGXFSZ, SIG_IGN);
  Options options;
  CLI::App app("Runs a kernel of a gfx942 or gfx950 code object on the CPU.", "run");
  app.footer(absl::StrCat(kArgumentHelp, "\n", kExitHelp));
  app.add_option("FILE", options.file, "Code object (ELF) or offload bundle, not compressed")
      ->required()
      ->check(NotEmpty());
  app.add_option("KERNEL", options.kernel, "The kernel's name")->required();
  app.add_option("ARG", options.arguments, "The kernel's arguments, see below");
  app.add_option("--arch", options.arch, "gfx942 (the default) or gfx950")
      ->type_name("ARCH")
      ->check(OneOf({"gfx942", "gfx950"}));
  app.add_option("--grid", options.grid, "Workgroups (not work-items): X, X,Y or X,Y,Z. Default 1")
      ->type_name("X,Y,Z")
      ->check(NumberList(1, 3, 1, "X, X,Y or X,Y,Z"));
  app.add_option("--block", options.block,
                 "Work-items of a workgroup: X, X,Y or X,Y,Z, together 1024 at most. Default 64")
      ->type_name("X,Y,Z")
      ->check(NumberList(1, 3, 1, "X, X,Y or X,Y,Z"));
  app.add_option("--dynamic-lds", options.dynamic_lds,
                 "Bytes of dynamic LDS of a workgroup. Default 0")
      ->type_name("BYTES")
      ->check(WholeNumber(0, 163840));
  app.add_option("--checks", options.checks,
                 "all (the default), none, or a list of uninitialised, waits, races, alignment")
      ->type_name("LIST")
      ->check(CheckList());
  app.add_option("--threads", options.threads, "Host threads; 0, the default, takes all processors")
      ->type_name("N")
      ->check(WholeNumber(0, 4096));
  app.add_option("--timeout", options.timeout,
                 "Seconds that the launch may take; 0: any. Default 120")
      ->type_name("SECONDS")
      ->check(WholeNumber(0, 86400));
  app.add_option("--turn", options.schedule.turn,
                 "Instructions of a wave before the next wave's turn. Default 32")
      ->type_name("N")
      ->check(WholeNumber(1, int64_t{1} << 40));
  app.add_option("--group-turn", options.schedule.group_turn,
                 "Instructions of a workgroup before the next one's turn, where their order can "
                 "show. Default 1024")
      ->type_name("N")
      ->check(WholeNumber(1, int64_t{1} << 40));
  CLI::Option* const seed =
      app.add_option(
             "--seed", options.seed,
             "Run under the random schedule of this seed: turns in any order, of any length")
          ->type_name("SEED");
  app.add_option("--schedules", options.schedules,
                 "Run again under the random schedules of seeds 1 to N, and fail where the buffers "
                 "then differ")
      ->type_name("N")
      ->check(WholeNumber(0, 1 << 20));
  app.add_flag("--counts", options.counts, "Print the launch's counters");
  app.add_option("--trace", options.trace,
                 "Print each instruction of one wave, with its EXEC mask, on stdout")
      ->type_name("WORKGROUP,WAVE")
      ->check(NumberList(2, 2, 0, "WORKGROUP,WAVE"));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.has_seed = seed->count() > 0;
  GoToCaller();
  if (const absl::Status status = Run(options); !status.ok()) {
    std::fprintf(stderr, "run: %s\n", PrintableLines(StdView(status.message())).c_str());
    return 1;
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  std::fprintf(stderr, "run: done, but its report could not be written to stdout\n");
  return 1;
}

}  // namespace
}  // namespace lanewise::emulator

int main(int argc, char** argv) { return lanewise::emulator::Main(argc, argv); }
