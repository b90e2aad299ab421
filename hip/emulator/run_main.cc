// Runs one kernel of a code object on the emulator; --help says how.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hip/emulator/launch.h"
#include "hip/emulator/run_arguments.h"

namespace lanewise::emulator {
namespace {

constexpr char kArgumentHelp[] =
    "The kernel's arguments in order:\n"
    "  in:FILE            a buffer with the file's bytes\n"
    "  out:FILE:BYTES     a poisoned buffer, written to the file afterwards\n"
    "  inout:FILE:OUTFILE a buffer with the file's bytes, written to OUTFILE afterwards\n"
    "  i32:V i64:V f32:V  a value";

struct Options {
  std::string file, kernel, arch = "gfx942";
  std::string grid = "1", block = "64";
  std::vector<std::string> arguments;
  uint32_t dynamic_lds = 0;
  std::string checks = "all";
  int threads = 0;
  bool counts = false;
  std::string trace;  // "WORKGROUP,WAVE"
};

// Paths are relative to where the user stands, also under `bazel run`.
void GoToCaller() {
  if (const char* directory = std::getenv("BUILD_WORKING_DIRECTORY")) {
    std::error_code ignored;
    std::filesystem::current_path(directory, ignored);
  }
}

// One to three numbers with commas between them.
absl::StatusOr<std::vector<uint32_t>> Numbers(const std::string& option, const std::string& text) {
  std::vector<uint32_t> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    uint32_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || numbers.size() == 3) {
      return absl::InvalidArgumentError(absl::StrCat(option, " ", text, ": expected X,Y,Z"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

absl::StatusOr<Extent> ToExtent(const std::string& option, const std::string& text) {
  absl::StatusOr<std::vector<uint32_t>> sizes = Numbers(option, text);
  if (!sizes.ok()) return sizes.status();
  sizes->resize(3, 1);
  return Extent{(*sizes)[0], (*sizes)[1], (*sizes)[2]};
}

absl::Status Run(const Options& options) {
  const std::optional<Arch> arch = ArchFromName(options.arch);
  if (!arch) return absl::InvalidArgumentError(absl::StrCat("unknown --arch ", options.arch));
  absl::StatusOr<Checks> checks = ParseChecks(options.checks);
  if (!checks.ok()) return checks.status();
  absl::StatusOr<Extent> grid = ToExtent("--grid", options.grid);
  if (!grid.ok()) return grid.status();
  absl::StatusOr<Extent> block = ToExtent("--block", options.block);
  if (!block.ok()) return block.status();
  absl::StatusOr<std::vector<uint8_t>> bytes = ReadFile(options.file);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<std::unique_ptr<CodeObject>> object = CodeObject::Load(*bytes, *arch);
  if (!object.ok()) return object.status();
  const Kernel* kernel = (*object)->FindKernel(options.kernel);
  if (kernel == nullptr) {
    std::string names;
    for (const Kernel& each : (*object)->kernels()) absl::StrAppend(&names, " ", each.name);
    return absl::NotFoundError(absl::StrCat("no kernel ", options.kernel, "; there are:", names));
  }
  absl::StatusOr<RunArguments> arguments = RunArguments::Parse(options.arguments, *kernel);
  if (!arguments.ok()) return arguments.status();

  LaunchConfig config;
  config.object = object->get();
  config.kernel = kernel;
  config.grid = *grid;
  config.block = *block;
  config.dynamic_lds = options.dynamic_lds;
  config.arguments = arguments->kernarg();
  config.memory = arguments->Memory();
  config.checks = *checks;
  config.threads = options.threads;
  if (!options.trace.empty()) {
    absl::StatusOr<std::vector<uint32_t>> chosen = Numbers("--trace", options.trace);
    if (!chosen.ok()) return chosen.status();
    if (chosen->size() != 2) return absl::InvalidArgumentError("--trace: expected WORKGROUP,WAVE");
    config.trace.out = stdout;
    config.trace.workgroup = (*chosen)[0];
    config.trace.wave = static_cast<int>((*chosen)[1]);
  }
  absl::StatusOr<LaunchCounters> counters = Launch(config);
  if (!counters.ok()) return counters.status();
  if (absl::Status status = arguments->WriteOutputs(); !status.ok()) return status;
  if (options.counts) std::fputs(CountersText(*counters).c_str(), stdout);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Runs a kernel of a gfx942 or gfx950 code object on the CPU.", "run");
  app.footer(kArgumentHelp);
  app.add_option("FILE", options.file, "Code object (ELF) or offload bundle")->required();
  app.add_option("KERNEL", options.kernel, "The kernel's name")->required();
  app.add_option("ARG", options.arguments, "Arguments, see below");
  app.add_option("--arch", options.arch, "gfx942 or gfx950")->capture_default_str();
  app.add_option("--grid", options.grid, "Workgroups: X,Y,Z")->capture_default_str();
  app.add_option("--block", options.block, "Work-items of a workgroup: X,Y,Z")
      ->capture_default_str();
  app.add_option("--dynamic-lds", options.dynamic_lds, "Bytes of dynamic LDS");
  app.add_option("--checks", options.checks,
                 "all, none, or a list of uninitialised, waits, races, alignment")
      ->capture_default_str();
  app.add_option("--threads", options.threads, "Host threads, 0 for one a processor")
      ->check(CLI::Range(0, 4096));
  app.add_flag("--counts", options.counts, "Prints the launch's counters");
  app.add_option("--trace", options.trace, "Prints the instructions of wave WORKGROUP,WAVE");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  GoToCaller();
  if (const absl::Status status = Run(options); !status.ok()) {
    std::cerr << "run: " << status.message() << "\n";
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace lanewise::emulator

int main(int argc, char** argv) { return lanewise::emulator::Main(argc, argv); }
