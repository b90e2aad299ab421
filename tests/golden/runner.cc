// Runs golden cases: bazel run //tests:golden -- --cases=FILE.json. README.md says more.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "tests/golden/manifest.h"
#include "tests/golden/operations.h"
#include "tests/golden/run_case.h"

namespace lanewise::golden {
namespace {

struct Tally {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
};

// Runs a case in each implementation that it must pass in, or in `only` where that is given. A line
// for each failure.
void Run(const Case& golden_case, const std::string& only, Tally& tally) {
  const OperationTable& table = OperationTable::Get();
  std::vector<std::string> implementations = table.Implementations(golden_case.op());
  if (!only.empty()) implementations = {only};
  bool passed = true;
  for (const std::string& implementation : implementations) {
    const absl::Status status = RunCase(table, golden_case, implementation);
    if (status.ok()) continue;
    passed = false;
    std::printf("FAILED %s: %s\n", CaseText(golden_case, implementation).c_str(),
                std::string(status.message()).c_str());
  }
  ++(passed ? tally.passed : tally.failed);
}

// Where a relative path starts: `bazel run` changes the working directory and keeps the caller's in
// a variable.
std::string FromCaller(const std::string& path) {
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  return directory == nullptr ? path : (std::filesystem::path(directory) / path).string();
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Runs golden cases through every implementation of their operations. Prints a line for each\n"
      "failure and at last 'N passed, M failed', counted in cases: a case passes if all its\n"
      "implementations do. A manifest that cannot be read is one failure.\n"
      "Exit status: 0 if none failed, 1 if one did, 2 for wrong usage.");
  std::vector<std::string> files;
  std::string implementation;
  app.add_option("--cases", files,
                 "A manifest, NAME.json, beside its NAME.safetensors. Repeatable.")
      ->required()
      ->type_name("FILE.json");
  app.add_option("--implementation", implementation,
                 "Run the cases in this one only, such as reference or weights.")
      ->type_name("NAME");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }

  Tally tally;
  for (const std::string& file : files) {
    const absl::StatusOr<Manifest> manifest = Manifest::Open(FromCaller(file));
    if (!manifest.ok()) {
      std::fprintf(stderr, "%s\n", std::string(manifest.status().message()).c_str());
      ++tally.failed;
      continue;
    }
    for (const Case& golden_case : manifest->cases()) Run(golden_case, implementation, tally);
  }
  std::printf("%lld passed, %lld failed\n", static_cast<long long>(tally.passed),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::golden

int main(int argc, char** argv) { return lanewise::golden::Main(argc, argv); }
