// Prints what the kernels cost, as the table in docs/performance.md, or writes it there.

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "base/status.h"
#include "benchmarks/kernel_cost/cases.h"
#include "benchmarks/kernel_cost/document.h"
#include "benchmarks/kernel_cost/kernel_cost.h"
#include "emulator/hip_api/control.h"

namespace lanewise::benchmarks {
namespace {

// `bazel run` starts programs in a folder of its own and says where it was called.
std::string FromCaller(const std::string& path) {
  const char* const caller = std::getenv("BUILD_WORKING_DIRECTORY");
  if (caller == nullptr || path.empty() || path[0] == '/') return path;
  return std::string(caller) + "/" + path;
}

absl::Status Update(const std::string& path, const std::string& table) {
  std::stringstream text;
  {
    std::ifstream file(path);
    if (!file.good()) return NotFound("cannot read " + path);
    text << file.rdbuf();
  }
  LANEWISE_ASSIGN_OR_RETURN(const std::string updated, ReplaceTable(text.str(), table));
  std::ofstream file(path);
  file << updated;
  file.flush();
  return file.good() ? absl::OkStatus() : DataLoss("cannot write " + path);
}

int Main(int argc, char** argv) {
  CLI::App app("Counts what kernels cost on the emulator and prints a Markdown table.");
  std::string filter, document;
  bool small = false;
  app.add_option("--filter", filter, "Only rows whose kernel or shape contains this");
  app.add_flag("--small", small, "The small shapes of the test instead of the real ones");
  app.add_option("--update", document, "Writes the whole table into this Markdown file")
      ->excludes("--filter")
      ->excludes("--small");
  CLI11_PARSE(app, argc, argv);

  // The tests check; here the counts matter.
  emulator::SetChecks(0);
  std::vector<CostRow> rows;
  bool good = true;
  const auto report = [&](const absl::Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
    good = false;
  };
  for (const CostCase& each : AllCases()) {
    if (each.small != small) continue;
    if ((each.kernel + ", " + each.shape).find(filter) == std::string::npos) continue;
    const absl::StatusOr<CostRow> row = Measure(each);
    report(row.ok() ? CheckFacts(each, *row) : row.status());
    if (row.ok()) rows.push_back(*row);
  }
  if (document.empty()) {
    std::fputs(MarkdownTable(rows).c_str(), stdout);
  } else if (good) {
    report(Update(FromCaller(document), MarkdownTable(rows)));
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace lanewise::benchmarks

int main(int argc, char** argv) { return lanewise::benchmarks::Main(argc, argv); }
